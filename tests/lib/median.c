/* median.c -- sorted, then the one in the middle.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/median.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}
