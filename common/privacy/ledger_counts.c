/* ledger_counts.c -- chunked counters with all-or-nothing changes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_counts.h"

#include "common/base/check.h"
#include "common/base/mem.h"

void ledger_counts_deinit(struct ledger_counts *c)
{
    for (size_t m = 0; m < ACCOUNT_MECHANISMS_MAX; m++) {
        for (size_t p = 0; p < LEDGER_PURPOSES; p++) {
            struct ledger_chunk **chunk = c->chunk[m][p];

            for (size_t i = 0; chunk != NULL && i < c->chunks; i++)
                mem_free(chunk[i]);
            mem_free(chunk);
        }
    }
    mem_free(c->total);
    *c = (struct ledger_counts){0};
}

enum status ledger_counts_grow(struct ledger_counts *c, size_t records)
{
    size_t chunks = (records + LEDGER_CHUNK - 1) / LEDGER_CHUNK;
    size_t slot_bytes = LEDGER_CHUNK * sizeof *c->total, pointer_bytes = sizeof **c->chunk[0];
    uint32_t *total;

    if (chunks <= c->chunks)
        return STATUS_OK;
    /* An array that has grown while a later one could not is merely longer than c->chunks says. */
    for (size_t m = 0; m < ACCOUNT_MECHANISMS_MAX; m++) {
        for (size_t p = 0; p < LEDGER_PURPOSES; p++) {
            struct ledger_chunk ***array = &c->chunk[m][p], **grown;

            if (*array == NULL)
                continue;
            grown = mem_grow(*array, c->chunks * pointer_bytes, chunks * pointer_bytes);
            if (grown == NULL)
                return STATUS_MEMORY;
            *array = grown;
        }
    }
    total = mem_grow(c->total, c->chunks * slot_bytes, chunks * slot_bytes);
    if (total == NULL)
        return STATUS_MEMORY;
    c->total = total;
    c->chunks = chunks;
    return STATUS_OK;
}

struct ledger_chunk *ledger_counts_chunk(struct ledger_counts *c, struct ledger_column column,
                                         size_t index, bool make)
{
    struct ledger_chunk ***array = &c->chunk[column.mechanism][column.purpose];

    CHECK(index < c->chunks);
    if (*array == NULL && make)
        *array = mem_alloc(c->chunks, sizeof **array);
    if (*array == NULL)
        return NULL;
    if ((*array)[index] == NULL && make)
        (*array)[index] = mem_alloc(1, sizeof *(*array)[index]);
    return (*array)[index];
}

enum status ledger_counts_load(struct ledger_counts *c, struct ledger_column column, size_t index,
                               const uint32_t count[LEDGER_CHUNK])
{
    struct ledger_chunk *chunk;

    if (index >= c->chunks)
        return STATUS_LIMIT;
    chunk = ledger_counts_chunk(c, column, index, true);
    if (chunk == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < LEDGER_CHUNK; i++) {
        size_t slot = index * LEDGER_CHUNK + i;

        if (count[i] == 0)
            continue;
        if (slot >= c->records || count[i] > UINT32_MAX - c->total[slot])
            return STATUS_LIMIT;
        chunk->count[i] = count[i];
        c->total[slot] += count[i];
        c->releases[column.purpose] += count[i];
        c->column[column.mechanism][column.purpose] += count[i];
        if (c->total[slot] > c->participations_max)
            c->participations_max = c->total[slot];
    }
    return STATUS_OK;
}

/* Takes back the first n of a change, without looking for the new maximum. */
static void subtract(struct ledger_counts *c, struct ledger_column column, const uint32_t *slots,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ledger_chunk *chunk;

        CHECK(slots[i] < c->records);
        chunk = ledger_counts_chunk(c, column, slots[i] / LEDGER_CHUNK, false);
        CHECK(chunk != NULL && chunk->count[slots[i] % LEDGER_CHUNK] > 0);
        chunk->count[slots[i] % LEDGER_CHUNK]--;
        chunk->dirty = true;
        c->total[slots[i]]--;
    }
    c->releases[column.purpose] -= n;
    c->column[column.mechanism][column.purpose] -= n;
}

enum status ledger_counts_add(struct ledger_counts *c, struct ledger_column column,
                              const uint32_t *slots, size_t n, uint32_t *highest)
{
    enum status s = STATUS_OK;
    size_t done;

    *highest = 0;
    for (done = 0; done < n; done++) {
        uint32_t slot = slots[done];
        struct ledger_chunk *chunk;

        CHECK(slot < c->records);
        chunk = ledger_counts_chunk(c, column, slot / LEDGER_CHUNK, true);
        if (chunk == NULL)
            s = STATUS_MEMORY;
        else if (c->total[slot] == UINT32_MAX)
            s = STATUS_LIMIT;
        if (s != STATUS_OK)
            break;
        chunk->count[slot % LEDGER_CHUNK]++;
        chunk->dirty = true;
        c->total[slot]++;
        if (c->total[slot] > *highest)
            *highest = c->total[slot];
    }
    c->releases[column.purpose] += done;
    c->column[column.mechanism][column.purpose] += done;
    if (s != STATUS_OK)
        subtract(c, column, slots, done);
    else if (*highest > c->participations_max)
        c->participations_max = *highest;
    return s;
}

void ledger_counts_subtract(struct ledger_counts *c, struct ledger_column column,
                            const uint32_t *slots, size_t n)
{
    subtract(c, column, slots, n);
    c->participations_max = 0;
    for (size_t i = 0; i < c->records; i++)
        if (c->total[i] > c->participations_max)
            c->participations_max = c->total[i];
}

void ledger_counts_clean(struct ledger_counts *c, struct ledger_column column)
{
    for (size_t i = 0; i < c->chunks; i++) {
        struct ledger_chunk *chunk = ledger_counts_chunk(c, column, i, false);

        if (chunk != NULL)
            chunk->dirty = false;
    }
}

void ledger_counts_sum(const struct ledger_counts *c, size_t mechanism, struct account_entry *e)
{
    e->releases = e->participations_max = e->trained_max = 0;
    for (size_t slot = 0; slot < c->records; slot++) {
        uint64_t of_record = 0;

        for (size_t p = 0; p < LEDGER_PURPOSES; p++) {
            struct ledger_chunk *const *array = c->chunk[mechanism][p];
            const struct ledger_chunk *chunk = array == NULL ? NULL : array[slot / LEDGER_CHUNK];
            const uint32_t n = chunk == NULL ? 0 : chunk->count[slot % LEDGER_CHUNK];

            of_record += n;
            if (p == LEDGER_TRAIN && n > e->trained_max)
                e->trained_max = n;
        }
        e->releases += of_record;
        if (of_record > e->participations_max)
            e->participations_max = of_record;
    }
}
