/* points.h -- where the polynomials of Lagrange coding are known and where they are evaluated.
 *
 *   beta_u  = u + 1            u = 0 .. K+T-1: the values at the K segments, then at the T masks
 *   alpha_j = K + T + 1 + j    j = 0 .. M-1: the share of member j
 *
 * Computed from the shape and the roster's index alone, never taken from the wire: an alpha among
 * the betas would hand that member a segment in clear, two equal points would make decoding
 * impossible (threats C3).  A prime above M + K + T keeps all of them distinct and other than 0.
 *
 * Any prime of up to 63 bits; coefficients are few, and public.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_POINTS_H
#define COLONNADE_LCC_POINTS_H

#include <stddef.h>
#include <stdint.h>

enum { POINTS_MAX = 256 };

uint64_t points_beta(uint32_t u);
uint64_t points_alpha(uint32_t threshold, uint32_t member); /* threshold: K + T */

/* The first n betas; the alphas of n members, NULL: of the first n. */
void points_betas(uint64_t *x, uint32_t n);
void points_alphas(uint64_t *x, uint32_t threshold, const uint32_t *member, uint32_t n);

/* w[u] = 1 / product over k != u of (x[u] - x[k]) mod p, the barycentric weights of n <= POINTS_MAX
 * distinct points (CHECK). */
void points_weights(uint64_t *w, const uint64_t *x, uint32_t n, uint64_t p);

/* Lagrange coefficients: c[i * from_n + u] = product over k != u of (to[i] - from[k]) / (from[u] -
 * from[k]), so that f(to[i]) = sum over u of c[i][u] f(from[u]) for every f of degree < from_n
 * (Yu et al. 2019, eq. 9).  `from` distinct, from_n <= POINTS_MAX (CHECK). */
void points_lagrange(uint64_t *c, const uint64_t *to, uint32_t to_n, const uint64_t *from,
                     uint32_t from_n, uint64_t p);

#endif
