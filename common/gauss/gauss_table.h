/* gauss_table.h -- the weights of one table, in fixed point with 128 bits.
 *
 * Private to common/gauss and its tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_GAUSS_GAUSS_TABLE_H
#define COLONNADE_GAUSS_GAUSS_TABLE_H

#include "common/gauss/gauss.h"

enum { GAUSS_WORD_BITS = 62 };

/* Of the statistical distance of a draw by the tables from the law cut at `entries`: proved in
 * gauss_table.c. */
#define GAUSS_TABLE_DISTANCE 0x1p-108

/* Fills main and rest for g->entries magnitudes of N_Z(0, sigma^2 / part); part >= 1 is a whole
 * number below 2^48.  sigma / sqrt(part) is in 4 .. 21. */
void gauss_table_fill(struct gauss *g, double sigma, uint64_t part);

/* Entry m of a table, as it is cumulated. */
static inline uint64_t gauss_table_entry(const uint64_t *t, uint32_t m)
{
    return t[m % GAUSS_SIDE * GAUSS_SIDE + m / GAUSS_SIDE];
}

#endif
