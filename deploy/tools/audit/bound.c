/* bound.c -- exact binomial tails, and a threshold chosen on data that is not judged by it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/bound.h"

#include <math.h>
#include <stdlib.h>

/* ln P(X <= hits), X ~ Bin(n, p), hits < n, p > 0 and at least hits / n: the last term is the
 * largest then, and each one before it is had from its neighbour. */
static double ln_tail(size_t hits, size_t n, double p)
{
    const double last = lgamma((double)n + 1) - lgamma((double)hits + 1) -
                        lgamma((double)(n - hits) + 1) + (double)hits * log(p) +
                        (double)(n - hits) * log1p(-p);
    double sum = 1, term = 1;

    for (size_t k = hits; k > 0 && term > 1e-20 * sum; k--) {
        term *= (double)k / (double)(n - k + 1) * (1 - p) / p;
        sum += term;
    }
    return last + log(sum);
}

/* The largest p under which `hits` of n or less still happen with probability BOUND_ERROR. */
static double upper_bound(size_t hits, size_t n)
{
    double low = (double)hits / (double)n, high = 1;

    if (n == 0 || hits >= n)
        return 1;
    for (int i = 0; i < 100; i++) {
        double p = (low + high) / 2;

        if (p <= 0 || ln_tail(hits, n, p) > log(BOUND_ERROR))
            low = p;
        else
            high = p;
    }
    return high;
}

/* The lower bound from `false_hits` of n trials under D and `misses` of m under D'; never below 0.
 */
static double least_epsilon(size_t false_hits, size_t n, size_t misses, size_t m, double delta)
{
    const double f = upper_bound(false_hits, n), g = upper_bound(misses, m);
    const double one = 1 - delta - g, other = 1 - delta - f;
    double epsilon = 0;

    if (one > f)
        epsilon = log(one / f);
    if (other > g && log(other / g) > epsilon)
        epsilon = log(other / g);
    return epsilon;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many of n sorted values are above the threshold. */
static size_t above(const double *x, size_t n, double threshold)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (x[middle] > threshold)
            high = middle;
        else
            low = middle + 1;
    }
    return n - low;
}

static struct bound_test judge(const double *d, size_t n, const double *d_prime, size_t m,
                               double threshold, double delta)
{
    struct bound_test t = {.threshold = threshold, .n = n, .m = m};

    t.false_hits = above(d, n, threshold);
    t.misses = m - above(d_prime, m, threshold);
    t.epsilon = least_epsilon(t.false_hits, n, t.misses, m, delta);
    return t;
}

struct bound_test bound_by_threshold(double *d, size_t n, double *d_prime, size_t m, double delta)
{
    enum { STEPS = 200 };
    const size_t half = n / 2, half_prime = m / 2;
    struct bound_test best = {.epsilon = -1};

    qsort(d, half, sizeof *d, ascending);
    qsort(d + half, n - half, sizeof *d, ascending);
    qsort(d_prime, half_prime, sizeof *d_prime, ascending);
    qsort(d_prime + half_prime, m - half_prime, sizeof *d_prime, ascending);
    for (size_t side = 0; side < 2; side++) {
        const double *from = side == 0 ? d : d_prime;
        const size_t count = side == 0 ? half : half_prime;

        for (size_t i = 0; i <= STEPS && count > 0; i++) {
            double threshold = from[(count - 1) * i / STEPS];
            struct bound_test t = judge(d, half, d_prime, half_prime, threshold, delta);
            if (t.epsilon > best.epsilon)
                best = t;
        }
    }
    return judge(d + half, n - half, d_prime + half_prime, m - half_prime, best.threshold, delta);
}
