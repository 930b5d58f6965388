/* gaussian.h -- how much Gaussian noise the baseline adds at each party.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_GAUSSIAN_H
#define COLONNADE_CONFIG_GAUSSIAN_H

#include <stdint.h>

/* sqrt(2 M C^2 / (b beta^2)): PBM-VFL's section 7 (sigma^2 = 2 M / (b beta^2) at C = 1). */
double gaussian_sigma_paper(double clip, uint32_t trials, double beta, uint32_t parties);
/* sqrt(M C^2 (1 - 4 beta^2) / (4 b beta^2)): the variance with the Renyi divergence of PBM near
 * order 1. */
double gaussian_sigma_equal_rdp(double clip, uint32_t trials, double beta, uint32_t parties);

/* The delta of N(0, sigma^2) noise on a value of L2 sensitivity `reach`, at this epsilon >= 0:
 * Phi(reach / 2 sigma - epsilon sigma / reach) - e^epsilon Phi(-reach / 2 sigma - epsilon sigma /
 * reach) (Balle and Wang 2018, Theorem 8; exact). */
double gaussian_delta(double reach, double sigma, double epsilon);
/* The least sigma with gaussian_delta <= delta, found by bisection and rounded up.
 * reach, epsilon, delta > 0, delta < 1. */
double gaussian_sigma_epsilon(double reach, double epsilon, double delta);

#endif
