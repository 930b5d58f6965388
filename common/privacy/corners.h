/* corners.h -- the one step of the accountant that is checked instead of proved, checked for the
 * parameters at hand.
 *
 * For fixed others the worst move of one party is from end to end, and the divergence is convex in
 * every trial of the others, so its largest value is at a corner: k of their n = b (M - 1) trials
 * at the same end as the target begins, the rest at the other.  The accountant takes k = n.  Here
 * every k is computed, by
 *
 *     P_k = Bin(b + k, h) * Bin(n - k, l),   Q_k = Bin(k, h) * Bin(b + n - k, l)
 *
 * and their own recurrence, which shares nothing with that of rdp.c; the reverse divergence at k is
 * the mirror image of this one at n - k.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_CORNERS_H
#define COLONNADE_PRIVACY_CORNERS_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORNERS_ORDERS = 12 };
extern const double corners_alpha[CORNERS_ORDERS]; /* 1.001 .. 256 */

/* A corner may pass the accountant's figure by this much of it, for rounding. */
#define CORNERS_TOLERANCE 1e-9

/* Corners times outcomes of a sweep: beyond it not every k is computed, see `stride`.  Two minutes
 * on a slow core, b M = 20 000. */
enum { CORNERS_WORK_MAX = 400000000 };

struct corners {
    uint32_t trials, m_eff;
    double beta;
    uint64_t work_max; /* 0: CORNERS_WORK_MAX */
    /* Fills out[i] with the accountant's figure at corners_alpha[i]: what is on trial. */
    void (*figure)(const struct corners *c, double out[CORNERS_ORDERS]);
};

struct corners_found {
    uint64_t corners, swept, stride; /* n + 1; how many of them were computed; every how many-th */
    double divergence[CORNERS_ORDERS]; /* the largest at each order, and its k */
    uint64_t k[CORNERS_ORDERS];
    double figure[CORNERS_ORDERS];
    double excess; /* the largest D_k / figure - 1, its order and k; at most CORNERS_TOLERANCE */
    size_t worst;
    bool holds;
};

/* The accountant of rdp.c; out[] NAN when memory is short, which no corner satisfies. */
void corners_figure(const struct corners *c, double out[CORNERS_ORDERS]);

/* Sweeps k = 0, stride, 2 stride, ... and always n, where the accountant is.  STATUS_MEMORY (24
 * bytes an outcome). */
enum status corners_sweep(const struct corners *c, struct corners_found *out) MUST_USE;

#endif
