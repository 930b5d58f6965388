/* reading.h -- small files as tables of numbers, and why others are none.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_DATA_READING_H
#define COLONNADE_TESTS_UNIT_DATA_READING_H

#include "common/data/intake.h"

#include <stdbool.h>

#define READING_A_NAME                                                                             \
    "a name is 1 to 127 bytes of UTF-8 without control characters or outer spaces"
#define READING_AN_ID                                                                              \
    "an id is 1 to 64 bytes of printable ASCII without quotes, commas or outer spaces"

struct reading_limits {
    size_t line_max, rows_max, values_max;
};

extern const struct reading_limits READING_LIMITS;
extern struct error reading_error; /* of the last file */

/* Nothing but numbers, none missing. */
enum status reading_file(struct table *t, const char *path, bool labels,
                         const struct reading_limits *limits);
/* The error text without the folder. */
const char *reading_said(void);
void reading_zeroed(const struct table *t);

void reading_accept(const char *text, size_t rows, size_t cols);
void reading_refuse(const char *text, const char *expected);
void reading_accept_labels(const char *text, size_t rows);
void reading_refuse_labels(const char *text, const char *expected);

#endif
