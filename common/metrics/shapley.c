/* shapley.c -- means of what a player adds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/shapley.h"

#include "common/base/check.h"

#include <math.h>

/* Of all orders, how large a part has just these s players, of n, before a certain other one:
 * s! (n - 1 - s)! / n!. */
static double share(uint32_t s, uint32_t n)
{
    double ways = 1; /* n - 1 over s */

    for (uint32_t k = 1; k <= s; k++)
        ways *= (double)(n - k) / k;
    return 1 / (ways * n);
}

void shapley_whole(double *out, const double *value, uint32_t n)
{
    CHECK(n > 0 && n <= SHAPLEY_WHOLE_MAX);
    for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
    for (uint32_t set = 0; set < 1u << n; set++) {
        const double each = share((uint32_t)__builtin_popcount(set), n);

        for (uint32_t i = 0; i < n; i++)
            if ((set >> i & 1) == 0)
                out[i] += each * (value[set | 1u << i] - value[set]);
    }
}

/* What pair p says of player i; the last order may stand alone. */
static double of_pair(const double *rises, uint32_t n, uint32_t orders, uint32_t p, uint32_t i)
{
    const double first = rises[(uint64_t)2 * p * n + i];

    return 2 * p + 1 < orders ? (first + rises[((uint64_t)2 * p + 1) * n + i]) / 2 : first;
}

void shapley_sampled(double *out, double *error, const double *rises, uint32_t n, uint32_t orders)
{
    const uint32_t pairs = orders / 2 + orders % 2;

    CHECK(orders > 0);
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0, squares = 0;

        for (uint32_t k = 0; k < orders; k++)
            sum += rises[(uint64_t)k * n + i];
        out[i] = sum / orders;
        for (uint32_t p = 0; p < pairs; p++) {
            const double off = of_pair(rises, n, orders, p, i) - out[i];

            squares += off * off;
        }
        if (error != NULL)
            error[i] = pairs > 1 ? sqrt(squares / (pairs - 1) / pairs) : NAN;
    }
}
