/* ledger_spare.c -- which records of a block have no more to spend.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_spare.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_inside.h"

#include <string.h>

static void count(const struct ledger *l, size_t mechanism, uint32_t slot, struct account_entry *e)
{
    e->participations_max = e->trained_max = 0;
    if (slot < l->counts.records) /* else it was never released */
        ledger_counts_record(&l->counts, mechanism, slot, e);
}

/* What one record has come to.  Of mechanisms that are summed up it has no more than the most of
 * any, nor than all that it has of them together. */
static size_t entries_of(const struct ledger *l, uint32_t slot, struct account_entry *out)
{
    struct account_entry past, now;
    size_t n = 0;

    count(l, LEDGER_PAST, slot, &past);
    for (size_t m = 0; m < l->mechanisms; m++) {
        struct account_entry *e = &out[n];

        *e = l->mechanism[m];
        e->releases += ledger_counts_released(&l->counts, m);
        if (e->releases == 0)
            continue;
        count(l, m, slot, &now);
        if (e->participations_max > past.participations_max)
            e->participations_max = past.participations_max;
        if (e->trained_max > past.trained_max)
            e->trained_max = past.trained_max;
        e->participations_max += now.participations_max;
        e->trained_max += now.trained_max;
        n++;
    }
    return n;
}

enum { ENTRIES_MAX = ACCOUNT_MECHANISMS_MAX + 1 };

/* Records that were judged in one call: who has no more than one that fits does, too. */
struct judged {
    const struct account_entry *planned; /* on top of what each has; NULL: nothing */
    struct account_entry entries[ENTRIES_MAX], fits[ENTRIES_MAX], over[ENTRIES_MAX];
    bool any_fits, any_over;
};

static bool no_more(const struct account_entry *a, const struct account_entry *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].participations_max > b[i].participations_max ||
            a[i].trained_max > b[i].trained_max)
            return false;
    return true;
}

static bool is_over(const struct ledger *l, struct judged *j, uint32_t slot,
                    const struct ledger_limits *limits)
{
    const uint64_t planned = j->planned != NULL ? j->planned->participations_max : 0;
    const uint64_t held = slot < l->counts.records ? l->counts.total[slot] : 0;
    size_t n;

    if (limits->record_max != 0 && held + planned > limits->record_max)
        return true;
    if (limits->judge_one == NULL)
        return false;
    n = entries_of(l, slot, j->entries);
    if (j->planned != NULL)
        j->entries[n++] = *j->planned;
    if (j->any_fits && no_more(j->entries, j->fits, n))
        return false;
    if (j->any_over && no_more(j->over, j->entries, n))
        return true;
    if (limits->judge_one(limits->owner, j->entries, n)) {
        memcpy(j->fits, j->entries, n * sizeof *j->fits);
        j->any_fits = true;
        return false;
    }
    memcpy(j->over, j->entries, n * sizeof *j->over);
    j->any_over = true;
    return true;
}

/* One release of `from` is one of `to`, or nothing is changed. */
static enum status move_one(struct ledger *l, struct ledger_column column, uint32_t from,
                            uint32_t to)
{
    uint32_t highest;
    const enum status s = ledger_counts_add(&l->counts, column, &to, 1, &highest);

    if (s == STATUS_OK)
        CHECK(ledger_counts_subtract(&l->counts, column, &from, 1));
    return s;
}

/* All of the block is nobody's at first, so that releases are as many whoever is looked at. */
enum status ledger_spare(struct ledger *l, uint8_t *spared, uint32_t *slots,
                         const struct ledger_block *b, const struct ledger_limits *limits,
                         struct error *err)
{
    const uint32_t nobody = (uint32_t)(l->counts.nobody - 1);
    const struct ledger_column column = {l->current, b->purpose};
    struct judged *judged = mem_alloc(1, sizeof *judged);
    enum status s = judged != NULL ? STATUS_OK : STATUS_MEMORY;
    size_t held = 0, moved = 0;
    uint32_t highest;

    CHECK(l->counts.nobody > 0);
    while (s == STATUS_OK && held < b->n) {
        s = ledger_counts_add(&l->counts, column, &nobody, 1, &highest);
        held += s == STATUS_OK;
    }
    for (; moved < b->n && s == STATUS_OK; moved++) {
        s = move_one(l, column, nobody, slots[moved]);
        spared[moved] = s == STATUS_LIMIT;
        if (s == STATUS_OK && is_over(l, judged, slots[moved], limits)) {
            s = move_one(l, column, slots[moved], nobody);
            CHECK(s == STATUS_OK); /* where it was */
            spared[moved] = 1;
        }
        if (spared[moved])
            slots[moved] = nobody;
        s = s == STATUS_LIMIT ? STATUS_OK : s;
    }
    moved -= s != STATUS_OK && moved > 0;
    CHECK(ledger_counts_subtract(&l->counts, column, slots, moved));
    for (; held > moved; held--)
        CHECK(ledger_counts_subtract(&l->counts, column, &nobody, 1));
    mem_free(judged);
    return s == STATUS_OK ? s : ledger_store_status(&l->store, s, err);
}

enum status ledger_spare_planned(const struct ledger *l, uint8_t *spared, const uint32_t *slots,
                                 size_t n, const struct account_entry *planned,
                                 const struct ledger_limits *limits)
{
    struct judged *judged = mem_alloc(1, sizeof *judged);

    if (judged == NULL)
        return STATUS_MEMORY;
    judged->planned = planned;
    for (size_t i = 0; i < n; i++)
        spared[i] = is_over(l, judged, slots[i], limits);
    mem_free(judged);
    return STATUS_OK;
}
