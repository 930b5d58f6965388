/* sets.h -- which rows of a single set are its test rows.
 *
 *   by nothing said    the first byte of SHA-256 of the id, mod 5, is 0
 *   id                 the hash of SHA-256("vfl/test/1" || 0 || id) is below the share (validate.h)
 *   group              that of SHA-256("vfl/test/group/1" || 0 || what stands in the column), so
 * that no person is on both sides time               the last floor(share n) of the n rows in the
 * order of times, and of ids where these are the same
 *
 * A row without an id goes by its number from 0.  The words before the 0 are not those of
 * data.validate, so that what is kept back of the training rows is chosen apart from this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_SETS_H
#define COLONNADE_TOOLS_SPLIT_SETS_H

#include "common/data/source.h"
#include "common/data/table.h"
#include "deploy/tools/split/split.h"

/* Of a table whose times have been read once: its first test row. */
struct sets {
    bool dated; /* times are dates, no numbers */
    uint64_t rows;
    double time;
    char id[TABLE_ID_MAX + 1];
    uint8_t digest[SOURCE_DIGEST_BYTES];
};

/* Do the options go together?  STATUS_CONFIG. */
enum status sets_check(struct split *s);
/* The first reading of a table whose test rows are the latest. */
enum status sets_read_times(struct sets *sets, struct split *s, const char *path);
/* 0 or 1 of a row, by what stands in the column of group or time, if any. */
enum status sets_of_row(int *set, struct sets *sets, struct split *s, const struct source *from,
                        size_t column, const char *id);
/* 0 or 1 of a row that has nothing but its number. */
int sets_of_id(const struct split_options *o, const char *id);

#endif
