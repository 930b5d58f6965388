/* bound.h -- what guesses that came true or not prove of epsilon.
 *
 * A test that says "the other one" with probability f under D and 1 - g under D' shows that
 *   epsilon >= max( ln((1 - delta - g) / f), ln((1 - delta - f) / g) )
 * (Kairouz, Oh, Viswanath 2015).  f and g are taken at their upper Clopper-Pearson ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_BOUND_H
#define COLONNADE_TOOLS_AUDIT_BOUND_H

#include <stddef.h>

/* One-sided: each of the two ends is passed with a probability of at most this. */
#define BOUND_ERROR 5e-4

/* A test by threshold on a statistic that is larger under D': the threshold with the largest bound
 * on the first half of each side, then the bound on the other halves.  Both arrays are reordered.
 */
struct bound_test {
    double threshold, epsilon;
    size_t n, m, false_hits, misses; /* of the second halves */
};
struct bound_test bound_by_threshold(double *d, size_t n, double *d_prime, size_t m, double delta);

#endif
