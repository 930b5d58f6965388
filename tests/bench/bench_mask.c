/* bench_mask.c -- a member's masks beside what AES-256-CTR of OpenSSL gives at best, and a naive
 * twin.
 *
 * The limit is the time in which EVP sets the IV and makes the key stream of each pair in its
 * favourite way: one context, 16 KiB at a time into the first cache level.  Beside it, three times:
 * the masks (key streams and sums), the masks with all that protect does around them (checks,
 * reduction, packing), and protect as a whole with the encoding (8 bits, `fixed`).
 *
 * All are measured in turn, in processor time, and ratios are taken within each turn, since the
 * machine may be shared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/crypto/prg.h"
#include "common/secagg/mask.h"
#include "common/secagg/secagg.h"
#include "tests/lib/median.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { REPETITIONS = 9, RUN = 16384, CODE_BITS = 8 };

struct bench {
    size_t n,
        turns; /* values; calls per measurement, so that a measurement is long against the clock */
    uint32_t parties, width;
    struct secagg_shape shape;
    struct secagg_party *party;
    struct mask_set masks;
    struct prg *naive;
    struct secagg_pair *pairs;
    uint8_t *payload, *check;
    float *x;
    uint32_t *q;
    uint16_t *words;
    uint64_t round;
    EVP_CIPHER_CTX *evp;
    struct rng rng;
};

/* What no mask can do without: an IV and the key stream of each pair. */
static void limit(struct bench *b)
{
    static uint8_t in[RUN], out[RUN], iv[16];

    for (uint32_t j = 1; j < b->parties; j++) {
        size_t left = b->n * sizeof(uint16_t);
        int done;

        CHECK(EVP_EncryptInit_ex2(b->evp, NULL, NULL, iv, NULL) == 1);
        for (; left > 0; left -= (size_t)done)
            CHECK(EVP_EncryptUpdate(b->evp, out, &done, in, left < RUN ? (int)left : RUN) == 1);
    }
}

/* Key streams and sums alone, into lanes that are already there. */
static void masks(struct bench *b)
{
    static const uint8_t sid[32] = {1}, broadcast[32] = {2};
    struct secagg_round r = {.purpose = 1, .round = ++b->round, .sid = sid, .broadcast = broadcast};

    CHECK(mask_begin(&b->masks, &r) == STATUS_OK);
    for (size_t at = 0, some; at < b->n; at += some) {
        some = b->n - at < MASK_CHUNK_BYTES / 2 ? b->n - at : MASK_CHUNK_BYTES / 2;
        mask_apply16(&b->masks, b->words, some);
    }
    mask_end(&b->masks);
}

static void encode(struct bench *b)
{
    enum { CHUNK = MASK_CHUNK_BYTES / 2 };

    for (size_t at = 0; at < b->n; at += CHUNK)
        encode_integers(&b->shape.encode, b->q, b->x + at, b->n - at < CHUNK ? b->n - at : CHUNK,
                        &b->rng);
}

static void protect(struct bench *b)
{
    static const uint8_t sid[32] = {1}, broadcast[32] = {2};
    struct secagg_round r = {.purpose = 1, .round = ++b->round, .sid = sid, .broadcast = broadcast};

    CHECK(secagg_protect(b->party, b->payload, b->check, b->x, b->n, &r, &b->rng) == STATUS_OK);
}

/* What one writes first: the whole key stream of a pair, then the vector, one element after the
 * other. */
static void naive(struct bench *b)
{
    const uint32_t low = (1U << b->width) - 1;
    uint8_t iv[PRG_IV_BYTES] = {0};

    memcpy(iv, &b->round, sizeof b->round);
    b->round++;
    encode_integers(&b->shape.encode, b->q, b->x, b->n, &b->rng);
    for (uint32_t j = 1; j < b->parties; j++) {
        prg_seek(&b->naive[j], iv);
        prg_fill(&b->naive[j], b->words, b->n * sizeof *b->words);
        for (size_t i = 0; i < b->n; i++) {
            __asm__ volatile("" : : : "memory"); /* one at a time */
            b->q[i] = (b->q[i] + b->words[i]) & low;
        }
    }
    bits_naive_pack(b->payload, b->q, b->n, b->width);
}

static double time_of(void (*work)(struct bench *), struct bench *b, size_t turns)
{
    const double start = clock_cpu_s();

    for (size_t k = 0; k < turns; k++)
        work(b);
    return 1e6 * (clock_cpu_s() - start) / (double)turns;
}

