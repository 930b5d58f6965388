/* seen.h -- a transcript of the server (server/train/transcript.h), read back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_SEEN_H
#define COLONNADE_TOOLS_AUDIT_SEEN_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An upload or a share of the target, the roster's first party, as it came. */
struct seen_arrival {
    uint64_t bytes, us; /* since the last round was opened */
    size_t row, rows;   /* of the round: seen->arrived_row[row ..]; 0 rows: it is of none */
};

/* Values are added up over all releases of a row, beside how many there were.  A row is one of the
 * training rows or, after these, one of the test rows. */
struct seen {
    struct plan plan;
    uint32_t inputs; /* columns of a sum */
    size_t rows;
    double *sum; /* rows x inputs; a mean of embeddings counts as their sum */
    uint32_t *times;
    /* Of single parties: in clear what each has uploaded, whether or not it was part of a sum; with
     * a seed what all but the first have put into sums (colluder.h).  NULL: nothing is known. */
    double *part; /* parties x rows x P */
    uint32_t *part_times;
    bool clear;
    /* What went down last for each training row: rows x `width` of the gradient, or of D. */
    float *gradient;
    uint32_t width;
    /* Beside the values.  ended: the last process said how; else it was killed, or is an old one's.
     */
    struct seen_arrival *arrival;
    size_t arrivals, arrivals_max;
    uint32_t *arrived_row;
    size_t arrived_rows, arrived_rows_max;
    bool ended;
    char outcome[16];
    int exit_code;
};

/* seed NULL: none is known.  STATUS_IO, STATUS_DATA with file and line. */
enum status seen_read(struct seen *s, const char *path, const uint64_t *seed,
                      struct error *err) MUST_USE;
void seen_deinit(struct seen *s); /* safe on a zeroed struct */

/* What the server and `held` parties after the first see of coordinate k of a row: the mean of its
 * sums over everybody else.  Only the first M - 1 may be held, without seen->part none. */
double seen_value(const struct seen *s, size_t row, uint32_t held, uint32_t k);

#endif
