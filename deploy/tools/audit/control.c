/* control.c -- all runs side by side, a step at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/control.h"

#include "common/base/mem.h"
#include "common/pbm/pbm.h"
#include "common/privacy/account.h"
#include "deploy/tools/audit/bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARTIES = 5, TRIALS = 16, STEPS = 1000 };
static const double BETA = 0.1, DELTA = 1e-5;

struct side {
    size_t runs;
    double first; /* x of the first record */
    double *theta, *others;
    float *x, *sum;
    uint32_t *codes, *code;
};

/* The sums of one step of all runs: the target's embeddings in side->x, the others' 0. */
static void release(struct side *s, const struct pbm *pbm, struct rng *r)
{
    memset(s->codes, 0, s->runs * sizeof *s->codes);
    for (int party = 0; party < PARTIES; party++) {
        if (party == 1)
            memset(s->x, 0, s->runs * sizeof *s->x);
        pbm_sample(pbm, s->code, s->x, s->runs, r);
        for (size_t i = 0; i < s->runs; i++)
            s->codes[i] += s->code[i];
    }
    pbm_estimate(pbm, s->sum, s->codes, s->runs, PARTIES);
}

static void step(struct side *s, int t, const struct pbm *pbm, struct rng *r)
{
    const double x = t == 0 ? s->first : 0.1, rate = 10.0 / (t + 1);

    for (size_t i = 0; i < s->runs; i++)
        s->x[i] = (float)tanh(s->theta[i] * x);
    release(s, pbm, r);
    for (size_t i = 0; i < s->runs; i++) {
        const double h = tanh(s->theta[i] * x);
        const double slope = 1 / (1 + exp(-(double)s->sum[i])) - 1; /* label 1 */

        s->theta[i] -= rate * slope * (1 - h * h) * x;
        s->others[i] += t == 0 ? 0 : (double)s->sum[i];
    }
}

static enum status run_side(struct side *s, const struct pbm *pbm, struct rng *r)
{
    s->theta = mem_alloc(s->runs, sizeof *s->theta);
    s->others = mem_alloc(s->runs, sizeof *s->others);
    s->x = mem_alloc(s->runs, sizeof *s->x);
    s->sum = mem_alloc(s->runs, sizeof *s->sum);
    s->codes = mem_alloc(s->runs, sizeof *s->codes);
    s->code = mem_alloc(s->runs, sizeof *s->code);
    if (s->theta == NULL || s->others == NULL || s->x == NULL || s->sum == NULL ||
        s->codes == NULL || s->code == NULL)
        return STATUS_MEMORY;
    for (int t = 0; t < STEPS; t++)
        step(s, t, pbm, r);
    return STATUS_OK;
}

static void free_side(struct side *s)
{
    mem_free(s->theta);
    mem_free(s->others);
    mem_free(s->x);
    mem_free(s->sum);
    mem_free(s->codes);
    mem_free(s->code);
}

/* What the maximum over records would have claimed for the first one. */
static double of_one_release(void)
{
    const struct account_entry e = {.kind = ACCOUNT_PBM,
                                    .trials = TRIALS,
                                    .beta = BETA,
                                    .bottom = ACCOUNT_FROZEN,
                                    .coordinates = 1,
                                    .parties = PARTIES,
                                    .colluders = 1,
                                    .releases = STEPS,
                                    .participations_max = 1};

    return account_claim(&e, 1,
                         &(struct account_claim){.adversary = ACCOUNT_SERVER,
                                                 .adjacency = ACCOUNT_RECORD_FROZEN},
                         DELTA)
        .epsilon;
}

enum status control_raw(size_t runs, double *epsilon, double *one_release, struct error *err)
{
    struct side up = {.runs = runs, .first = 1}, down = {.runs = runs, .first = -1};
    struct rng r = {0};
    struct pbm pbm;
    enum status s = pbm_init(&pbm, TRIALS, BETA, 1);

    if (s == STATUS_OK)
        s = rng_init_system(&r);
    if (s == STATUS_OK)
        s = run_side(&up, &pbm, &r);
    if (s == STATUS_OK)
        s = run_side(&down, &pbm, &r);
    if (s == STATUS_OK) {
        struct bound_test t = bound_by_threshold(down.others, runs, up.others, runs, DELTA);

        *epsilon = t.epsilon;
        *one_release = of_one_release();
        printf("control   raw training, %zu runs a side, the first record from the others' sums:\n"
               "          %zu of %zu taken for the other side, %zu of %zu missed: epsilon at least "
               "%.3f,\n          where one release of it would cost %.3f\n",
               runs, t.false_hits, t.n, t.misses, t.m, t.epsilon, *one_release);
    } else {
        error_set(err, s, "control: %s", status_words(s));
    }
    free_side(&up);
    free_side(&down);
    rng_deinit(&r);
    return s;
}
