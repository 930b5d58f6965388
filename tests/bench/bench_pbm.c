/* bench_pbm.c -- samples of the mechanism per second beside GSL's binomial generator.
 *
 * GSL is called as its users call it: a fast generator (mt19937, no cryptography), one probability
 * per sample.  Absolute figures belong to the machine; the ratios of one run are what travels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/pbm/pbm_kernel.h"
#include "tests/lib/median.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdio.h>

enum { VALUES = 1 << 18, REPETITIONS = 9 };

struct bench {
    const struct pbm_kernel *kernel; /* NULL: GSL */
    struct pbm pbm;
    struct rng rng;
    gsl_rng *gsl;
    float *x;
    uint32_t *q;
};

static void run_gsl(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double p = 0.5 + b->pbm.beta * (double)b->x[i];

        b->q[i] = gsl_ran_binomial(b->gsl, p, b->pbm.trials);
    }
}

/* Median of million samples per second. */
static double measure(struct bench *b, size_t n)
{
    double rate[REPETITIONS];

    for (int k = 0; k < REPETITIONS; k++) {
        const double start = clock_cpu_s();

        if (b->kernel == NULL)
            run_gsl(b, n);
        else
            pbm_sample_by(b->kernel, &b->pbm, b->q, b->x, n, &b->rng);
        rate[k] = 1e-6 * (double)n / (clock_cpu_s() - start);
    }
    return median(rate, REPETITIONS);
}

static void compare(struct bench *b, uint32_t trials)
{
    double gsl;

    CHECK(pbm_init(&b->pbm, trials, 0.25, 1.0) == STATUS_OK);
    b->kernel = NULL;
    gsl = measure(b, VALUES);
    printf("b = %-4u GSL %7.1f M/s", trials, gsl);
    for (size_t i = 0; i < pbm_kernels_n; i++) {
        double rate;

        b->kernel = &pbm_kernels[i];
        if (!b->kernel->runs_here())
            continue;
        rate = measure(b, VALUES);
        printf("   %s %.1f M/s = %.1f x", b->kernel->name, rate, rate / gsl);
    }
    printf("\n");
}

int main(void)
{
    static const uint32_t trials[] = {8, 16, 64, 128};
    struct bench b = {.gsl = gsl_rng_alloc(gsl_rng_mt19937)};

    b.x = mem_alloc(VALUES, sizeof *b.x);
    b.q = mem_alloc(VALUES, sizeof *b.q);
    CHECK(b.gsl != NULL && b.x != NULL && b.q != NULL && rng_init_system(&b.rng) == STATUS_OK);
    for (size_t i = 0; i < VALUES; i++)
        b.x[i] = (float)(2 * rng_uniform(&b.rng) - 1);
    printf("pbm: million samples per second of processor time, median of %d\n", REPETITIONS);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        compare(&b, trials[i]);
    rng_deinit(&b.rng);
    gsl_rng_free(b.gsl);
    mem_free(b.x);
    mem_free(b.q);
    return 0;
}
