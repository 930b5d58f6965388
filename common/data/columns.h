/* columns.h -- which columns of one wide set go to which party, when a set is cut for a trial.
 *
 * A specification is one of these:
 *
 * - `1-3+8,4-7`: column numbers from 1; '+' joins, ',' separates parties; may leave columns out;
 * - `age+job,"a-b"+hours-country`: names of the header, where there is one, alone or as ends of a
 *   range; a name that is there wins over a range, and one with + , or - stands in quotes;
 * - `grid:RxC`: blocks of an image, row by row, of all channels;
 * - `channels:0-2+6-8,3-5`: channels of an image or series, from 0;
 * - NULL: contiguous runs, of which the first F mod M parties get one more; of an image in colour
 *   upright strips.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_COLUMNS_H
#define COLONNADE_DATA_COLUMNS_H

#include "common/base/status.h"
#include "common/config/plan.h"
#include "common/data/source.h"

#include <stdbool.h>
#include <stdint.h>

struct columns_want {
    const char *spec;  /* NULL: contiguous runs */
    uint32_t parties;  /* 0: as many as spec names; not 0 with spec NULL */
    uint32_t features; /* 1..TABLE_COLUMNS_MAX */
    const char *names; /* of the features, SOURCE_NAME_MAX bytes each; NULL: they have none */
    /* Of a row: [C, H, W], an image, or [T, C], a series; n 0: unknown, for grid a square image. */
    struct plan_widths shape;
};

struct columns {
    uint32_t parties;
    uint32_t *column; /* columns (from 0) of party p: column[first[p]] up to column[first[p + 1]] */
    uint32_t first[PLAN_PARTIES_MAX + 1];
    struct plan_widths shape; /* of a row, as it was cut: grid takes [T, C] for [1, T, C] */
};

/* Every party gets at least one column, no column goes out twice.  STATUS_CONFIG says what is wrong
 * with the spec; c is zeroed on failure. */
enum status columns_assign(struct columns *c, const struct columns_want *want,
                           struct error *err) MUST_USE;
/* The shape of the row that party p's columns make.  False: they make none, since the whole has
 * none, or they are no part of it that has sides. */
bool columns_shape(const struct columns *c, uint32_t p, struct plan_widths *out);
void columns_deinit(struct columns *c); /* safe on a zeroed struct */

/* A plain decimal number from 1 to max at *at, which moves behind it. */
bool columns_number(const char **at, uint32_t max, uint32_t *out);

#endif
