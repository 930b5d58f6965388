/* schedule.c -- the permutation of each epoch, and its batches.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schedule.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"

static const char PURPOSE[] = "vfl/schedule/1";

static void put_u64(uint8_t out[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static void epoch_key(struct schedule *s, uint64_t epoch, uint8_t key[RNG_KEY_BYTES])
{
    uint8_t number[8];

    digest_begin(&s->digest);
    digest_update(&s->digest, PURPOSE, sizeof PURPOSE - 1);
    put_u64(number, s->seed);
    digest_update(&s->digest, number, sizeof number);
    put_u64(number, epoch);
    digest_update(&s->digest, number, sizeof number);
    digest_final(&s->digest, key);
}

enum status schedule_init(struct schedule *s, uint64_t seed, uint32_t rows, uint32_t batch)
{
    uint8_t key[RNG_KEY_BYTES] = {0}; /* never drawn from: each epoch sets its own */
    enum status status;
    struct rng *rng;

    CHECK(rows > 0 && batch > 0);
    *s = (struct schedule){.seed = seed, .rows = rows, .batch = batch, .epoch = UINT64_MAX};
    s->rounds_per_epoch = rows / batch + (rows % batch != 0);
    s->order = mem_alloc(rows, sizeof *s->order);
    rng = mem_alloc(1, sizeof *rng);
    status = s->order == NULL || rng == NULL ? STATUS_MEMORY : rng_init_key(rng, key);
    if (status != STATUS_OK) {
        mem_free(rng);
        schedule_deinit(s);
        return status;
    }
    s->rng = rng;
    status = digest_init(&s->digest);
    if (status != STATUS_OK)
        schedule_deinit(s);
    return status;
}

void schedule_deinit(struct schedule *s)
{
    if (s->rng != NULL)
        rng_deinit(s->rng);
    mem_free(s->rng);
    digest_deinit(&s->digest);
    mem_free(s->order);
    *s = (struct schedule){0};
}

static void shuffle(struct schedule *s, uint64_t epoch)
{
    uint8_t key[RNG_KEY_BYTES];

    epoch_key(s, epoch, key);
    rng_rekey(s->rng, key);
    for (uint32_t i = 0; i < s->rows; i++)
        s->order[i] = i;
    for (uint32_t i = s->rows - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rng_below(s->rng, (uint64_t)i + 1), moved = s->order[i];

        s->order[i] = s->order[j];
        s->order[j] = moved;
    }
    s->epoch = epoch;
}

const uint32_t *schedule_batch(struct schedule *s, uint64_t step, uint32_t *n)
{
    uint64_t epoch = step / s->rounds_per_epoch;
    uint32_t first = (uint32_t)(step % s->rounds_per_epoch) * s->batch;

    if (epoch != s->epoch)
        shuffle(s, epoch);
    *n = s->rows - first < s->batch ? s->rows - first : s->batch;
    return s->order + first;
}
