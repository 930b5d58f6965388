/* ledger_bind.c -- which records the rows of a table are: by id, or by the person whose they are.
 *
 * Found in memory first, then written; what could not be is cut off again, and so is what was only
 * counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_bind.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_inside.h"
#include "common/privacy/ledger_records.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* What ledger_bind is about to know. */
struct binding {
    const struct ledger_rows *rows;
    uint32_t *slots;
    uint8_t *change; /* rows that count as another one's, new or not, as in the file */
    size_t changes;
    size_t ids, members; /* known before */
};

static bool was_released(const struct ledger *l, uint32_t slot)
{
    return slot < l->counts.records && l->counts.total[slot] > 0;
}

/* Row i, whose id has this digest, is of a person.  STATUS_POLICY: it was released as another one's
 * or as its own.  STATUS_DATA: it is bound as another one's. */
static enum status find_person(struct ledger *l, struct binding *b, size_t i,
                               const uint8_t row[LEDGER_ID_BYTES], const uint8_t **named,
                               uint8_t person[LEDGER_ID_BYTES])
{
    const uint32_t own = ledger_ids_find(&l->ids, row), was = ledger_members_find(&l->members, row);
    enum status s = ledger_ids_digest(&l->persons, b->rows->persons[i], person);
    uint32_t slot;

    if (s != STATUS_OK)
        return s;
    *named = person;
    slot = ledger_ids_find(&l->ids, person);
    if (was_released(l, own) || (was != slot && was_released(l, was)))
        return STATUS_POLICY;
    if (was != slot && ledger_members_held(&l->members, row))
        return STATUS_DATA;
    if (slot == UINT32_MAX)
        slot = (uint32_t)l->ids.n;
    if (was != slot) {
        uint8_t *to = b->change + b->changes++ * LEDGER_MEMBER_BYTES;

        memcpy(to, row, LEDGER_ID_BYTES);
        le_put(to + LEDGER_ID_BYTES, slot, 4);
        if (was == UINT32_MAX)
            s = ledger_members_put(&l->members, row, slot);
    }
    if (s == STATUS_OK)
        ledger_members_hold(&l->members, row);
    return s;
}

static enum status find_slot(struct ledger *l, struct binding *b, size_t i)
{
    uint8_t row[LEDGER_ID_BYTES], person[LEDGER_ID_BYTES];
    const uint8_t *named = row;
    enum status s = ledger_ids_digest(&l->ids.mac, b->rows->ids[i], row);

    if (s == STATUS_OK && b->rows->persons != NULL)
        s = find_person(l, b, i, row, &named, person);
    else if (s == STATUS_OK && was_released(l, ledger_members_find(&l->members, row)))
        s = STATUS_POLICY;
    if (s != STATUS_OK)
        return s;
    b->slots[i] = ledger_ids_find(&l->ids, named);
    if (b->slots[i] != UINT32_MAX)
        return STATUS_OK;
    b->slots[i] = (uint32_t)l->ids.n;
    return ledger_ids_add(&l->ids, named);
}

static enum status find_slots(struct ledger *l, struct binding *b, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < b->rows->n && s == STATUS_OK; i++) {
        s = find_slot(l, b, i);
        if (s == STATUS_POLICY)
            return error_set(err, s,
                             "ledger %s: data.group: a row that it has released (number %zu by id) "
                             "counted as another record or person then, and would begin from "
                             "nothing",
                             l->store.path, i + 1);
        if (s == STATUS_DATA)
            return error_set(err, s,
                             "ledger %s: data.group: row %zu by id is another person's in a table "
                             "that was bound before",
                             l->store.path, i + 1);
    }
    return s == STATUS_OK ? s : ledger_store_status(&l->store, s, err);
}

/* Writes ids and members that are new, and the set of these runs unless there is one; says whether
 * it was added. */
