/* fast_crypto.h -- stand-ins for Ed25519, X25519 and comparisons of secrets where thousands of
 * sessions are keyed.
 *
 * A test that is linked with --wrap for these (Makefile) gets them instead of common/crypto's: as
 * honest peers see it they do the same.  What they do not do is resist anybody.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_FAST_CRYPTO_H
#define COLONNADE_TESTS_SIM_FAST_CRYPTO_H

#include "common/crypto/equality.h"
#include "common/crypto/kex.h"
#include "common/crypto/rng.h"
#include "common/crypto/sign.h"

enum status __wrap_sign_key_generate(struct sign_key *k);
enum status __wrap_sign_make(uint8_t sig[SIGN_BYTES], const struct sign_key *k, const char *label,
                             const void *message, size_t n);
enum status __wrap_sign_check(const uint8_t sig[SIGN_BYTES],
                              const uint8_t public_key[SIGN_PUBLIC_BYTES], const char *label,
                              const void *message, size_t n);
enum status __wrap_kex_generate(uint8_t secret[KEX_BYTES], uint8_t public_key[KEX_BYTES]);
enum status __wrap_kex_derive(uint8_t shared[KEX_BYTES], const uint8_t secret[KEX_BYTES],
                              const uint8_t peer[KEX_BYTES]);
enum status __wrap_equality_begin(struct equality *e, const char *label, const void *secret,
                                  size_t n, const uint8_t random[EQUALITY_RANDOM_BYTES]);
enum status __wrap_equality_end(uint8_t result[EQUALITY_BYTES], struct equality *e,
                                const uint8_t element[EQUALITY_BYTES]);
bool __wrap_equality_is_element(const uint8_t element[EQUALITY_BYTES]);

/* The system's generator, for who wraps it, too: what is drawn after fast_crypto_place(n) depends
 * on n alone, so that a part of a run can be played again without the rest of it. */
enum status __wrap_rng_init_system(struct rng *r);
void fast_crypto_place(uint64_t number);

#endif
