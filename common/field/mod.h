/* mod.h -- single residues modulo a prime that is known at run time, of up to 63 bits.
 *
 * For coefficients and points, of which there are few and all public: readable before fast, and
 * with branches.  Long vectors of data have their own files, one for each size of prime (fp16_*).
 * Arguments and results are canonical, 0 <= x < p.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_MOD_H
#define COLONNADE_FIELD_MOD_H

#include <stdint.h>

uint64_t mod_add(uint64_t a, uint64_t b, uint64_t p);
uint64_t mod_sub(uint64_t a, uint64_t b, uint64_t p);
uint64_t mod_mul(uint64_t a, uint64_t b, uint64_t p);
uint64_t mod_pow(uint64_t a, uint64_t exponent, uint64_t p);
uint64_t mod_inv(uint64_t a, uint64_t p); /* a != 0 (CHECK) */
/* x[i] := 1 / x[i] for n values other than 0 (CHECK), with one inversion (Montgomery's trick);
 * scratch: n. */
void mod_inv_all(uint64_t *x, uint64_t *scratch, uint32_t n, uint64_t p);

#endif
