/* share.c -- keys, nonces and associated data of sealed shares.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/share.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"

#include <string.h>

_Static_assert((int)SECAGG_KEY_BYTES == (int)AEAD_KEY_BYTES, "a pair's keys seal");

static const char label[] = "vfl/share/1";

enum {
    AT_SID = sizeof label - 1,
    AT_PURPOSE = AT_SID + DIGEST_BYTES,
    AT_ROUND = AT_PURPOSE + 1,
    AT_FROM = AT_ROUND + 8,
    AT_TO = AT_FROM + 2,
    AT_BROADCAST = AT_TO + 2,
};
_Static_assert(AT_BROADCAST + DIGEST_BYTES == SHARE_AAD_BYTES, "the layout of the header");

/* --- life --- */

static enum status set_keys(struct share_keys *k, const struct secagg_pair *pairs)
{
    enum status s = STATUS_OK;

    for (uint32_t j = 0; j < k->parties && s == STATUS_OK; j++) {
        if (j == k->self)
            continue;
        memcpy(k->to.key[j], pairs[j].seal_to, SECAGG_KEY_BYTES);
        memcpy(k->from.key[j], pairs[j].seal_from, SECAGG_KEY_BYTES);
        s = aead_init(&k->seal[j], true, k->to.key[j]);
        if (s == STATUS_OK)
            s = aead_init(&k->open[j], false, k->from.key[j]);
    }
    return s;
}

enum status share_init(struct share_keys *k, uint32_t parties, uint32_t self,
                       const struct secagg_pair *pairs)
{
    enum status s;

    *k = (struct share_keys){.parties = parties, .self = self};
    s = ratchet_init(&k->to, parties, self);
    if (s == STATUS_OK)
        s = ratchet_init(&k->from, parties, self);
    k->seal = mem_alloc(parties, sizeof *k->seal);
    k->open = mem_alloc(parties, sizeof *k->open);
    if (k->seal == NULL || k->open == NULL)
        s = STATUS_MEMORY;
    if (s == STATUS_OK)
        s = set_keys(k, pairs);
    if (s != STATUS_OK)
        share_deinit(k);
    return s;
}

void share_deinit(struct share_keys *k)
{
    for (uint32_t j = 0; j < k->parties; j++) {
        if (k->seal != NULL)
            aead_deinit(&k->seal[j]);
        if (k->open != NULL)
            aead_deinit(&k->open[j]);
    }
    mem_free(k->seal);
    mem_free(k->open);
    ratchet_deinit(&k->to);
    ratchet_deinit(&k->from);
    *k = (struct share_keys){0};
}

/* --- a round --- */

static void write_name(uint8_t aad[SHARE_AAD_BYTES], const struct secagg_round *r)
{
    memcpy(aad, label, AT_SID);
    memcpy(aad + AT_SID, r->sid, DIGEST_BYTES);
    aad[AT_PURPOSE] = r->purpose;
    le_put(aad + AT_ROUND, r->round, 8);
    le_put(aad + AT_FROM, 0, 4);
    memcpy(aad + AT_BROADCAST, r->broadcast, DIGEST_BYTES);
}

enum status share_begin(struct share_keys *k, const struct secagg_round *r)
{
    bool turned, also;
    enum status s = ratchet_begin(&k->to, r->round, &turned);

    if (s != STATUS_OK)
        return s;
    s = ratchet_begin(&k->from, r->round, &also);
    if (s != STATUS_OK)
        return s;
    CHECK(also == turned);
    for (uint32_t j = 0; j < k->parties && turned; j++) {
        if (j == k->self)
            continue;
        aead_rekey(&k->seal[j], k->to.key[j]);
        aead_rekey(&k->open[j], k->from.key[j]);
    }
    write_name(k->aad, r);
    k->name = (struct aead_name){.aad = k->aad, .aad_n = sizeof k->aad};
    le_put(k->name.nonce, r->round, 8);
    k->name.nonce[8] = r->purpose;
    return STATUS_OK;
}

bool share_is(const struct share_keys *k, const struct secagg_round *r)
{
    uint8_t aad[SHARE_AAD_BYTES];

    write_name(aad, r);
    memcpy(aad + AT_FROM, k->aad + AT_FROM, 4);
    return memcmp(aad, k->aad, sizeof aad) == 0;
}

size_t share_part(const struct share_keys *k, uint32_t j, size_t part)
{
    return (j < k->self ? j : j - 1) * part;
}

void share_seal(struct share_keys *k, uint32_t to, uint8_t *bytes, size_t n,
                uint8_t tag[AEAD_TAG_BYTES])
{
    CHECK(to < k->parties && to != k->self);
    le_put(k->aad + AT_FROM, k->self, 2);
    le_put(k->aad + AT_TO, to, 2);
    aead_seal(&k->seal[to], bytes, n, tag, &k->name);
}

void share_seal_all(struct share_keys *k, uint8_t *parts, uint8_t *tags, size_t part)
{
    for (uint32_t j = 0; j < k->parties; j++)
        if (j != k->self)
            share_seal(k, j, parts + share_part(k, j, part), part,
                       tags + share_part(k, j, AEAD_TAG_BYTES));
}

bool share_open(struct share_keys *k, uint32_t from, uint8_t *out, const uint8_t *in, size_t n,
                const uint8_t tag[AEAD_TAG_BYTES])
{
    CHECK(from < k->parties && from != k->self);
    le_put(k->aad + AT_FROM, from, 2);
    le_put(k->aad + AT_TO, k->self, 2);
    return aead_open(&k->open[from], out, in, n, tag, &k->name);
}
