/* ledger_counts.c -- chunked counters with all-or-nothing changes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_counts.h"

#include "common/base/check.h"
#include "common/base/mem.h"

void ledger_counts_deinit(struct ledger_counts *c)
{
    for (size_t m = 0; m < LEDGER_COLUMNS; m++) {
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
    for (size_t m = 0; m < LEDGER_COLUMNS; m++) {
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

/* The chunk of a slot, made when `make` and it does not exist; NULL when there is none. */
static struct ledger_chunk *chunk_of(struct ledger_counts *c, struct ledger_column column,
                                     uint32_t slot, bool make)
{
    struct ledger_chunk ***array = &c->chunk[column.mechanism][column.purpose];
    const size_t index = slot / LEDGER_CHUNK;

    CHECK(slot < c->records);
    if (*array == NULL && make)
        *array = mem_alloc(c->chunks, sizeof **array);
    if (*array == NULL)
        return NULL;
    if ((*array)[index] == NULL && make)
        (*array)[index] = mem_alloc(1, sizeof *(*array)[index]);
    return (*array)[index];
}

uint32_t ledger_counts_of(const struct ledger_counts *c, struct ledger_column column, uint32_t slot)
{
    struct ledger_chunk *const *array = c->chunk[column.mechanism][column.purpose];
    const struct ledger_chunk *chunk = array == NULL ? NULL : array[slot / LEDGER_CHUNK];

    return chunk == NULL ? 0 : chunk->count[slot % LEDGER_CHUNK];
}

enum status ledger_counts_load(struct ledger_counts *c, struct ledger_column column, uint32_t slot,
                               uint64_t more)
{
    struct ledger_chunk *chunk = chunk_of(c, column, slot, true);

    if (chunk == NULL)
        return STATUS_MEMORY;
    if (more > UINT32_MAX - c->total[slot] && !ledger_counts_is_nobody(c, slot))
        return STATUS_LIMIT;
    chunk->count[slot % LEDGER_CHUNK] += (uint32_t)more;
    c->total[slot] += (uint32_t)more;
    c->releases[column.purpose] += more;
    c->column[column.mechanism][column.purpose] += more;
    return STATUS_OK;
}

/* Takes back the first n of a change. */
static void take_back(struct ledger_counts *c, struct ledger_column column, const uint32_t *slots,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        chunk_of(c, column, slots[i], false)->count[slots[i] % LEDGER_CHUNK]--;
        c->total[slots[i]]--;
    }
    c->releases[column.purpose] -= n;
    c->column[column.mechanism][column.purpose] -= n;
}

enum status ledger_counts_add(struct ledger_counts *c, struct ledger_column column,
                              const uint32_t *slots, size_t n, uint32_t *highest)
{
    enum status s = STATUS_OK;
    size_t done = 0;

    *highest = 0;
    for (; done < n; done++) {
        const uint32_t slot = slots[done];

        s = ledger_counts_load(c, column, slot, 1);
        if (s != STATUS_OK)
            break;
        if (c->total[slot] > *highest)
            *highest = c->total[slot];
    }
    if (s != STATUS_OK)
        take_back(c, column, slots, done);
    return s;
}

bool ledger_counts_subtract(struct ledger_counts *c, struct ledger_column column,
                            const uint32_t *slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ledger_chunk *chunk = chunk_of(c, column, slots[i], false);

        if (chunk == NULL ||
            (chunk->count[slots[i] % LEDGER_CHUNK] == 0 && !ledger_counts_is_nobody(c, slots[i]))) {
            while (i-- > 0) {
                chunk = chunk_of(c, column, slots[i], false);
                chunk->count[slots[i] % LEDGER_CHUNK]++;
                c->total[slots[i]]++;
            }
            return false;
        }
        chunk->count[slots[i] % LEDGER_CHUNK]--;
        c->total[slots[i]]--;
    }
    c->releases[column.purpose] -= n;
    c->column[column.mechanism][column.purpose] -= n;
    return true;
}

uint32_t ledger_counts_most(const struct ledger_counts *c)
{
    uint32_t most = 0;

    for (size_t i = 0; i < c->records; i++)
        if (!ledger_counts_is_nobody(c, i) && c->total[i] > most)
            most = c->total[i];
    return most;
}

uint64_t ledger_counts_nobodys(const struct ledger_counts *c, struct ledger_column column)
{
    uint64_t left = c->column[column.mechanism][column.purpose];

    for (size_t i = 0; i < c->records && c->nobody > 0; i++)
        left -= ledger_counts_is_nobody(c, i) ? 0 : ledger_counts_of(c, column, (uint32_t)i);
    return c->nobody > 0 ? left : 0;
}

uint64_t ledger_counts_released(const struct ledger_counts *c, size_t mechanism)
{
    uint64_t sum = 0;

    for (size_t p = 0; p < LEDGER_PURPOSES; p++)
        sum += c->column[mechanism][p];
    return sum;
}

/* Adds an array of chunks to another one, and frees it. */
static struct ledger_chunk **merge_chunks(struct ledger_chunk **to, struct ledger_chunk **from,
                                          size_t chunks)
{
    if (to == NULL || from == NULL)
        return to == NULL ? from : to;
    for (size_t i = 0; i < chunks; i++) {
        if (to[i] == NULL) {
            to[i] = from[i];
            continue;
        }
        for (size_t at = 0; from[i] != NULL && at < LEDGER_CHUNK; at++)
            to[i]->count[at] += from[i]->count[at]; /* no more than the slot's total */
        mem_free(from[i]);
    }
    mem_free(from);
    return to;
}

void ledger_counts_sum_up(struct ledger_counts *c, size_t mechanism)
{
    CHECK(mechanism < LEDGER_PAST);
    for (size_t p = 0; p < LEDGER_PURPOSES; p++) {
        struct ledger_chunk ***past = &c->chunk[LEDGER_PAST][p];

        *past = merge_chunks(*past, c->chunk[mechanism][p], c->chunks);
        c->chunk[mechanism][p] = NULL;
        c->column[LEDGER_PAST][p] += c->column[mechanism][p];
        c->column[mechanism][p] = 0;
    }
}

void ledger_counts_record(const struct ledger_counts *c, size_t mechanism, uint32_t slot,
                          struct account_entry *e)
{
    e->participations_max = e->trained_max = 0;
    for (int p = 0; p < LEDGER_PURPOSES; p++) {
        const uint32_t n =
            ledger_counts_of(c, (struct ledger_column){mechanism, (enum ledger_purpose)p}, slot);

        e->participations_max += n;
        if (p == LEDGER_TRAIN)
            e->trained_max = n;
    }
}

void ledger_counts_sum(const struct ledger_counts *c, size_t mechanism, struct account_entry *e)
{
    struct account_entry one;

    e->participations_max = e->trained_max = 0;
    e->releases = ledger_counts_released(c, mechanism);
    for (uint32_t slot = 0; slot < c->records && e->releases > 0; slot++) {
        if (ledger_counts_is_nobody(c, slot))
            continue;
        ledger_counts_record(c, mechanism, slot, &one);
        if (one.participations_max > e->participations_max)
            e->participations_max = one.participations_max;
        if (one.trained_max > e->trained_max)
            e->trained_max = one.trained_max;
    }
}
