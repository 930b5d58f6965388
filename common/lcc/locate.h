/* locate.h -- which values of a polynomial are wrong: syndrome decoding of a Reed-Solomon code.
 *
 * n values y[i] of a polynomial of degree < threshold at distinct points x[i] != 0, e = n -
 * threshold more than needed, up to floor(e / 2) of them wrong.  The syndromes
 *
 *   S_k = sum over i of w[i] y[i] x[i]^k,   k < e,   w the barycentric weights of x,
 *
 * vanish for right values; the shortest recurrence that makes them (Berlekamp 1968, Massey 1969)
 * is the product of 1 - x[i] z over the wrong ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_LOCATE_H
#define COLONNADE_LCC_LOCATE_H

#include "common/lcc/points.h"

#include <stdbool.h>

struct locate_code {
    uint64_t prime;
    uint32_t n, threshold;  /* threshold <= n <= POINTS_MAX */
    uint64_t x[POINTS_MAX]; /* the points, then */
    uint64_t w[POINTS_MAX]; /* their weights: points_weights() */
};

/* True: at[0..*found) are the positions of the wrong values, ascending; none when all are right.
 * False: more than floor((n - threshold) / 2) are wrong.  More than that can also look like fewer:
 * the caller checks that the rest agrees.  at: room for (n - threshold) / 2. */
bool locate_wrong(uint32_t *at, uint32_t *found, const uint64_t *y, const struct locate_code *code);

#endif
