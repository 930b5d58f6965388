/* key_print.h -- a field back to the text that key_set reads as the same value.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_PRINT_H
#define COLONNADE_CONFIG_KEY_PRINT_H

#include "common/base/buf.h"
#include "common/config/key.h"

#include <stdbool.h>

/* Whether there is something to print: an empty text or a random seed is left out of a file. */
bool key_print_needed(const struct key *k, const void *field);
/* Appends the value as a YAML scalar or flow list; for the plan's types this is also its canonical
 * text. */
enum status key_print(const struct key *k, const void *field, struct buf *out) MUST_USE;
/* Appends the text as a double-quoted YAML scalar: the one way by which text that came from
 * outside gets into YAML.  STATUS_CONFIG when it has control characters, line breaks or what else
 * no reader would give back unchanged (key_text.h). */
enum status key_print_quoted(const char *text, struct buf *out) MUST_USE;

#endif
