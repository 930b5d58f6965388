/* rng.h -- random bytes: the system's generator, or a seeded stream under --insecure-seed.
 *
 * One AES-256-CTR stream per process, keyed from RAND_bytes, whose return is checked (threats F6);
 * what its stream returns, too, and a failure there aborts.  A seeded stream serves model
 * initialisation and noise in experiments, never keys or masks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_RNG_H
#define COLONNADE_CRYPTO_RNG_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RNG_KEY_BYTES = 32 };

struct rng {
    void *ctx;   /* EVP_CIPHER_CTX */
    size_t left; /* unread bytes at the end of buffer */
    uint8_t buffer[4096];
};

enum status rng_init_system(struct rng *r) MUST_USE; /* keyed by RAND_bytes */
enum status rng_init_key(struct rng *r, const uint8_t key[RNG_KEY_BYTES]) MUST_USE;
/* Starts another stream in place, without allocation. */
void rng_rekey(struct rng *r, const uint8_t key[RNG_KEY_BYTES]);
/* Likewise, of a key by RAND_bytes: whoever knew the state before knows nothing of it. */
enum status rng_renew(struct rng *r) MUST_USE;
void rng_deinit(struct rng *r); /* wipes; safe on a zeroed struct */

/* key = SHA-256("vfl/seed/1" || seed || party || purpose || place): the same draws on any
 * interleaving. */
void rng_seed_key(uint8_t key[RNG_KEY_BYTES], uint64_t seed, uint32_t party, const char *purpose,
                  uint64_t place);

void rng_fill(struct rng *r, void *out, size_t n);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t bound); /* uniform on [0, bound), by rejection */
double rng_uniform(struct rng *r);                 /* [0, 1), 53 bits */
double rng_normal(struct rng *r); /* mean 0, variance 1 (Box-Muller, cosine branch) */

#endif
