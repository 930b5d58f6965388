/* gaussian.c -- variances of the Gaussian baseline.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/gaussian.h"

#include "common/base/check.h"

#include <math.h>

#define SQRT_HALF 0.70710678118654752440
#define SQRT_PI 1.77245385090551602730

double gaussian_sigma_paper(double clip, uint32_t trials, double beta, uint32_t parties)
{
    return clip / beta * sqrt(2.0 * parties / trials);
}

double gaussian_sigma_equal_rdp(double clip, uint32_t trials, double beta, uint32_t parties)
{
    return clip / (2 * beta) * sqrt(parties * (1 - 4 * beta * beta) / trials);
}

/* e^(z^2) erfc(z), z >= 0, without overflow: from z = 25 on the first terms of the asymptotic
 * series are exact to double precision. */
static double scaled_erfc(double z)
{
    const double v = 1 / (2 * z * z);

    if (z < 25)
        return exp(z * z) * erfc(z);
    return (1 - v * (1 - 3 * v * (1 - 5 * v))) / (z * SQRT_PI);
}

/* With near = reach / 2 sigma - epsilon sigma / reach and far = near + 2 epsilon sigma / reach,
 * far^2 - near^2 = 2 epsilon, so e^epsilon Phi(-far) = e^(-near^2 / 2) e^(far^2 / 2) Phi(-far):
 * nothing overflows at any epsilon. */
double gaussian_delta(double reach, double sigma, double epsilon)
{
    const double half = reach / (2 * sigma), shift = epsilon * sigma / reach;
    const double near = half - shift, far = half + shift;

    return 0.5 * erfc(-near * SQRT_HALF) -
           0.5 * exp(-near * near / 2) * scaled_erfc(far * SQRT_HALF);
}

/* Bisection on the logarithm, since sigma may lie anywhere between very small and very large. */
double gaussian_sigma_epsilon(double reach, double epsilon, double delta)
{
    double low = log(reach) - 50, high = log(reach) + 50;

    CHECK(reach > 0 && epsilon > 0 && delta > 0 && delta < 1);
    for (int k = 0; k < 200; k++) {
        double middle = 0.5 * (low + high);

        if (gaussian_delta(reach, exp(middle), epsilon) > delta)
            low = middle;
        else
            high = middle;
    }
    return exp(high);
}
