/* plan_noise.c -- from match, sigma and levels to steps, ranges and widths.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_noise.h"

#include "common/base/check.h"
#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/gaussian.h"
#include "common/config/plan_rules_groups.h"

#include <math.h>
#include <stdio.h>

enum { AGREED_BITS = 12 };

double plan_noise_step(const struct plan *p)
{
    return p->protocol.clip / p->protocol.gaussian.levels;
}

/* --- sigma --- */

/* Up to the next number of AGREED_BITS bits. */
static double round_up(double sigma)
{
    int exponent;
    const double part = frexp(sigma, &exponent);

    return ldexp(ceil(ldexp(part, AGREED_BITS)), exponent - AGREED_BITS);
}

/* In units of C, so that C itself is in no quotient. */
static double relative_sigma(const struct plan *p, uint32_t parties)
{
    const uint32_t trials = p->protocol.pbm.trials;
    const double beta = p->protocol.pbm.beta, epsilon = p->protocol.gaussian.epsilon;

    switch (p->protocol.gaussian.match) {
    case GAUSSIAN_PAPER: return gaussian_sigma_paper(1, trials, beta, parties);
    case GAUSSIAN_EQUAL_RDP: return gaussian_sigma_equal_rdp(1, trials, beta, parties);
    case GAUSSIAN_SIGMA: return p->protocol.gaussian.sigma / p->protocol.clip;
    case GAUSSIAN_EPSILON:
        if (!(epsilon > 0 && p->privacy.delta > 0 && p->privacy.delta < 1))
            break;
        /* Replacing one row of the box [-1, 1]^P. */
        return round_up(
            gaussian_sigma_epsilon(2 * sqrt(p->model.embedding), epsilon, p->privacy.delta));
    }
    return -1;
}

double plan_noise_steps(const struct plan *p, uint32_t parties)
{
    return relative_sigma(p, parties) * p->protocol.gaussian.levels;
}

static bool in_range(double steps)
{
    return steps >= PLAN_NOISE_STEPS_MIN && steps <= PLAN_NOISE_STEPS_MAX;
}

/* --- ranges --- */

/* P(|sum of M draws| > t) <= 2 e^(-t^2 / (2 M sigma^2)). */
static double tail(double sigma, uint32_t parties)
{
    const double bits = PLAN_NOISE_WRONG_BITS + PLAN_NOISE_RUN_BITS + 2; /* 2: both sides, half */

    return ceil(sigma * sqrt(2 * M_LN2 * bits * parties));
}

uint32_t plan_noise_reach(const struct plan *p, uint32_t parties)
{
    const double steps = plan_noise_steps(p, parties);
    double reach;

    if (!in_range(steps) || parties < 1 || parties > PLAN_PARTIES_MAX)
        return 0;
    reach = (double)p->protocol.gaussian.levels * parties + tail(steps, parties);
    return reach <= PLAN_NOISE_REACH_MAX ? (uint32_t)reach : 0;
}

/* --- rules --- */

/* The smallest set that a generation of this plan may have; all parties under straggler wait. */
static uint32_t set_least(const struct plan *p)
{
    if (p->protocol.straggler == STRAGGLER_WAIT && p->shape.parties > 0)
        return p->shape.parties;
    return aggregation_of(p)->least(p);
}

static bool matches(const struct plan *p, enum plan_gaussian_match match)
{
    return p->protocol.gaussian.match == match;
}

static bool sigma_missing(const struct plan *p)
{
    return matches(p, GAUSSIAN_SIGMA) && !(p->protocol.gaussian.sigma > 0);
}

static bool sigma_idle(const struct plan *p)
{
    return !matches(p, GAUSSIAN_SIGMA) && p->protocol.gaussian.sigma > 0;
}

static bool epsilon_missing(const struct plan *p)
{
    return matches(p, GAUSSIAN_EPSILON) && !(p->protocol.gaussian.epsilon > 0);
}

