/* gaussian.c -- the exact condition of the Gaussian mechanism, solved by bisection.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/gaussian.h"

#include <math.h>

/* e^{z^2} erfc(z) for z >= 0; the asymptotic series from where erfc would leave the doubles. */
static double scaled_erfc(double z)
{
    const double inverse = 1.0 / (2.0 * z * z);

    if (z < 20.0)
        return exp(z * z) * erfc(z);
    return (1.0 - inverse * (1.0 - 3.0 * inverse)) / (z * sqrt(M_PI));
}

/* With a = 1/(2 sigma) and c = epsilon sigma, epsilon - (a + c)^2 / 2 = -(a - c)^2 / 2: so the
 * second term is written without e^epsilon, which overflows where the product is small. */
double gaussian_delta(double sigma, double epsilon)
{
    const double a = 0.5 / sigma, c = epsilon * sigma, near = (a - c) * M_SQRT1_2;

    if (near <= 0.0)
        return 0.5 * exp(-near * near) * (scaled_erfc(-near) - scaled_erfc((a + c) * M_SQRT1_2));
    return 0.5 * (erfc(-near) - exp(-near * near) * scaled_erfc((a + c) * M_SQRT1_2));
}

double gaussian_sigma(double epsilon, double delta)
{
    double low = 1e-9, high = 1.0;

    while (gaussian_delta(high, epsilon) > delta && high < 1e30)
        high *= 2.0;
    while (high - low > 1e-12 * high) {
        double middle = 0.5 * (low + high);

        if (gaussian_delta(middle, epsilon) > delta)
            low = middle;
        else
            high = middle;
    }
    return high;
}
