/* text.h -- what a name or an id may look like, and how a foreign cell is shown in an error.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_TEXT_H
#define COLONNADE_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_EXCERPT_MAX = 44 };

/* 1..max printable ASCII bytes, no quote and no comma, no space at either end. */
bool text_is_plain(const char *bytes, size_t n, size_t max);

/* 1..max bytes of printable UTF-8, no space at either end. */
bool text_is_name(const char *bytes, size_t n, size_t max);

/* The first bytes for an error line: what is not printable becomes '?', what is cut off becomes
 * "...". */
void text_excerpt(char out[TEXT_EXCERPT_MAX], const char *bytes, size_t n);

#endif
