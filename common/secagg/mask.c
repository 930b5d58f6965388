/* mask.c -- keys, ratchet, IV, and the addition of streams to lanes.
 *
 * A run of lanes takes every pair's words before the next run is touched, so that lanes and words
 * are read from and written to the first cache level only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/mask.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <endian.h>
#include <string.h>

static const char IV_LABEL[] = "vfl/mask/1", RATCHET_LABEL[] = "vfl/ratchet/1";

enum status mask_init(struct mask *m, uint32_t parties, uint32_t self, const uint8_t *keys)
{
    enum status s;

    *m = (struct mask){0};
    m->pair = mem_alloc(parties, sizeof *m->pair);
    m->run = mem_alloc(MASK_RUN_BYTES, 1);
    s = m->pair == NULL || m->run == NULL ? STATUS_MEMORY : digest_init(&m->digest);
    for (uint32_t j = 0; j < parties && s == STATUS_OK; j++) {
        struct mask_pair *pair;

        if (j == self)
            continue;
        pair = &m->pair[m->pairs++];
        pair->subtract = j < self;
        memcpy(pair->key, keys + (size_t)j * SECAGG_KEY_BYTES, SECAGG_KEY_BYTES);
        s = prg_init(&pair->stream, pair->key);
    }
    if (s != STATUS_OK)
        mask_deinit(m);
    return s;
}

void mask_deinit(struct mask *m)
{
    for (uint32_t j = 0; j < m->pairs; j++) {
        prg_deinit(&m->pair[j].stream);
        secret_wipe(m->pair[j].key, SECAGG_KEY_BYTES);
    }
    if (m->run != NULL)
        secret_wipe(m->run, MASK_RUN_BYTES);
    digest_deinit(&m->digest);
    mem_free(m->run);
    mem_free(m->pair);
    *m = (struct mask){0};
}

/* One epoch further, for all pairs. */
static enum status ratchet(struct mask *m)
{
    uint8_t next[SECAGG_KEY_BYTES];
    enum status s = STATUS_OK;

    for (uint32_t j = 0; j < m->pairs && s == STATUS_OK; j++) {
        struct mask_pair *pair = &m->pair[j];

        s = kex_hkdf(next, sizeof next, pair->key, sizeof pair->key, NULL, 0, RATCHET_LABEL,
                     sizeof RATCHET_LABEL - 1);
        if (s == STATUS_OK)
            memcpy(pair->key, next, sizeof next);
    }
    secret_wipe(next, sizeof next);
    m->epoch++;
    return s;
}

static void round_iv(struct mask *m, const struct secagg_round *r)
{
    uint8_t sum[DIGEST_BYTES], number[9];

    number[0] = r->purpose;
    for (int i = 0; i < 8; i++)
        number[1 + i] = (uint8_t)(r->round >> (8 * i));
    digest_begin(&m->digest);
    digest_update(&m->digest, IV_LABEL, sizeof IV_LABEL - 1);
    digest_update(&m->digest, number, sizeof number);
    digest_update(&m->digest, r->sid, DIGEST_BYTES);
    digest_update(&m->digest, r->broadcast, DIGEST_BYTES);
    digest_final(&m->digest, sum);
    memcpy(m->iv, sum, sizeof m->iv);
}

enum status mask_open(struct mask *m, const struct secagg_round *r)
{
    const uint64_t epoch = r->round / SECAGG_RATCHET_ROUNDS;
    const bool rekey = epoch != m->epoch;

    CHECK(epoch >= m->epoch);
    while (m->epoch < epoch) {
        enum status s = ratchet(m);

        if (s != STATUS_OK)
            return s;
    }
    round_iv(m, r);
    for (uint32_t j = 0; j < m->pairs; j++) {
        if (rekey)
            prg_rekey(&m->pair[j].stream, m->pair[j].key);
        prg_seek(&m->pair[j].stream, m->iv);
    }
    return STATUS_OK;
}

void mask_add16(struct mask *m, uint16_t *lanes, size_t n)
{
    const size_t run = MASK_RUN_BYTES / sizeof *lanes;
    uint16_t *words = (uint16_t *)(void *)m->run;

    for (size_t take; n > 0; n -= take, lanes += take) {
        take = n < run ? n : run;
        for (uint32_t j = 0; j < m->pairs; j++) {
            prg_fill(&m->pair[j].stream, words, take * sizeof *words);
            if (m->pair[j].subtract)
                for (size_t i = 0; i < take; i++)
                    lanes[i] = (uint16_t)(lanes[i] - le16toh(words[i]));
            else
                for (size_t i = 0; i < take; i++)
                    lanes[i] = (uint16_t)(lanes[i] + le16toh(words[i]));
        }
    }
}

void mask_add32(struct mask *m, uint32_t *lanes, size_t n)
{
    const size_t run = MASK_RUN_BYTES / sizeof *lanes;
    uint32_t *words = (uint32_t *)(void *)m->run;

    for (size_t take; n > 0; n -= take, lanes += take) {
        take = n < run ? n : run;
        for (uint32_t j = 0; j < m->pairs; j++) {
            prg_fill(&m->pair[j].stream, words, take * sizeof *words);
            if (m->pair[j].subtract)
                for (size_t i = 0; i < take; i++)
                    lanes[i] -= le32toh(words[i]);
            else
                for (size_t i = 0; i < take; i++)
                    lanes[i] += le32toh(words[i]);
        }
    }
}
