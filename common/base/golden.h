/* golden.h -- golden-section search (Kiefer 1953): the least value of a function that falls and
 * then rises.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_GOLDEN_H
#define COLONNADE_BASE_GOLDEN_H

struct golden {
    double at, value; /* the better of the two inner points that are left */
    double middle;    /* of what the least value is still known to lie in */
};

/* Between low and high, by `calls` >= 2 calls of f; each but the first shrinks what is left by
 * 0.618. */
struct golden golden_search(double (*f)(void *context, double x), void *context, double low,
                            double high, int calls);

#endif
