/* paper.c -- the paper's figure beside ours, so that readers of both can compare them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/paper.h"

#include "common/base/check.h"
#include "common/privacy/rdp.h"

#include <math.h>

/* eps(alpha) / alpha of one coordinate of one release. */
static double rate(const struct account_entry *e)
{
    CHECK(e->kind == ACCOUNT_PBM && e->trials >= 1 && e->parties >= 1);
    return e->trials * e->beta * e->beta / e->parties;
}

static double linear(const void *context, double excess)
{
    return *(const double *)context * (1 + excess);
}

double paper_epsilon(const struct account_entry *e, double delta, double *alpha)
{
    double excess, slope = (double)e->participations_max * e->coordinates * rate(e), epsilon;

    epsilon = rdp_minimise(linear, &slope, delta, &excess);
    *alpha = 1 + excess;
    return epsilon;
}

double paper_constant(const struct account_entry *e, double alpha)
{
    struct rdp_pbm t;
    double constant;

    if (rdp_pbm_init(&t, e->trials, e->beta, e->parties) != STATUS_OK)
        return NAN;
    constant = rdp_pbm(&t, alpha - 1) / (rate(e) * alpha);
    rdp_pbm_deinit(&t);
    return constant;
}
