/* agree.c -- signing and checking hellos and confirmations.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agree.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <string.h>

enum { USE_BYTES = 10 }; /* of a pair key's info */

/* What belongs together is there together. */
static bool dealing_whole(const struct wire_hello *h)
{
    const bool deals = h->dealing.n > 0;

    return (h->features > 0) == deals && (h->degree > 0) == deals &&
           (h->holds.n > 0) == (h->held > 0) && (deals || h->held == 0);
}

/* Of a failed sign_check(). */
static const char *signature_words(enum status s)
{
    return s == STATUS_AUTH ? "bad signature" : status_words(s);
}

enum status agree_check_hello(const struct wire_hello *h, const struct roster_entry *who,
                              const struct agree_terms *terms, struct error *err)
{
    uint8_t spki[SIGN_SPKI_DIGEST_BYTES];
    enum status s;

    sign_spki_digest(spki, h->public_key);
    if (!secret_equal(spki, who->key, sizeof spki))
        return error_set(err, STATUS_AUTH, "hello of %s: signed by a key that is not in the roster",
                         who->name);
    s = sign_check(h->signature, h->public_key, "vfl/hello/2", h->body.data, h->body.n);
    if (s != STATUS_OK)
        return error_set(err, s, "hello of %s: %s", who->name, signature_words(s));
    if (strcmp(h->name, who->name) != 0)
        return error_set(err, STATUS_PROTOCOL, "hello of %s: names itself %s", who->name, h->name);
    if (h->generation != terms->generation)
        return error_set(err, STATUS_PROTOCOL, "hello of %s: of another generation", who->name);
    if (!secret_equal(h->plan_digest, terms->plan_digest, WIRE_DIGEST_BYTES))
        return error_set(err, STATUS_PROTOCOL, "hello of %s: for another plan", who->name);
    if (!dealing_whole(h))
        return error_set(err, STATUS_PROTOCOL, "hello of %s: half a dealing", who->name);
    if (h->features > WIRE_FEATURES_MAX || h->degree > WIRE_DEGREE_MAX)
        return error_set(err, STATUS_PROTOCOL,
                         "hello of %s: %u columns, degree %u; at most %d and %d", who->name,
                         h->features, h->degree, WIRE_FEATURES_MAX, WIRE_DEGREE_MAX);
    if (h->ledger > WIRE_LEDGER_MAX)
        return error_set(err, STATUS_PROTOCOL, "hello of %s: no ledger has so many entries",
                         who->name);
    return STATUS_OK;
}

/* A digest that may be absent: then zeros. */
static bool keep_digest(uint8_t kept[WIRE_DIGEST_BYTES], const struct wire_bytes *digest)
{
    CHECK(digest->n == 0 || digest->n == WIRE_DIGEST_BYTES);
    memset(kept, 0, WIRE_DIGEST_BYTES);
    if (digest->n > 0)
        memcpy(kept, digest->data, WIRE_DIGEST_BYTES);
    return digest->n > 0;
}

void agree_keep_hello(struct agree_hello *kept, const struct wire_hello *h)
{
    CHECK(h->body.n <= sizeof kept->body);
    memcpy(kept->body, h->body.data, h->body.n);
    kept->body_len = h->body.n;
    memcpy(kept->public_key, h->public_key, sizeof kept->public_key);
    memcpy(kept->signature, h->signature, sizeof kept->signature);
    memcpy(kept->kex_public, h->kex_public, sizeof kept->kex_public);
    kept->train_rows = h->train_rows;
    kept->test_rows = h->test_rows;
    kept->features = h->features;
    kept->degree = h->degree;
    kept->has_dealing = keep_digest(kept->dealing, &h->dealing);
    kept->has_holds = keep_digest(kept->holds, &h->holds);
    kept->held = h->held;
    kept->ledger = h->ledger;
    memcpy(kept->elements, h->elements, sizeof kept->elements);
}

struct wire_hello agree_show_hello(const struct agree_hello *kept)
{
    return (struct wire_hello){
        .body = {kept->body, kept->body_len},
        .public_key = kept->public_key,
        .signature = kept->signature,
    };
}

void agree_sid(uint8_t sid[WIRE_DIGEST_BYTES], const struct agree_terms *terms,
               const struct agree_hello *hellos, size_t n)
{
    struct digest d;
    uint8_t word[8];

    digest_begin(&d);
    digest_update(&d, "vfl/sid/3", 9);
    digest_update(&d, terms->plan_digest, WIRE_DIGEST_BYTES);
    le_put(word, terms->generation, sizeof word);
    digest_update(&d, word, sizeof word);
    digest_update(&d, terms->element, WIRE_ELEMENT_BYTES);
    digest_update(&d, terms->playing, WIRE_DIGEST_BYTES);
    le_put(word, n, sizeof word);
    digest_update(&d, word, sizeof word);
    for (size_t i = 0; i < n; i++) {
        le_put(word, hellos[i].body_len, sizeof word);
        digest_update(&d, word, sizeof word);
        digest_update(&d, hellos[i].body, hellos[i].body_len);
        digest_update(&d, hellos[i].public_key, sizeof hellos[i].public_key);
    }
    digest_final(&d, sid);
    digest_deinit(&d);
}

/* --- confirmations --- */

enum {
    SIGNED_FIXED = WIRE_DIGEST_BYTES + 2 * WIRE_PROOFS_BYTES,
    SIGNED_MAX = SIGNED_FIXED + WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX
};

