/* ledger_entry.c -- what an entry releases is worked out the same way when it is made and whenever
 * the ledger is opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_entry.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_BYTES = 4, ASKED_BYTES = 24 };

/* --- slots --- */

static enum status make_room(struct ledger *l, size_t n)
{
    uint32_t *more;

    if (n <= l->slots_max)
        return STATUS_OK;
    more = mem_alloc(n, sizeof *more);
    if (more == NULL)
        return STATUS_MEMORY;
    mem_free(l->slots);
    l->slots = more;
    l->slots_max = n;
    return STATUS_OK;
}

enum status ledger_entry_expand(struct ledger *l, const struct ledger_block *b,
                                const uint32_t **slots)
{
    const struct ledger_set *set;
    const uint32_t *slot_of;
    enum status s;

    *slots = b->slots;
    if (!b->scheduled)
        return STATUS_OK;
    set = ledger_sets_get(&l->sets, b->set);
    /* No step and no place has more rows than there are. */
    if (set == NULL || set->rows != b->stretch.law.rows || b->stretch.count > b->n ||
        b->n > b->stretch.count * set->rows)
        return STATUS_LIMIT;
    slot_of = ledger_sets_slots(&l->sets, set);
    s = slot_of == NULL ? STATUS_MEMORY : make_room(l, b->n);
    if (s == STATUS_OK)
        s = ledger_walk_rows(&l->walk, &b->stretch, l->slots, b->n);
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < b->n; i++)
        l->slots[i] = slot_of[l->slots[i]];
    *slots = l->slots;
    return STATUS_OK;
}

enum status ledger_entry_list(struct ledger *l, const uint8_t *runs, size_t bytes, size_t n,
                              const uint32_t **slots)
{
    const uint8_t *end = runs + bytes;
    size_t done = 0;
    enum status s;

    if (bytes % LEDGER_RUN_BYTES != 0)
        return STATUS_LIMIT;
    for (const uint8_t *at = runs; at < end;) { /* before there is memory for them */
        struct ledger_run r = ledger_sets_take(&at);

        if (r.n == 0 || r.n > n - done || (uint64_t)r.first + r.n > l->counts.records)
            return STATUS_LIMIT;
        done += r.n;
    }
    s = done == n ? make_room(l, n) : STATUS_LIMIT;
    if (s != STATUS_OK)
        return s;
    done = 0;
    for (const uint8_t *at = runs; at < end;) {
        struct ledger_run r = ledger_sets_take(&at);

        for (uint32_t i = 0; i < r.n; i++)
            l->slots[done++] = r.first + i;
    }
    *slots = l->slots;
    return STATUS_OK;
}

enum status ledger_entry_places(struct ledger *l, const uint8_t *at, size_t bytes,
                                struct ledger_block *b, const uint32_t **slots)
{
    enum status s;

    if (bytes != ASKED_BYTES + b->places * PLACE_BYTES)
        return STATUS_LIMIT;
    l->asked.unknown = le_take(&at, 8);
    l->asked.day = le_take(&at, 8);
    l->asked.rows = le_take(&at, 8);
    s = make_room(l, b->places);
    b->n = 0;
    for (size_t i = 0; i < b->places && s == STATUS_OK; i++) {
        const uint32_t slot = (uint32_t)le_take(&at, PLACE_BYTES);

        if (slot == UINT32_MAX)
            continue;
        if (slot >= l->counts.records || b->n < i) /* behind one that is not taken */
            s = STATUS_LIMIT;
        else
            l->slots[b->n++] = slot;
    }
    *slots = l->slots;
    return s;
}

/* --- writing --- */

enum status ledger_entry_add_law(struct ledger *l, const struct ledger_law *law)
{
    struct ledger_law *room = mem_room(l->law, &l->laws_max, l->laws + 1, sizeof *room);

    if (room == NULL)
        return STATUS_MEMORY;
    l->law = room;
    l->law[l->laws++] = *law;
    return STATUS_OK;
}

/* Number of a law, which is written when it is new. */
static enum status need_law(struct ledger *l, const struct ledger_law *law, size_t *number,
                            struct error *err)
{
    char text[LEDGER_LAW_MAX];

    for (*number = l->laws; *number > 0; --*number) {
        if (ledger_law_same(&l->law[*number - 1], law)) {
            --*number;
            return STATUS_OK;
        }
    }
    *number = l->laws;
    if (ledger_entry_add_law(l, law) != STATUS_OK)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    ledger_law_print(text, law);
    return ledger_write(l, NULL, 0, err, "law %zu %s", *number, text);
}

