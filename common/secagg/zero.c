/* zero.c -- sets of members, their keys, and what a member adds to its results.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/zero.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "common/secagg/draw.h"
#include "common/secagg/round.h"

#include <string.h>

static const char label[] = "vfl/zero/1";

_Static_assert((int)SECAGG_KEY_BYTES == (int)PRG_KEY_BYTES, "a set's key keys its stream");

/* --- sets --- */

/* C(n, k), or anything above ZERO_KEYS_MAX: each step is exact and none is smaller than the last
 * while k <= n / 2. */
static uint64_t choose(uint32_t n, uint32_t k)
{
    uint64_t c = 1;

    if (k > n)
        return 0;
    if (k > n - k)
        k = n - k;
    for (uint32_t i = 0; i < k && c <= ZERO_KEYS_MAX; i++)
        c = c * (n - i) / (i + 1);
    return c;
}

uint64_t zero_keys_n(uint32_t parties, uint32_t privacy)
{
    return choose(parties - 1, privacy);
}

/* Those whose lowest member this is: 0 .. dealer-1 are missing, and T - dealer of the higher. */
static uint32_t dealt(uint32_t parties, uint32_t privacy, uint32_t dealer)
{
    return dealer > privacy ? 0 : (uint32_t)choose(parties - 1 - dealer, privacy - dealer);
}

size_t zero_part_bytes(uint32_t parties, uint32_t privacy, uint32_t dealer)
{
    return (size_t)dealt(parties, privacy, dealer) * SECAGG_KEY_BYTES;
}

static bool misses(const struct zero_subset *a, uint32_t member)
{
    return (a->missing[member / 64] >> (member % 64) & 1) != 0;
}

/* f_{A,0}(alpha_self) */
static uint64_t scale_of(const struct zero_shape *s, const struct zero_subset *a)
{
    const uint64_t p = s->field->p;
    const uint32_t threshold = s->segments + s->privacy;
    const uint64_t at = points_alpha(threshold, s->self);
    uint64_t f = 1;

    for (uint32_t k = 0; k < s->segments; k++)
        f = mod_mul(f, mod_sub(at, points_beta(k), p), p);
    for (uint32_t j = 0; j < s->parties; j++)
        if (misses(a, j))
            f = mod_mul(f, mod_sub(at, points_alpha(threshold, j), p), p);
    return f;
}

static void put_subset(struct zero *z, struct zero_subset *a, const uint32_t *missing)
{
    for (uint32_t i = 0; i < z->shape.privacy; i++)
        a->missing[missing[i] / 64] |= UINT64_C(1) << missing[i] % 64;
    a->key = ZERO_KEYS_MAX;
    if (misses(a, z->shape.self))
        return;
    a->key = z->keys_n++;
    a->scale = scale_of(&z->shape, a);
}

/* The sets of one dealer: missing[0 .. dealer-1] stay, the others walk through all choices of the
 * members above it. */
static void put_dealer(struct zero *z, uint32_t dealer)
{
    const uint32_t t = z->shape.privacy, parties = z->shape.parties;
    uint32_t missing[PLAN_PARTIES_MAX], at = z->first[dealer];

    for (uint32_t i = 0; i < t; i++)
        missing[i] = i < dealer ? i : i + 1;
    for (bool more = true; more;) {
        uint32_t i = t;

        put_subset(z, &z->subset[at++], missing);
        while (i > dealer && missing[i - 1] == parties - 1 - (t - i))
            i--;
        more = i > dealer;
        for (uint32_t k = i; more && k <= t; k++)
            missing[k - 1] = k == i ? missing[k - 1] + 1 : missing[k - 2] + 1;
    }
    CHECK(at == z->first[dealer + 1]);
}

/* --- life --- */

enum status zero_init(struct zero *z, const struct zero_shape *s)
{
    static const uint8_t none[PRG_KEY_BYTES];
    const uint32_t keys = (uint32_t)zero_keys_n(s->parties, s->privacy);
    enum status st;

    CHECK(s->privacy >= 1 && s->segments >= 1 && s->self < s->parties && keys <= ZERO_KEYS_MAX &&
          2 * (s->segments + s->privacy - 1) + 1 <= s->parties && s->parties <= PLAN_PARTIES_MAX);
    *z = (struct zero){.shape = *s};
    for (uint32_t d = 0; d < s->parties; d++)
        z->first[d + 1] = z->first[d] + dealt(s->parties, s->privacy, d);
    z->subset = mem_alloc(z->first[s->parties], sizeof *z->subset);
    z->stream = mem_alloc(keys, sizeof *z->stream);
    z->elements = mem_alloc(ZERO_CHUNK, s->field->bytes);
    z->random = mem_alloc(DRAW_BYTES, 1);
    st = ratchet_init(&z->keys, keys, keys);
    if (z->subset == NULL || z->stream == NULL || z->elements == NULL || z->random == NULL)
        st = STATUS_MEMORY;
    for (uint32_t k = 0; k < keys && st == STATUS_OK; k++)
        st = prg_init(&z->stream[k], none);
    if (st != STATUS_OK) {
        zero_deinit(z);
        return st;
    }
    for (uint32_t d = 0; d <= s->privacy; d++)
        put_dealer(z, d);
    CHECK(z->keys_n == keys);
    return STATUS_OK;
}