/* The signed part: sid || proofs || marks || seen.  Returns its length. */
static size_t signed_part(uint8_t out[SIGNED_MAX], const struct wire_confirm *c)
{
    CHECK(c->seen.n <= WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX);
    memcpy(out, c->sid, WIRE_DIGEST_BYTES);
    memcpy(out + WIRE_DIGEST_BYTES, c->proofs, WIRE_PROOFS_BYTES);
    memcpy(out + WIRE_DIGEST_BYTES + WIRE_PROOFS_BYTES, c->marks, WIRE_PROOFS_BYTES);
    memcpy(out + SIGNED_FIXED, c->seen.data, c->seen.n);
    return SIGNED_FIXED + c->seen.n;
}

enum status agree_sign_confirm(struct agree_confirm *c, const struct sign_key *key)
{
    const struct wire_confirm shown = agree_show_confirm(c, 0);
    uint8_t text[SIGNED_MAX];

    return sign_make(c->signature, key, "vfl/confirm/3", text, signed_part(text, &shown));
}

enum status agree_check_confirm(const struct wire_confirm *c,
                                const uint8_t public_key[WIRE_KEY_BYTES],
                                const uint8_t sid[WIRE_DIGEST_BYTES], size_t members,
                                struct error *err)
{
    uint8_t text[SIGNED_MAX];
    enum status s;

    s = sign_check(c->signature, public_key, "vfl/confirm/3", text, signed_part(text, c));
    if (s != STATUS_OK)
        return error_set(err, s, "confirmation: %s", signature_words(s));
    if (!secret_equal(c->sid, sid, WIRE_DIGEST_BYTES))
        return error_set(err, STATUS_PROTOCOL, "confirmation: another view of keys, set or plan");
    if (c->seen.n != WIRE_SEEN_BYTES * members)
        return error_set(err, STATUS_PROTOCOL, "confirmation: numbers of %zu ledgers where %zu are",
                         c->seen.n / WIRE_SEEN_BYTES, members);
    return STATUS_OK;
}

void agree_keep_confirm(struct agree_confirm *kept, const struct wire_confirm *c)
{
    CHECK(c->seen.n <= sizeof kept->seen);
    memcpy(kept->sid, c->sid, sizeof kept->sid);
    memcpy(kept->proofs, c->proofs, sizeof kept->proofs);
    memcpy(kept->marks, c->marks, sizeof kept->marks);
    memcpy(kept->signature, c->signature, sizeof kept->signature);
    memcpy(kept->seen, c->seen.data, c->seen.n);
    kept->members = c->seen.n / WIRE_SEEN_BYTES;
}

uint64_t agree_seen(const struct wire_confirm *c, size_t m)
{
    const uint8_t *from = c->seen.data + WIRE_SEEN_BYTES * m;

    CHECK(WIRE_SEEN_BYTES * (m + 1) <= c->seen.n);
    return le_take(&from, WIRE_SEEN_BYTES);
}

void agree_put_seen(struct agree_confirm *c, size_t m, uint64_t number)
{
    CHECK(m < c->members && c->members <= WIRE_MEMBERS_MAX);
    le_put(c->seen + WIRE_SEEN_BYTES * m, number, WIRE_SEEN_BYTES);
}

struct wire_confirm agree_show_confirm(const struct agree_confirm *kept, uint64_t generation)
{
    return (struct wire_confirm){.sid = kept->sid,
                                 .proofs = kept->proofs,
                                 .marks = kept->marks,
                                 .signature = kept->signature,
                                 .generation = generation,
                                 .seen = {kept->seen, WIRE_SEEN_BYTES * kept->members}};
}

/* HKDF with info = use || a || b. */
static enum status pair_key(uint8_t key[SECAGG_KEY_BYTES], const uint8_t shared[KEX_BYTES],
                            const uint8_t *sid, const char use[USE_BYTES + 1], uint32_t a,
                            uint32_t b)
{
    uint8_t info[USE_BYTES + 4];

    memcpy(info, use, USE_BYTES);
    info[USE_BYTES] = (uint8_t)a;
    info[USE_BYTES + 1] = (uint8_t)(a >> 8);
    info[USE_BYTES + 2] = (uint8_t)b;
    info[USE_BYTES + 3] = (uint8_t)(b >> 8);
    return kex_hkdf(key, SECAGG_KEY_BYTES, shared, KEX_BYTES, sid, WIRE_DIGEST_BYTES, info,
                    sizeof info);
}

enum status agree_pair_keys(struct secagg_pair *out, const uint8_t own_secret[32],
                            const uint8_t other_public[32], const uint8_t sid[WIRE_DIGEST_BYTES],
                            uint32_t self, uint32_t other)
{
    const uint32_t low = self < other ? self : other, high = self < other ? other : self;
    uint8_t shared[KEX_BYTES];
    enum status s = kex_derive(shared, own_secret, other_public);

    if (s == STATUS_OK)
        s = pair_key(out->mask, shared, sid, "vfl/mask/1", low, high);
    if (s == STATUS_OK)
        s = pair_key(out->seal_to, shared, sid, "vfl/seal/1", self, other);
    if (s == STATUS_OK)
        s = pair_key(out->seal_from, shared, sid, "vfl/seal/1", other, self);
    secret_wipe(shared, sizeof shared);
    if (s != STATUS_OK)
        secret_wipe(out, sizeof *out);
    return s;
}
