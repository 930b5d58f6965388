/* mask.c -- keys, ratchet and key streams of pairwise masks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/mask.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/secagg/lane.h"
#include "common/secagg/round.h"

#include <string.h>

static const char mask_label[] = "vfl/mask/1";

_Static_assert((int)SECAGG_KEY_BYTES == (int)PRG_KEY_BYTES, "a pair's key keys its stream");
/* A stream of the largest round stays inside its 32-bit block counter. */
_Static_assert(PLAN_VALUES_MAX / 4 + 64 < UINT32_MAX, "the block counter would wrap");

/* --- life --- */

enum status mask_init(struct mask_set *m, uint32_t parties, uint32_t self,
                      const struct secagg_pair *pairs)
{
    enum status s;

    memset(m, 0, sizeof *m);
    m->parties = parties;
    m->self = self;
    s = ratchet_init(&m->keys, parties, self);
    m->stream = mem_alloc(parties, sizeof *m->stream);
    m->words = mem_alloc(MASK_CHUNK_BYTES, 1);
    if (m->stream == NULL || m->words == NULL)
        s = STATUS_MEMORY;
    for (uint32_t j = 0; j < parties && s == STATUS_OK; j++) {
        if (j == self)
            continue;
        memcpy(m->keys.key[j], pairs[j].mask, SECAGG_KEY_BYTES);
        s = prg_init(&m->stream[j], m->keys.key[j]);
    }
    if (s != STATUS_OK)
        mask_deinit(m);
    return s;
}

void mask_deinit(struct mask_set *m)
{
    for (uint32_t j = 0; m->stream != NULL && j < m->parties; j++)
        prg_deinit(&m->stream[j]);
    ratchet_deinit(&m->keys);
    if (m->words != NULL)
        secret_wipe(m->words, MASK_CHUNK_BYTES);
    digest_deinit(&m->digest);
    mem_free(m->stream);
    mem_free(m->words);
    memset(m, 0, sizeof *m);
}

/* --- a round --- */

enum status mask_begin(struct mask_set *m, const struct secagg_round *r)
{
    uint8_t iv[PRG_IV_BYTES];
    bool turned;
    enum status s = ratchet_begin(&m->keys, r->round, &turned);

    if (s != STATUS_OK)
        return s;
    round_iv(&m->digest, iv, mask_label, r);
    for (uint32_t j = 0; j < m->parties; j++) {
        if (j == m->self)
            continue;
        if (turned)
            prg_rekey(&m->stream[j], m->keys.key[j]);
        prg_seek(&m->stream[j], iv);
    }
    return STATUS_OK;
}

/* Whole blocks: the library is slow at an odd end, and what is left of the last block nobody reads.
 */
static size_t whole_blocks(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

void mask_apply16(struct mask_set *m, uint16_t *lanes, size_t n)
{
    uint16_t *words = (uint16_t *)(void *)m->words;

    CHECK(n * sizeof *words <= MASK_CHUNK_BYTES);
    for (uint32_t j = 0; j < m->parties; j++) {
        if (j == m->self)
            continue;
        prg_fill(&m->stream[j], words, whole_blocks(n * sizeof *words));
        if (m->self < j)
            lane_add16(lanes, words, n);
        else
            lane_sub16(lanes, words, n);
    }
}

void mask_apply32(struct mask_set *m, uint32_t *lanes, size_t n)
{
    uint32_t *words = (uint32_t *)(void *)m->words;

    CHECK(n * sizeof *words <= MASK_CHUNK_BYTES);
    for (uint32_t j = 0; j < m->parties; j++) {
        if (j == m->self)
            continue;
        prg_fill(&m->stream[j], words, whole_blocks(n * sizeof *words));
        if (m->self < j)
            lane_add32(lanes, words, n);
        else
            lane_sub32(lanes, words, n);
    }
}

void mask_end(struct mask_set *m)
{
    secret_wipe(m->words, MASK_CHUNK_BYTES);
}
