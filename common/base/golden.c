/* golden.c -- of two inner points one is kept at each step, so that each step is one call.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/golden.h"

#include "common/base/check.h"

#include <math.h>

struct golden golden_search(double (*f)(void *context, double x), void *context, double low,
                            double high, int calls)
{
    const double golden = (sqrt(5) - 1) / 2;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = f(context, a), at_b = f(context, b);

    CHECK(calls >= 2);
    for (int k = 2; k < calls; k++) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = f(context, a);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = f(context, b);
        }
    }
    return (struct golden){
        .at = at_a <= at_b ? a : b, .value = fmin(at_a, at_b), .middle = (low + high) / 2};
}
