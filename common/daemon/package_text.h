/* package_text.h -- the metadata of a package (package.h), written and read.
 *
 * Reading ends with writing: a package is accepted when its metadata is, byte for byte, what this
 * program would write of what it has read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_PACKAGE_TEXT_H
#define COLONNADE_DAEMON_PACKAGE_TEXT_H

#include "common/daemon/package.h"

struct safetensors_text;

/* All of it, braces included and a final 0 behind; p->plan_sha256 is filled in. */
enum status package_text_print(struct package *p, struct buf *out) MUST_USE;
/* Of it, what a bottom says of its columns: what hangs on records, and so has no bound of its own.
 */
enum status package_text_print_columns(const struct package *p, struct buf *out) MUST_USE;
/* Into p, which is initialised; STATUS_DATA with the reason.  Nothing is allocated that the text is
 * not as long as. */
enum status package_text_read(struct package *p, const struct safetensors_text *metadata,
                              struct error *err) MUST_USE;
/* p->run and p->trail alone, out of a text that may be cut off behind the trail. */
enum status package_text_peek(struct package *p, const struct safetensors_text *metadata,
                              struct error *err) MUST_USE;

#endif
