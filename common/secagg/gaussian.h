/* gaussian.h -- how much Gaussian noise (epsilon, delta) asks for.  Private to common/secagg.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_GAUSSIAN_H
#define COLONNADE_SECAGG_GAUSSIAN_H

/* delta at which N(0, sigma^2) noise gives (epsilon, delta) for L2 sensitivity 1:
 * Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma)   (Balle, Wang
 * 2018, Theorem 8). */
double gaussian_delta(double sigma, double epsilon);

/* The smallest such sigma, within 1e-12 of itself and never below.  epsilon > 0, 0 < delta < 1. */
double gaussian_sigma(double epsilon, double delta);

#endif