static void set_up(struct bench *b)
{
    struct plan plan;

    plan_defaults(&plan);
    plan.protocol.encoding = ENCODING_FIXED;
    plan.protocol.fixed.bits = CODE_BITS;
    b->shape = (struct secagg_shape){.parties = b->parties, .values_max = (uint32_t)b->n};
    CHECK(encode_init(&b->shape.encode, &plan, b->parties) == STATUS_OK);
    b->width = secagg_width(AGGREGATION_MASKED, &b->shape);
    CHECK(b->width <= 16);
    b->payload = mem_alloc(secagg_payload_bytes(AGGREGATION_MASKED, &b->shape, b->n), 1);
    b->check = mem_alloc(secagg_check_bytes(AGGREGATION_MASKED, &b->shape), 1);
    b->pairs = mem_alloc(b->parties, sizeof *b->pairs);
    b->naive = mem_alloc(b->parties, sizeof *b->naive);
    b->x = mem_alloc(b->n, sizeof *b->x);
    b->q = mem_alloc(b->n + 4096, sizeof *b->q);
    b->words = mem_alloc(b->n, sizeof *b->words);
    CHECK(b->payload && b->check && b->pairs && b->naive && b->x && b->q && b->words);
    for (size_t i = 0; i < b->n; i++)
        b->x[i] = (float)(2 * rng_uniform(&b->rng) - 1);
    rng_fill(&b->rng, b->pairs, b->parties * sizeof *b->pairs);
    for (uint32_t j = 0; j < b->parties; j++)
        CHECK(prg_init(&b->naive[j], b->pairs[j].mask) == STATUS_OK);
    CHECK(mask_init(&b->masks, b->parties, 0, b->pairs) == STATUS_OK);
    CHECK(secagg_party_new(&b->party, AGGREGATION_MASKED, &b->shape, b->pairs) == STATUS_OK);
}

static void tear_down(struct bench *b)
{
    secagg_party_free(b->party);
    mask_deinit(&b->masks);
    for (uint32_t j = 0; j < b->parties; j++)
        prg_deinit(&b->naive[j]);
    mem_free(b->payload);
    mem_free(b->check);
    mem_free(b->pairs);
    mem_free(b->naive);
    mem_free(b->x);
    mem_free(b->q);
    mem_free(b->words);
}

static void compare(struct bench *b, size_t n, uint32_t parties)
{
    double us[REPETITIONS], alone[REPETITIONS], packed[REPETITIONS], all[REPETITIONS];
    double gain[REPETITIONS];
    size_t pairs_n = n * (parties - 1);

    b->n = n;
    b->parties = parties;
    b->round = 0;
    b->turns = pairs_n < 4000000 ? 4000000 / pairs_n : 1;
    set_up(b);
    for (int k = 0; k < REPETITIONS; k++) {
        double best = time_of(limit, b, b->turns), codes = time_of(encode, b, b->turns);
        double ours = time_of(protect, b, b->turns);

        us[k] = ours;
        alone[k] = best / time_of(masks, b, b->turns);
        packed[k] = best / (ours - codes);
        all[k] = best / ours;
        gain[k] = time_of(naive, b, b->turns / 8 + 1) / ours;
    }
    printf("%7zu values, M = %3u: protect %8.1f us; of the EVP limit: masks %5.1f %%, packed %5.1f "
           "%%, "
           "encoded %5.1f %%; naive twin %4.1f x\n",
           n, parties, median(us, REPETITIONS), 100 * median(alone, REPETITIONS),
           100 * median(packed, REPETITIONS), 100 * median(all, REPETITIONS),
           median(gain, REPETITIONS));
    tear_down(b);
}

int main(void)
{
    static const uint32_t parties[] = {2, 5, 10, 50, 100};
    static const size_t sizes[] = {1000000, 1600};
    static const uint8_t key[32] = {3}, iv[16] = {4};
    struct bench b = {.evp = EVP_CIPHER_CTX_new()};
    EVP_CIPHER *aes = EVP_CIPHER_fetch(NULL, "AES-256-CTR", NULL);

    CHECK(EVP_EncryptInit_ex2(b.evp, aes, key, iv, NULL) == 1);
    CHECK(rng_init_system(&b.rng) == STATUS_OK);
    printf("masks of one member, medians of %d\n", REPETITIONS);
    for (size_t s = 0; s < 2; s++)
        for (size_t m = 0; m < sizeof parties / sizeof parties[0]; m++)
            compare(&b, sizes[s], parties[m]);
    rng_deinit(&b.rng);
    EVP_CIPHER_CTX_free(b.evp);
    EVP_CIPHER_free(aes);
    return 0;
}