static enum status write_set(struct ledger *l, const struct binding *b, const uint8_t *runs,
                             size_t bytes, bool *added, struct error *err)
{
    const uint32_t number = l->sets.next;
    enum status s;

    *added = false;
    if (ledger_sets_find(&l->sets, runs, bytes) == NULL) {
        s = ledger_sets_add(&l->sets, number, runs, bytes, l->ids.n);
        if (s != STATUS_OK)
            return ledger_store_status(&l->store, s, err);
        *added = true;
    }
    if (!*added && b->ids == l->ids.n && b->changes == 0)
        return STATUS_OK;
    s = ledger_store_begin(&l->store, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_write_ids(l, b->ids, err);
    if (s == STATUS_OK)
        s = ledger_write_members(l, b->change, b->changes, err);
    if (s == STATUS_OK && *added)
        s = ledger_write(l, runs, bytes, err, "set %" PRIu32, number);
    return ledger_store_end(&l->store, s, l->history.number, err);
}

/* What is known by now takes no memory. */
static void take_changes(struct ledger *l, const struct binding *b)
{
    for (size_t i = 0; i < b->changes; i++) {
        const uint8_t *row = b->change + i * LEDGER_MEMBER_BYTES, *at = row + LEDGER_ID_BYTES;
        const enum status s = ledger_members_put(&l->members, row, (uint32_t)le_take(&at, 4));

        CHECK(s == STATUS_OK);
    }
}

static enum status bind_slots(struct ledger *l, const struct binding *b, uint32_t *set,
                              struct error *err)
{
    size_t bytes;
    uint8_t *runs = ledger_sets_pack(b->slots, b->rows->n, &bytes);
    struct ledger_set *bound;
    bool added = false;
    enum status s;

    /* Memory first: a record on the disk that has no room here could not be charged. */
    if (runs == NULL || ledger_counts_grow(&l->counts, l->ids.n) != STATUS_OK)
        s = ledger_store_status(&l->store, STATUS_MEMORY, err);
    else
        s = write_set(l, b, runs, bytes, &added, err);
    if (s == STATUS_OK) {
        bound = ledger_sets_find(&l->sets, runs, bytes);
        bound->bound = true;
        ledger_count_ids(l);
        l->records += 2;
        take_changes(l, b);
        if (set != NULL)
            *set = bound->number;
    } else if (added) {
        ledger_sets_drop_last(&l->sets);
    }
    mem_free(runs);
    return s;
}

/* Room for what is found, and the finding. */
static enum status begin_binding(struct ledger *l, struct binding *b, struct error *err)
{
    const size_t n = b->rows->n;

    CHECK(n > 0 && n < LEDGER_SLOTS_MAX);
    b->slots = mem_alloc(n, sizeof *b->slots);
    b->change = mem_alloc(b->rows->persons != NULL ? n : 1, LEDGER_MEMBER_BYTES);
    if (b->slots == NULL || b->change == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    return find_slots(l, b, err);
}

static void forget(struct ledger *l, size_t ids, size_t members)
{
    ledger_members_cut(&l->members, members);
    ledger_ids_cut(&l->ids, ids);
}

enum status ledger_bind_persons(struct ledger *l, uint32_t **slots, uint32_t *set,
                                const struct ledger_rows *rows, struct error *err)
{
    struct binding b = {.rows = rows, .ids = l->ids.n, .members = l->members.row.n};
    enum status s;

    l->members.turn++;
    s = begin_binding(l, &b, err);
    if (s == STATUS_OK)
        s = bind_slots(l, &b, set, err);
    mem_free(b.change);
    if (s != STATUS_OK) {
        forget(l, b.ids, b.members);
        mem_free(b.slots);
        b.slots = NULL;
    }
    *slots = b.slots;
    return s;
}

enum status ledger_records_with(struct ledger *l, const struct ledger_rows *tables, size_t n,
                                uint64_t *records, struct error *err)
{
    const size_t ids = l->ids.n, members = l->members.row.n;
    enum status s = STATUS_OK;

    l->members.turn++;
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        struct binding b = {.rows = &tables[i], .ids = ids, .members = members};

        if (tables[i].n == 0)
            continue;
        s = begin_binding(l, &b, err);
        mem_free(b.change);
        mem_free(b.slots);
    }
    *records = l->ids.n - (l->counts.nobody > 0);
    forget(l, ids, members);
    return s;
}

enum status ledger_bind(struct ledger *l, uint32_t **slots, uint32_t *set, const char *const *ids,
                        size_t rows, struct error *err)
{
    return ledger_bind_persons(l, slots, set, &(struct ledger_rows){.ids = ids, .n = rows}, err);
}

enum status ledger_slots(struct ledger *l, uint32_t *slots, const char *const *ids, size_t rows)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < rows && s == STATUS_OK; i++) {
        uint8_t row[LEDGER_ID_BYTES];

        s = ledger_ids_digest(&l->ids.mac, ids[i], row);
        slots[i] = s == STATUS_OK ? ledger_ids_find(&l->ids, row) : UINT32_MAX;
    }
    return s;
}

uint32_t ledger_bindings(const struct ledger *l)
{
    return l->members.turn;
}

void ledger_let_go(struct ledger *l, uint32_t bindings)
{
    ledger_members_let_go(&l->members, bindings);
}
