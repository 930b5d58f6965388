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

static const char IV_LABEL[] = "vfl/mask/1";

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

void mask_open(struct mask *m, const struct secagg_round *r)
{
    const uint64_t epoch = r->round / SECAGG_RATCHET_ROUNDS;

    CHECK(epoch >= m->epoch);
    round_iv(m, r);
    for (uint32_t j = 0; j < m->pairs; j++) {
        struct mask_pair *pair = &m->pair[j];

        for (uint64_t e = m->epoch; e < epoch; e++)
            kex_ratchet(pair->key, "vfl/ratchet/1");
        if (epoch != m->epoch)
            prg_rekey(&pair->stream, pair->key);
        prg_seek(&pair->stream, m->iv);
    }
    m->epoch = epoch;
}

static void add16(uint16_t *lanes, const uint16_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lanes[i] = (uint16_t)(lanes[i] + le16toh(words[i]));
}

static void subtract16(uint16_t *lanes, const uint16_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lanes[i] = (uint16_t)(lanes[i] - le16toh(words[i]));
}

static void add32(uint32_t *lanes, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lanes[i] += le32toh(words[i]);
}

static void subtract32(uint32_t *lanes, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lanes[i] -= le32toh(words[i]);
}

void mask_add16(struct mask *m, uint16_t *lanes, size_t n)
{
    const size_t run = MASK_RUN_BYTES / sizeof *lanes;
    uint16_t *words = (uint16_t *)(void *)m->run;

    for (size_t take; n > 0; n -= take, lanes += take) {
        take = n < run ? n : run;
        for (uint32_t j = 0; j < m->pairs; j++) {
            prg_fill(&m->pair[j].stream, words, take * sizeof *words);
            (m->pair[j].subtract ? subtract16 : add16)(lanes, words, take);
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
            (m->pair[j].subtract ? subtract32 : add32)(lanes, words, take);
        }
    }
}
