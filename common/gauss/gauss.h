/* gauss.h -- draws of the discrete Gaussian N_Z(0, sigma^2): P(z) proportional to
 * exp(-z^2 / (2 sigma^2)) over the integers (Canonne, Kamath and Steinke 2020, Definition 1).
 *
 * Noise in floating point shows in its low bits what it was added to (Mironov 2012).  A whole
 * number of steps, added to a value that is one, shows nothing but what the law says.
 *
 * A draw of a small sigma is one comparison of a random word with every entry of a table.  For a
 * large one it is x + k y, x and y drawn alike with sigma / sqrt(1 + k^2), which has the wanted law
 * up to the theta function of the lattice of those (x, y) that give the same sum (Micciancio and
 * Walter 2017, Theorem 3; docs/privacy.md has the two lines of proof).  No float, no branch and no
 * address depends on what is drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_GAUSS_GAUSS_H
#define COLONNADE_GAUSS_GAUSS_H

#include "common/base/status.h"
#include "common/crypto/rng.h"

#include <stddef.h>
#include <stdint.h>

/* In steps of the grid.  A draw at the largest sigma is below 2^31 in magnitude, whatever the
 * random words are. */
#define GAUSS_SIGMA_MIN 4.0
#define GAUSS_SIGMA_MAX 33554432.0

enum {
    GAUSS_SIDE = 16,                         /* a table has a square of entries */
    GAUSS_ENTRIES = GAUSS_SIDE * GAUSS_SIDE, /* magnitudes below this in one table */
    GAUSS_DRAWS_MAX = 8,                     /* table draws that one draw may be made of */
    GAUSS_DISTANCE_BITS = 100                /* of gauss_distance, at least */
};

/* Caller-owned; nothing in it is secret, nor on the heap. */
struct gauss {
    double sigma, distance;
    uint32_t entries;                /* magnitudes 0 .. entries - 1 */
    uint32_t draws;                  /* a power of two */
    int32_t factor[GAUSS_DRAWS_MAX]; /* a draw is the sum of factor[i] times table draw i */
    /* Cumulative weights of the magnitudes in units of 2^-62, entry m at m % 16 * 16 + m / 16;
     * unused ones are larger than any word.  `rest` is the law of what rounding left over in
     * `main`, drawn from when a word is beyond main's last entry. */
    uint64_t main[GAUSS_ENTRIES], rest[GAUSS_ENTRIES];
};

/* STATUS_CONFIG unless GAUSS_SIGMA_MIN <= sigma <= GAUSS_SIGMA_MAX. */
enum status gauss_init(struct gauss *g, double sigma) MUST_USE;
void gauss_deinit(struct gauss *g); /* safe on a zeroed struct */

/* n draws.  How much of the stream they use is a function of n and sigma. */
void gauss_sample(const struct gauss *g, int32_t *z, size_t n, struct rng *r);

/* A bound on the statistical distance of one draw from the exact law: never above
 * 2^-GAUSS_DISTANCE_BITS. */
double gauss_distance(const struct gauss *g);

#endif
