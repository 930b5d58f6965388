/* solve.c -- bisection over the accountant.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/price/solve.h"

#include "common/config/plan.h"
#include "common/privacy/statistics.h"

#include <math.h>

const struct term_kind term_kinds[TERMS] = {
    [TERM_EPSILON] = {"epsilon", 1e-9, 1e12, false, false},
    [TERM_DELTA] = {"delta", 1e-300, 0.999, false, false},
    [TERM_TRIALS] = {"trials", 1, PLAN_TRIALS_MAX, true, true},
    [TERM_BETA] = {"beta", 1e-9, PLAN_BETA_MAX, false, true},
    [TERM_EMBEDDING] = {"embedding", 1, PLAN_WIDTH_MAX, true, true},
    [TERM_RELEASES] = {"releases", 1, 1e15, true, true},
    [TERM_M_EFF] = {"m-eff", 1, PLAN_PARTIES_MAX, true, false},
    [TERM_NOISE] = {"noise", 1e-3, 1e6, false, false},
    [TERM_STEPS] = {"steps", 1, 1e6, true, true},
    [TERM_GROUP] = {"group", 1, PLAN_WIDTH_MAX, true, true},
    [TERM_STATISTICS] = {"statistics", 1e-12, 1e6, false, true},
};

struct account_entry terms_entry(const struct terms *t)
{
    struct account_entry e = {
        .kind = ACCOUNT_PBM,
        .bottom = t->value[TERM_NOISE] > 0 ? ACCOUNT_DP : ACCOUNT_FROZEN,
        .trials = (uint32_t)t->value[TERM_TRIALS],
        .beta = t->value[TERM_BETA],
        .coordinates = (uint32_t)t->value[TERM_EMBEDDING],
        .parties = (uint32_t)t->value[TERM_M_EFF],
        .colluders = 1,
        .step_noise = t->value[TERM_NOISE],
        .steps = (uint32_t)t->value[TERM_STEPS],
        .releases = (uint64_t)t->value[TERM_RELEASES],
        .participations_max = (uint64_t)t->value[TERM_RELEASES],
        .trained_max = (uint64_t)t->value[TERM_RELEASES],
    };

    return e;
}

/* The server alone among m_eff parties is whoever has m_eff parties against it. */
struct account_claim terms_claim(const struct terms *t)
{
    const struct statistics one = {.queries = 1, .numbers = 1};
    const uint32_t g = (uint32_t)t->value[TERM_GROUP];
    const size_t n = t->value[TERM_STATISTICS] > 0 ? 2 : 1;
    struct account_entry e[2] = {terms_entry(t)};

    if (g > 1) {
        e[0].releases *= g;
        e[0] = account_group(&e[0], g, g);
    }
    if (n == 2) { /* g rows move a sum g times as far */
        e[1] = statistics_entry(&one, t->value[TERM_STATISTICS], false);
        e[1].participations_max = (uint64_t)g * g;
    }
    return account_claim(e, n,
                         &(struct account_claim){.adversary = ACCOUNT_SERVER,
                                                 .adjacency = account_record_adjacency(e, n)},
                         t->value[TERM_DELTA]);
}

static bool holds(const struct terms *t, enum term missing, double value)
{
    struct terms tried = *t;

    tried.value[missing] = value;
    return terms_claim(&tried).epsilon <= t->value[TERM_EPSILON];
}

/* Between `good`, which holds, and `bad`, which does not: the last whole number that does. */
static double bisect_whole(const struct terms *t, enum term missing, double good, double bad)
{
    while (fabs(bad - good) > 1) {
        double middle = floor((good + bad) / 2);

        if (holds(t, missing, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* Six digits, towards the side that holds. */
static double rounded(double value, bool down)
{
    double unit = pow(10, floor(log10(value)) - 5), whole = value / unit;

    return (down ? floor(whole) : ceil(whole)) * unit;
}

static double bisect_real(const struct terms *t, enum term missing, double good, double bad)
{
    const struct term_kind *kind = &term_kinds[missing];

    while (fabs(log(bad / good)) > 1e-12) {
        double middle = sqrt(good) * sqrt(bad);

        if (holds(t, missing, middle))
            good = middle;
        else
            bad = middle;
    }
    return rounded(good, kind->grows);
}

enum status terms_solve(struct terms *t, enum term missing)
{
    const struct term_kind *kind = &term_kinds[missing];
    double most = kind->grows ? kind->hi : kind->lo; /* the end that costs most */
    double least = kind->grows ? kind->lo : kind->hi;

    if (missing == TERM_EPSILON) {
        t->value[TERM_EPSILON] = terms_claim(t).epsilon;
        return STATUS_OK;
    }
    t->value[missing] = least;
    if (!holds(t, missing, least))
        return STATUS_BUDGET;
    if (holds(t, missing, most))
        t->value[missing] = most;
    else if (kind->whole)
        t->value[missing] = bisect_whole(t, missing, least, most);
    else
        t->value[missing] = bisect_real(t, missing, least, most);
    return STATUS_OK;
}
