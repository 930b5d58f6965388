/* reference.h -- a table of keys as Markdown, for docs/configuration.md.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_REFERENCE_H
#define COLONNADE_CONFIG_REFERENCE_H

#include "common/base/buf.h"
#include "common/config/key.h"

/* A heading and one row per key: key, value, default, meaning. */
enum status reference_table(const struct key_table *t, struct buf *out) MUST_USE;

#endif
