/* plan_noise.h -- the noise of the gaussian encoding as a plan has it, and how large codes and
 * their sums are.
 *
 * An embedding's coordinate is rounded to the grid of step gamma = C / levels, of which C is a
 * multiple by construction, and each party adds a discrete Gaussian draw of sigma / gamma steps
 * (common/gauss).  Everything here follows from public numbers alone, and is the same at the server
 * and at every party.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_NOISE_H
#define COLONNADE_CONFIG_PLAN_NOISE_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A party's noise, in steps: within what common/gauss draws. */
#define PLAN_NOISE_STEPS_MIN 4.0
#define PLAN_NOISE_STEPS_MAX 16777216.0

enum {
    PLAN_NOISE_LEVELS_MIN = 16,
    PLAN_NOISE_LEVELS_MAX = 1 << 16,
    /* A run has no more than 2^this sums: at 50 million draws a second, one party would draw for
     * 260 days. */
    PLAN_NOISE_RUN_BITS = 50,
    /* And none of them is wrong but with odds of 2^-this. */
    PLAN_NOISE_WRONG_BITS = 40,
    /* A sum of codes, and one more bit, is held in 32. */
    PLAN_NOISE_REACH_MAX = (1 << 30) - 1
};

/* gamma, in units of an embedding. */
double plan_noise_step(const struct plan *p);
/* The deviation of each party's noise in a set of so many parties, in steps; of no use (0, less,
 * not a number) where the plan's numbers are.  match epsilon: the least that keeps (epsilon, delta)
 * with continuous noise, rounded up to 12 bits, so that two C libraries agree on it. */
double plan_noise_steps(const struct plan *p, uint32_t parties);
/* R: a sum over `parties` is in [-R, R] in steps but for odds of 2^-PLAN_NOISE_WRONG_BITS in a
 * whole run, half of which are for the sampler's own distance.  R = levels M + t, and t the
 * sub-Gaussian tail of M draws (Canonne, Kamath, Steinke 2020, Corollary 17).  0: above
 * PLAN_NOISE_REACH_MAX, or no noise. */
uint32_t plan_noise_reach(const struct plan *p, uint32_t parties);

#endif
