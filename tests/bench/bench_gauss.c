/* bench_gauss.c -- draws of the discrete Gaussian per second beside GSL's continuous ones, rounded.
 *
 * GSL is called as its users call it: a fast generator (mt19937, no cryptography), and the
 * ziggurat, its fastest, which is neither discrete nor exact, and whose time depends on what is
 * drawn. Absolute figures belong to the machine; the ratios of one run are what travels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/gauss/gauss_kernel.h"
#include "tests/lib/median.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdio.h>

enum { VALUES = 1 << 18, REPETITIONS = 9 };

struct bench {
    const struct gauss_kernel *kernel; /* NULL: GSL */
    struct gauss gauss;
    struct rng rng;
    gsl_rng *gsl;
    int32_t *z;
};

static void run_gsl(struct bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->z[i] = (int32_t)lrint(gsl_ran_gaussian_ziggurat(b->gsl, b->gauss.sigma));
}

/* Median of million draws per second. */
static double measure(struct bench *b, size_t n)
{
    double rate[REPETITIONS];

    for (int k = 0; k < REPETITIONS; k++) {
        const double start = clock_cpu_s();

        if (b->kernel == NULL)
            run_gsl(b, n);
        else
            gauss_sample_by(b->kernel, &b->gauss, b->z, n, &b->rng);
        rate[k] = 1e-6 * (double)n / (clock_cpu_s() - start);
    }
    return median(rate, REPETITIONS);
}

static void compare(struct bench *b, double sigma)
{
    double gsl;

    CHECK(gauss_init(&b->gauss, sigma) == STATUS_OK);
    b->kernel = NULL;
    gsl = measure(b, VALUES);
    printf("sigma = %-8g GSL %6.1f M/s", sigma, gsl);
    for (size_t i = 0; i < gauss_kernels_n; i++) {
        double rate;

        b->kernel = &gauss_kernels[i];
        if (!b->kernel->runs_here())
            continue;
        rate = measure(b, VALUES);
        printf("   %s %.1f M/s = %.2f x", b->kernel->name, rate, rate / gsl);
    }
    printf("\n");
}

int main(void)
{
    static const double sigmas[] = {4, 16, 64.5, 1000, 65536, GAUSS_SIGMA_MAX};
    struct bench b = {.gsl = gsl_rng_alloc(gsl_rng_mt19937)};

    b.z = mem_alloc(VALUES, sizeof *b.z);
    CHECK(b.gsl != NULL && b.z != NULL && rng_init_system(&b.rng) == STATUS_OK);
    printf("gauss: million draws per second of processor time, median of %d\n", REPETITIONS);
    for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++)
        compare(&b, sigmas[i]);
    rng_deinit(&b.rng);
    gsl_rng_free(b.gsl);
    mem_free(b.z);
    return 0;
}