void zero_deinit(struct zero *z)
{
    for (uint32_t k = 0; z->stream != NULL && k < z->keys.parties; k++)
        prg_deinit(&z->stream[k]);
    ratchet_deinit(&z->keys);
    digest_deinit(&z->digest);
    if (z->elements != NULL)
        secret_wipe(z->elements, (size_t)ZERO_CHUNK * z->shape.field->bytes);
    if (z->random != NULL)
        secret_wipe(z->random, DRAW_BYTES);
    mem_free(z->subset);
    mem_free(z->stream);
    mem_free(z->elements);
    mem_free(z->random);
    *z = (struct zero){0};
}

/* --- keys --- */

static void put_key(struct zero *z, const struct zero_subset *a, const uint8_t *key)
{
    memcpy(z->keys.key[a->key], key, SECAGG_KEY_BYTES);
    prg_rekey(&z->stream[a->key], key);
}

void zero_draw(struct zero *z, struct rng *uniform)
{
    const uint32_t self = z->shape.self;
    uint8_t key[SECAGG_KEY_BYTES];

    for (uint32_t i = z->first[self]; i < z->first[self + 1]; i++) {
        rng_fill(uniform, key, sizeof key);
        put_key(z, &z->subset[i], key);
    }
    secret_wipe(key, sizeof key);
}

void zero_part(const struct zero *z, uint8_t *part, uint32_t to)
{
    const uint32_t self = z->shape.self;

    CHECK(to < z->shape.parties && to != self);
    for (uint32_t i = z->first[self]; i < z->first[self + 1]; i++, part += SECAGG_KEY_BYTES) {
        if (misses(&z->subset[i], to))
            memset(part, 0, SECAGG_KEY_BYTES);
        else
            memcpy(part, z->keys.key[z->subset[i].key], SECAGG_KEY_BYTES);
    }
}

bool zero_take(struct zero *z, uint32_t dealer, const uint8_t *part)
{
    static const uint8_t none[SECAGG_KEY_BYTES];

    CHECK(dealer < z->shape.parties && dealer != z->shape.self);
    for (uint32_t i = z->first[dealer]; i < z->first[dealer + 1]; i++, part += SECAGG_KEY_BYTES) {
        const struct zero_subset *a = &z->subset[i];
        const bool there = !secret_equal(part, none, SECAGG_KEY_BYTES);

        if (there != (a->key != ZERO_KEYS_MAX))
            return false;
        if (there)
            put_key(z, a, part);
    }
    return true;
}

/* --- a round --- */

enum status zero_begin(struct zero *z, const struct secagg_round *r)
{
    uint8_t iv[PRG_IV_BYTES];
    bool turned;
    enum status s = ratchet_begin(&z->keys, r->round, &turned);

    if (s != STATUS_OK)
        return s;
    round_iv(&z->digest, iv, label, r);
    for (uint32_t k = 0; k < z->keys_n; k++) {
        if (turned)
            prg_rekey(&z->stream[k], z->keys.key[k]);
        prg_seek(&z->stream[k], iv);
    }
    return STATUS_OK;
}

/* x[n] += scale times the next n elements of the key's stream. */
static void add_coefficients(struct zero *z, uint8_t *x, size_t n, uint64_t scale, struct prg *g)
{
    const struct field *f = z->shape.field;

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < ZERO_CHUNK ? n - at : ZERO_CHUNK;
        draw_from_prg(f, z->elements, some, g, z->random);
        f->axpy(x + at * f->bytes, scale, z->elements, some);
    }
}

void zero_add(struct zero *z, void *x, size_t n)
{
    const struct zero_shape *s = &z->shape;
    const uint32_t threshold = s->segments + s->privacy;
    const uint64_t alpha = points_alpha(threshold, s->self), p = s->field->p;
    const size_t some = n < ZERO_CHUNK ? n : ZERO_CHUNK;

    for (uint32_t i = 0; i < z->first[s->parties]; i++) {
        const struct zero_subset *a = &z->subset[i];
        uint64_t scale = a->scale;

        if (a->key == ZERO_KEYS_MAX)
            continue;
        for (uint32_t power = 0; power + 1 < threshold; power++) {
            add_coefficients(z, x, n, scale, &z->stream[a->key]);
            scale = mod_mul(scale, alpha, p);
        }
    }
    secret_wipe(z->elements, some * s->field->bytes);
    secret_wipe(z->random, DRAW_BYTES);
}