static enum status need_work(struct ledger *l, const struct ledger_block *b, uint32_t *number,
                             struct error *err)
{
    struct ledger_work w;
    const enum status s = digest_mac_of(&l->data, w.data, b->data, LEDGER_DIGEST_BYTES);

    if (s != STATUS_OK)
        return ledger_store_status(&l->store, s, err);
    memcpy(w.plan, b->plan, sizeof w.plan);
    *number = ledger_history_find(&l->history, &w);
    if (*number != UINT32_MAX)
        return STATUS_OK;
    *number = (uint32_t)l->history.works;
    if (ledger_history_add(&l->history, &w) != STATUS_OK)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    return ledger_write_work(l, *number, &w, err);
}

static uint64_t time_of(const struct ledger_block *b)
{
    return b->at_s > 0 ? (uint64_t)b->at_s : 0;
}

static enum status write_places(struct ledger *l, const struct ledger_block *b, const char *head,
                                struct error *err)
{
    const size_t bytes = ASKED_BYTES + b->places * PLACE_BYTES;
    uint8_t *room = mem_alloc(bytes, 1), *to = room;
    enum status s;

    if (room == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    to = le_put(to, b->asked->unknown, 8);
    to = le_put(to, b->asked->day, 8);
    to = le_put(to, b->asked->rows, 8);
    for (size_t i = 0; i < b->places; i++)
        to = le_put(to, i < b->n ? b->slots[i] : UINT32_MAX, PLACE_BYTES);
    s = ledger_write(l, room, bytes, err, "%s asked", head);
    mem_free(room);
    return s;
}

static enum status write_entry(struct ledger *l, const struct ledger_block *b, bool back,
                               const struct ledger_written *w, struct error *err)
{
    char head[192];
    uint8_t *runs;
    size_t law, bytes;
    enum status s;

    snprintf(head, sizeof head,
             "%s %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %s %zu %zu %" PRIu64,
             back ? "back" : "pay", w->number, b->rounds, time_of(b), w->work,
             ledger_purpose_name(b->purpose), l->current, b->asked != NULL ? b->places : b->n,
             b->scheduled ? b->stretch.place : b->place);
    if (b->scheduled) {
        s = need_law(l, &b->stretch.law, &law, err);
        return s != STATUS_OK ? s
                              : ledger_write(l, NULL, 0, err, "%s law %zu %" PRIu32 " %" PRIu64,
                                             head, law, b->set, b->stretch.count);
    }
    if (b->asked != NULL)
        return write_places(l, b, head, err);
    runs = ledger_sets_pack(b->slots, b->n, &bytes);
    if (runs == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    s = ledger_write(l, runs, bytes, err, "%s listed", head);
    mem_free(runs);
    return s;
}

enum status ledger_entry_write(struct ledger *l, const struct ledger_block *b, bool back,
                               struct ledger_written *w, struct error *err)
{
    const uint64_t numbers = back ? 1 : b->rounds;
    enum status s;

    CHECK(b->asked == NULL || (!back && !b->scheduled && b->n <= b->places));
    CHECK((b->rounds == 0) == (b->purpose == LEDGER_STATISTICS));
    CHECK(b->place <= INT64_MAX && b->stretch.place <= INT64_MAX);
    *w = (struct ledger_written){
        .number = l->history.number + numbers, .laws = l->laws, .works = l->history.works};
    if (numbers > LEDGER_NUMBER_MAX - l->history.number)
        return error_set(err, STATUS_BUDGET, "ledger %s: its numbers have run out", l->store.path);
    if (ledger_history_reserve(&l->history) != STATUS_OK)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    s = need_work(l, b, &w->work, err);
    return s == STATUS_OK ? write_entry(l, b, back, w, err) : s;
}

void ledger_entry_done(struct ledger *l, const struct ledger_block *b, bool back,
                       const struct ledger_written *w, bool committed)
{
    const int64_t sign = back ? -1 : 1;

    if (!committed) {
        l->laws = w->laws;
        l->history.works = w->works;
        return;
    }
    ledger_history_enter(&l->history, &(struct ledger_tally){.work = w->work,
                                                             .purpose = b->purpose,
                                                             .entries = 1,
                                                             .rounds = sign * (int64_t)b->rounds,
                                                             .releases = sign * (int64_t)b->n,
                                                             .first_s = time_of(b),
                                                             .last_s = time_of(b)});
    l->history.number = w->number;
    l->history.entries++;
    l->records += 2;
    if (b->asked != NULL)
        l->asked = *b->asked;
    /* When all is written anew must not hang on how many places were taken, either. */
    l->releases_since += b->asked != NULL ? b->places : b->n;
}
