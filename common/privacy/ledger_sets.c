/* ledger_sets.c -- runs of slots, packed and unpacked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_sets.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"

#include <string.h>

static void free_set(struct ledger_set *set)
{
    mem_free(set->runs);
    *set = (struct ledger_set){0};
}

void ledger_sets_deinit(struct ledger_sets *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        free_set(&sets->set[i]);
    mem_free(sets->set);
    mem_free(sets->slot);
    *sets = (struct ledger_sets){0};
}

/* How many rows from `at` on follow each other. */
static size_t run_at(const uint32_t *slots, size_t rows, size_t at)
{
    size_t n = 1;

    while (at + n < rows && slots[at + n] == slots[at] + n)
        n++;
    return n;
}

uint8_t *ledger_sets_pack(const uint32_t *slots, size_t rows, size_t *bytes)
{
    uint8_t *packed, *to;
    size_t runs = 0;

    for (size_t at = 0; at < rows; at += run_at(slots, rows, at))
        runs++;
    *bytes = runs * LEDGER_RUN_BYTES;
    to = packed = mem_alloc(runs + 1, LEDGER_RUN_BYTES);
    for (size_t at = 0; packed != NULL && at < rows;) {
        size_t n = run_at(slots, rows, at);

        to = le_put(to, slots[at], 4);
        to = le_put(to, n, 4);
        at += n;
    }
    return packed;
}

struct ledger_run ledger_sets_take(const uint8_t **from)
{
    struct ledger_run r = {.first = (uint32_t)le_take(from, 4)};

    r.n = (uint32_t)le_take(from, 4);
    return r;
}

struct ledger_set *ledger_sets_find(const struct ledger_sets *sets, const uint8_t *runs,
                                    size_t bytes)
{
    for (size_t i = 0; i < sets->n; i++) {
        if (sets->set[i].bytes == bytes && memcmp(sets->set[i].runs, runs, bytes) == 0)
            return &sets->set[i];
    }
    return NULL;
}

struct ledger_set *ledger_sets_get(const struct ledger_sets *sets, uint32_t number)
{
    for (size_t i = sets->n; i > 0; i--) {
        if (sets->set[i - 1].number == number)
            return &sets->set[i - 1];
    }
    return NULL;
}

/* Rows of runs, or 0 when they are not good. */
static uint64_t rows_of(const uint8_t *runs, size_t bytes, size_t records)
{
    const uint8_t *at = runs, *end = runs + bytes;
    uint64_t rows = 0, before = UINT64_MAX;

    while (at < end) {
        struct ledger_run r = ledger_sets_take(&at);

        if (r.n == 0 || r.first == before || (uint64_t)r.first + r.n > records)
            return 0;
        before = (uint64_t)r.first + r.n;
        rows += r.n;
        if (rows > UINT32_MAX)
            return 0;
    }
    return rows;
}

enum status ledger_sets_add(struct ledger_sets *sets, uint32_t number, const uint8_t *runs,
                            size_t bytes, size_t records)
{
    struct ledger_set set = {.number = number, .bytes = bytes}, *room;
    uint64_t rows = bytes % LEDGER_RUN_BYTES != 0 ? 0 : rows_of(runs, bytes, records);

    if (rows == 0 || number == UINT32_MAX || number < sets->next)
        return STATUS_LIMIT;
    room = mem_room(sets->set, &sets->max, sets->n + 1, sizeof *room);
    if (room == NULL)
        return STATUS_MEMORY;
    sets->set = room;
    set.rows = (uint32_t)rows;
    set.runs = mem_alloc(bytes, 1);
    if (set.runs == NULL)
        return STATUS_MEMORY;
    memcpy(set.runs, runs, bytes);
    sets->set[sets->n++] = set;
    sets->next = number + 1;
    return STATUS_OK;
}

void ledger_sets_drop_last(struct ledger_sets *sets)
{
    CHECK(sets->n > 0);
    sets->next = sets->set[--sets->n].number;
    if (sets->open == sets->next + 1)
        sets->open = 0;
    free_set(&sets->set[sets->n]);
}

void ledger_sets_drop_others(struct ledger_sets *sets)
{
    size_t kept = 0;

    for (size_t i = 0; i < sets->n; i++) {
        if (sets->set[i].bound)
            sets->set[kept++] = sets->set[i];
        else
            free_set(&sets->set[i]);
    }
    sets->n = kept;
}

const uint32_t *ledger_sets_slots(struct ledger_sets *sets, const struct ledger_set *set)
{
    const uint8_t *at = set->runs, *end = set->runs + set->bytes;
    uint32_t *to;

    if (sets->open == set->number + 1)
        return sets->slot;
    if (set->rows > sets->slots_max) {
        uint32_t *grown = mem_alloc(set->rows, sizeof *grown);

        if (grown == NULL)
            return NULL;
        mem_free(sets->slot);
        sets->slot = grown;
        sets->slots_max = set->rows;
    }
    for (to = sets->slot; at < end;) {
        struct ledger_run r = ledger_sets_take(&at);

        for (uint32_t i = 0; i < r.n; i++)
            *to++ = r.first + i;
    }
    sets->open = set->number + 1;
    return sets->slot;
}