static bool epsilon_idle(const struct plan *p)
{
    return !matches(p, GAUSSIAN_EPSILON) && p->protocol.gaussian.epsilon > 0;
}

/* No match gives less noise for more parties: the two ends say it of all between. */
static bool noise_out_of_range(const struct plan *p)
{
    const uint32_t most = p->shape.parties;

    if (p->protocol.encoding != ENCODING_GAUSSIAN)
        return false;
    if (most == 0) /* not yet known: is there any set at all? */
        return !(plan_noise_steps(p, PLAN_PARTIES_MAX) >= PLAN_NOISE_STEPS_MIN &&
                 plan_noise_steps(p, 1) <= PLAN_NOISE_STEPS_MAX);
    return !in_range(plan_noise_steps(p, set_least(p))) || !in_range(plan_noise_steps(p, most));
}

static void steps_numbers(const struct plan *p, char *out, size_t size)
{
    const uint32_t least = set_least(p), most = p->shape.parties;
    const uint32_t set = most == 0 || !in_range(plan_noise_steps(p, least)) ? least : most;
    const double steps = plan_noise_steps(p, set);

    if (matches(p, GAUSSIAN_SIGMA) || matches(p, GAUSSIAN_EPSILON))
        snprintf(out, size, " (%g steps)", steps);
    else
        snprintf(out, size, " (%g steps in a set of %u)", steps, set);
}

static bool beyond_prime(const struct plan *p)
{
    const uint32_t prime = aggregation_of(p)->prime_max;

    return prime > 0 && p->protocol.encoding == ENCODING_GAUSSIAN && p->shape.parties > 0 &&
           encoding_sum_span(p, p->shape.parties) >= prime;
}

static bool noise_sum_too_large(const struct plan *p)
{
    return p->protocol.encoding == ENCODING_GAUSSIAN && p->shape.parties > 0 &&
           plan_noise_reach(p, p->shape.parties) == 0;
}

static const struct plan_rule rules[] = {
    {.broken = beyond_prime,
     .key = "protocol.gaussian.levels",
     .with = {"protocol.aggregation", "protocol.gaussian.sigma", "protocol.gaussian.epsilon"},
     .reason = "the grid and the noise of all parties must stay within 65521, the largest prime of "
               "coded shares: fewer levels, or less noise"},
    {.broken = sigma_missing,
     .key = "protocol.gaussian.sigma",
     .with = {"protocol.gaussian.match"},
     .reason = "must be given (above 0) with gaussian.match sigma"},
    {.broken = sigma_idle,
     .key = "protocol.gaussian.sigma",
     .with = {"protocol.gaussian.match"},
     .reason = "has a meaning only with gaussian.match sigma"},
    {.broken = epsilon_missing,
     .key = "protocol.gaussian.epsilon",
     .with = {"protocol.gaussian.match"},
     .reason = "must be given (above 0) with gaussian.match epsilon"},
    {.broken = epsilon_idle,
     .key = "protocol.gaussian.epsilon",
     .with = {"protocol.gaussian.match"},
     .reason = "has a meaning only with gaussian.match epsilon"},
    {.broken = noise_out_of_range,
     .key = "protocol.gaussian.levels",
     .with = {"protocol.gaussian.sigma", "protocol.gaussian.epsilon", "protocol.gaussian.match"},
     .reason = "a party's noise must be 4 to 2^24 steps of the grid, clip / levels, in every set "
               "that may run: sigma does not fit levels",
     .numbers = steps_numbers},
    {.broken = noise_sum_too_large,
     .key = "protocol.gaussian.levels",
     .with = {"protocol.gaussian.sigma", "protocol.gaussian.epsilon", "protocol.gaussian.match"},
     .reason = "the grid and the noise of all parties must stay within 2^30 steps: fewer levels, "
               "or less noise"},
};
const struct plan_rules plan_noise_rules = PLAN_RULES(rules);
