/* fast_crypto.c -- signatures that anybody could make, keys that anybody could agree on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/fast_crypto.h"

#include "common/base/check.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

/* --- where randomness comes from --- */

static struct {
    bool known;
    uint64_t number, drawn;
} place;

void fast_crypto_place(uint64_t number)
{
    place.known = true;
    place.number = number;
    place.drawn = 0;
}

/* The next 32 bytes of the place. */
static void of_place(uint8_t out[DIGEST_BYTES])
{
    const uint64_t name[2] = {place.number, place.drawn++};

    digest_sha256(out, name, sizeof name);
}

/* Fresh each time, as the real ones are. */
static void fresh(uint8_t out[32])
{
    static struct rng rng;
    static bool ready;

    if (place.known) {
        of_place(out);
        return;
    }
    if (!ready)
        CHECK(rng_init_system(&rng) == STATUS_OK);
    ready = true;
    rng_fill(&rng, out, 32);
}

enum status __wrap_rng_init_system(struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    if (place.known)
        of_place(key);
    else
        CHECK(getrandom(key, sizeof key, 0) == (ssize_t)sizeof key);
    return rng_init_key(r, key);
}

/* --- signatures and key agreement --- */

enum status __wrap_sign_key_generate(struct sign_key *k)
{
    k->pkey = NULL;
    fresh(k->public_key);
    return STATUS_OK;
}

/* Of key, label and message, whoever computes it. */
static void mark(uint8_t out[DIGEST_BYTES], const uint8_t public_key[SIGN_PUBLIC_BYTES],
                 const char *label, const void *message, size_t n)
{
    uint8_t text[SIGN_PUBLIC_BYTES + 64 + SIGN_MESSAGE_MAX];
    size_t label_n = strlen(label) + 1;

    CHECK(label_n <= 64 && n <= SIGN_MESSAGE_MAX);
    memcpy(text, public_key, SIGN_PUBLIC_BYTES);
    memcpy(text + SIGN_PUBLIC_BYTES, label, label_n);
    memcpy(text + SIGN_PUBLIC_BYTES + label_n, message, n);
    digest_sha256(out, text, SIGN_PUBLIC_BYTES + label_n + n);
}

enum status __wrap_sign_make(uint8_t sig[SIGN_BYTES], const struct sign_key *k, const char *label,
                             const void *message, size_t n)
{
    memset(sig, 0, SIGN_BYTES);
    mark(sig, k->public_key, label, message, n);
    return STATUS_OK;
}

enum status __wrap_sign_check(const uint8_t sig[SIGN_BYTES],
                              const uint8_t public_key[SIGN_PUBLIC_BYTES], const char *label,
                              const void *message, size_t n)
{
    uint8_t want[SIGN_BYTES] = {0};

    mark(want, public_key, label, message, n);
    return memcmp(want, sig, sizeof want) == 0 ? STATUS_OK : STATUS_AUTH;
}

enum status __wrap_kex_generate(uint8_t secret[KEX_BYTES], uint8_t public_key[KEX_BYTES])
{
    fresh(secret);
    digest_sha256(public_key, secret, KEX_BYTES);
    return STATUS_OK;
}

enum status __wrap_kex_derive(uint8_t shared[KEX_BYTES], const uint8_t secret[KEX_BYTES],
                              const uint8_t peer[KEX_BYTES])
{
    uint8_t both[2 * KEX_BYTES], own[KEX_BYTES];
    bool first;

    digest_sha256(own, secret, KEX_BYTES);
    first = memcmp(own, peer, KEX_BYTES) < 0;
    memcpy(both, first ? own : peer, KEX_BYTES);
    memcpy(both + KEX_BYTES, first ? peer : own, KEX_BYTES);
    digest_sha256(shared, both, sizeof both);
    return STATUS_OK;
}

/* --- equality --- */

/* In the place of the scalar: what is compared. */
enum status __wrap_equality_begin(struct equality *e, const char *label, const void *secret,
                                  size_t n, const uint8_t random[EQUALITY_RANDOM_BYTES])
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, label, strlen(label) + 1);
    digest_update(&d, secret, n);
    digest_final(&d, e->scalar);
    digest_deinit(&d);
    digest_sha256(e->element, random, EQUALITY_RANDOM_BYTES);
    return STATUS_OK;
}

enum status __wrap_equality_end(uint8_t result[EQUALITY_BYTES], struct equality *e,
                                const uint8_t element[EQUALITY_BYTES])
{
    const int order = memcmp(e->element, element, EQUALITY_BYTES);
    uint8_t all[3 * EQUALITY_BYTES];

    memcpy(all, e->scalar, EQUALITY_BYTES);
    memcpy(all + EQUALITY_BYTES, order < 0 ? e->element : element, EQUALITY_BYTES);
    memcpy(all + 2 * EQUALITY_BYTES, order < 0 ? element : e->element, EQUALITY_BYTES);
    digest_sha256(result, all, sizeof all);
    memset(e->scalar, 0, sizeof e->scalar);
    return STATUS_OK;
}

bool __wrap_equality_is_element(const uint8_t element[EQUALITY_BYTES])
{
    static const uint8_t none[EQUALITY_BYTES];

    return memcmp(element, none, sizeof none) != 0;
}
