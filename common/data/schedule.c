/* schedule.c -- the permutation of each epoch, and its batches.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schedule.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"

static const char PURPOSE[] = "vfl/schedule/1";

static void epoch_key(struct schedule *s, uint64_t epoch, uint8_t key[RNG_KEY_BYTES])
{
    uint8_t number[8];

    digest_begin(&s->digest);
    digest_update(&s->digest, PURPOSE, sizeof PURPOSE - 1);
    le_put(number, s->seed, sizeof number);
    digest_update(&s->digest, number, sizeof number);
    le_put(number, epoch, sizeof number);
    digest_update(&s->digest, number, sizeof number);
    digest_final(&s->digest, key);
}

/* What K = 1 does not need. */
static enum status init_segments(struct schedule *s)
{
    if (s->segments.k == 1)
        return STATUS_OK;
    s->sort = mem_alloc(s->segments.len, sizeof *s->sort);
    s->start = mem_alloc((size_t)s->rounds_per_epoch + 1, sizeof *s->start);
    s->row = mem_alloc(s->segments.rows, sizeof *s->row);
    return s->sort == NULL || s->start == NULL || s->row == NULL ? STATUS_MEMORY : STATUS_OK;
}

enum status schedule_init(struct schedule *s, uint64_t seed, uint32_t rows, uint32_t batch,
                          uint32_t segments)
{
    uint8_t key[RNG_KEY_BYTES] = {0}; /* never drawn from: each epoch sets its own */
    enum status status;
    struct rng *rng;

    CHECK(rows > 0 && batch > 0 && segments > 0 && batch % segments == 0);
    *s = (struct schedule){.seed = seed, .coded_batch = batch / segments, .epoch = UINT64_MAX};
    segments_init(&s->segments, rows, segments);
    s->rounds_per_epoch =
        s->segments.len / s->coded_batch + (s->segments.len % s->coded_batch != 0);
    s->order = mem_alloc(s->segments.len, sizeof *s->order);
    rng = mem_alloc(1, sizeof *rng);
    status = s->order == NULL || rng == NULL ? STATUS_MEMORY : init_segments(s);
    if (status == STATUS_OK)
        status = rng_init_key(rng, key);
    if (status != STATUS_OK) {
        mem_free(rng);
        schedule_deinit(s);
        return status;
    }
    s->rng = rng;
    return STATUS_OK;
}

void schedule_deinit(struct schedule *s)
{
    if (s->rng != NULL)
        rng_deinit(s->rng);
    mem_free(s->rng);
    digest_deinit(&s->digest);
    mem_free(s->order);
    mem_free(s->row);
    mem_free(s->start);
    mem_free(s->sort);
    *s = (struct schedule){0};
}

static uint32_t coded_rows(const struct schedule *s, uint32_t first)
{
    uint32_t left = s->segments.len - first;

    return left < s->coded_batch ? left : s->coded_batch;
}

/* Sorts the coded rows of each step: notes the step of every one, then deals them out to their
 * steps in ascending order. */
static void sort_steps(struct schedule *s)
{
    const uint32_t len = s->segments.len;
    uint32_t *step = s->sort, *next = s->start;

    for (uint32_t i = 0; i < len; i++)
        step[s->order[i]] = i / s->coded_batch;
    for (uint32_t i = 0; i < s->rounds_per_epoch; i++)
        next[i] = i * s->coded_batch;
    for (uint32_t r = 0; r < len; r++)
        s->order[next[step[r]]++] = r;
}

/* The rows of all steps: so those of one stay where they are while another is asked for. */
static void write_rows(struct schedule *s)
{
    uint32_t written = 0;

    for (uint32_t i = 0; i < s->rounds_per_epoch; i++) {
        uint32_t first = i * s->coded_batch;

        s->start[i] = written;
        written +=
            segments_rows(&s->segments, s->row + written, s->order + first, coded_rows(s, first));
    }
    CHECK(written == s->segments.rows);
    s->start[s->rounds_per_epoch] = written;
}

static void shuffle(struct schedule *s, uint64_t epoch)
{
    uint8_t key[RNG_KEY_BYTES];

    epoch_key(s, epoch, key);
    rng_rekey(s->rng, key);
    for (uint32_t i = 0; i < s->segments.len; i++)
        s->order[i] = i;
    for (uint32_t i = s->segments.len - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rng_below(s->rng, (uint64_t)i + 1), moved = s->order[i];

        s->order[i] = s->order[j];
        s->order[j] = moved;
    }
    if (s->segments.k > 1) {
        sort_steps(s);
        write_rows(s);
    }
    s->epoch = epoch;
}

const uint32_t *schedule_batch(struct schedule *s, uint64_t step, uint32_t *n)
{
    uint64_t epoch = step / s->rounds_per_epoch;
    uint32_t in_epoch = (uint32_t)(step % s->rounds_per_epoch), first = in_epoch * s->coded_batch;

    if (epoch != s->epoch)
        shuffle(s, epoch);
    s->coded = s->order + first;
    s->coded_n = coded_rows(s, first);
    if (s->segments.k == 1) {
        *n = s->coded_n;
        return s->coded;
    }
    *n = s->start[in_epoch + 1] - s->start[in_epoch];
    return s->row + s->start[in_epoch];
}
