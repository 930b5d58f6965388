/* ledger.c -- charge first, send later.
 *
 * Counts are changed in memory, judged against the limits, written with their entry and committed;
 * whatever fails takes the change in memory back.  So memory never holds a charge that the disk
 * does not, and an upload that waits for STATUS_OK has been paid for whatever happens next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_counts.h"
#include "common/privacy/ledger_history.h"
#include "common/privacy/ledger_inside.h"
#include "common/privacy/ledger_load.h"
#include "common/privacy/ledger_peers.h"
#include "common/privacy/ledger_store.h"

#include <inttypes.h>
#include <stdbool.h>

enum status ledger_open(struct ledger **out, const char *path, struct error *err)
{
    struct ledger *l = mem_alloc(1, sizeof *l);
    enum status s;

    *out = NULL;
    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", path);
    l->current = ACCOUNT_MECHANISMS_MAX;
    s = ledger_store_open(&l->store, path, err);
    if (s == STATUS_OK)
        s = ledger_load(&l->store, &l->counts, l->mechanism, &l->mechanisms, err);
    if (s == STATUS_OK)
        s = ledger_history_load(&l->store, &l->history, &l->counts, err);
    if (s == STATUS_OK)
        s = ledger_peers_load(&l->store, &l->peers, err);
    if (s != STATUS_OK) {
        ledger_close(l);
        return s;
    }
    *out = l;
    return STATUS_OK;
}

void ledger_close(struct ledger *l)
{
    if (l == NULL)
        return;
    ledger_store_close(&l->store);
    ledger_counts_deinit(&l->counts);
    ledger_peers_deinit(&l->peers);
    mem_free(l);
}

/* Only what its kind gives a meaning to, so that one mechanism is never stored as two. */
static struct account_entry canonical(const struct account_entry *m)
{
    struct account_entry c = {.kind = m->kind,
                              .bottom = m->bottom,
                              .clear = m->clear,
                              .concat = m->concat,
                              .coordinates = m->coordinates,
                              .parties = m->parties,
                              .colluders = m->colluders > 1 ? m->colluders : 1};

    CHECK(m->coordinates >= 1 && m->parties >= 1);
    if (m->bottom == ACCOUNT_DP) {
        CHECK(m->step_noise > 0 && m->steps >= 1);
        c.step_noise = m->step_noise;
        c.steps = m->steps;
    }
    switch (m->kind) {
    case ACCOUNT_PBM:
        CHECK(m->trials >= 1 && m->beta > 0 && m->beta < 0.5);
        c.trials = m->trials;
        c.beta = m->beta;
        break;
    case ACCOUNT_GAUSSIAN:
        CHECK(m->sigma > 0 && m->clip > 0);
        c.sigma = m->sigma;
        c.clip = m->clip;
        break;
    case ACCOUNT_NONE: break;
    }
    return c;
}

static bool same_mechanism(const struct account_entry *a, const struct account_entry *b)
{
    return a->kind == b->kind && a->trials == b->trials && a->beta == b->beta &&
           a->sigma == b->sigma && a->clip == b->clip && a->clear == b->clear &&
           a->concat == b->concat && a->coordinates == b->coordinates && a->parties == b->parties &&
           a->colluders == b->colluders && a->bottom == b->bottom &&
           a->step_noise == b->step_noise && a->steps == b->steps;
}

enum status ledger_use(struct ledger *l, const struct account_entry *mechanism, struct error *err)
{
    struct account_entry wanted = canonical(mechanism);
    enum status s;

    for (size_t i = 0; i < l->mechanisms; i++) {
        if (same_mechanism(&l->mechanism[i], &wanted)) {
            l->current = i;
            return STATUS_OK;
        }
    }
    if (l->mechanisms == ACCOUNT_MECHANISMS_MAX)
        return error_set(err, STATUS_BUDGET,
                         "ledger %s: it has accounts for %d mechanisms and takes no further one",
                         l->store.path, ACCOUNT_MECHANISMS_MAX);
    s = ledger_store_begin(&l->store, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_store_add_mechanism(&l->store, l->mechanisms, &wanted, err);
    if (s == STATUS_OK)
        s = ledger_store_commit(&l->store, err);
    else
        ledger_store_rollback(&l->store);
    if (s != STATUS_OK)
        return s;
    l->mechanism[l->mechanisms] = wanted;
    l->current = l->mechanisms++;
    return STATUS_OK;
}

/* Finds or adds every id; *records counts the slots in use, old and new. */
static enum status bind_ids(struct ledger *l, uint32_t *slots, const char *const *ids, size_t rows,
                            size_t *records, struct error *err)
{
    for (size_t i = 0; i < rows; i++) {
        enum status s = ledger_store_find(&l->store, ids[i], &slots[i], err);

        if (s != STATUS_OK)
            return s;
        if (slots[i] != UINT32_MAX)
            continue;
        CHECK(*records < UINT32_MAX - 1);
        slots[i] = (uint32_t)*records;
        s = ledger_store_add(&l->store, ids[i], slots[i], err);
        if (s != STATUS_OK)
            return s;
        (*records)++;
    }
    return STATUS_OK;
}

enum status ledger_bind(struct ledger *l, uint32_t **slots, const char *const *ids, size_t rows,
                        struct error *err)
{
    size_t records = l->counts.records;
    enum status s;

    *slots = mem_alloc(rows, sizeof **slots);
    if (*slots == NULL)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", l->store.path);
    s = ledger_store_begin(&l->store, err);
    if (s == STATUS_OK)
        s = bind_ids(l, *slots, ids, rows, &records, err);
    /* Memory first: a record on the disk that has no room here could not be charged. */
    if (s == STATUS_OK && ledger_counts_grow(&l->counts, records) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "ledger %s: out of memory", l->store.path);
    if (s == STATUS_OK)
        s = ledger_store_commit(&l->store, err);
    else
        ledger_store_rollback(&l->store);
    if (s != STATUS_OK) {
        mem_free(*slots);
        *slots = NULL;
        return s;
    }
    l->counts.records = records;
    return STATUS_OK;
}

static struct ledger_column column_of(const struct ledger *l, enum ledger_purpose purpose)
{
    CHECK(l->current < l->mechanisms && (int)purpose >= 0 && (int)purpose < LEDGER_PURPOSES);
    return (struct ledger_column){l->current, purpose};
}

static uint64_t releases_total(const struct ledger *l)
{
    uint64_t sum = 0;

    for (size_t p = 0; p < LEDGER_PURPOSES; p++)
        sum += l->counts.releases[p];
    return sum;
}

/* Writes the changed chunks of a column, the entry that changed them and what was seen of peers,
 * and commits. */
static enum status save(struct ledger *l, struct ledger_column column, const struct ledger_block *b,
                        bool give_back, struct error *err)
{
    struct ledger_history next;
    enum status s = ledger_history_fold(&l->store, &l->history, err);

    next = l->history;
    if (s == STATUS_OK)
        s = ledger_store_begin(&l->store, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_store_put(&l->store, &l->counts, column, err);
    if (s == STATUS_OK)
        s = ledger_history_enter(&l->store, &next, b, column.mechanism, give_back, err);
    if (s == STATUS_OK)
        s = ledger_peers_put(&l->store, &l->peers, err);
    if (s == STATUS_OK)
        s = ledger_store_commit(&l->store, err);
    else
        ledger_store_rollback(&l->store);
    if (s != STATUS_OK)
        return s;
    l->history = next;
    ledger_peers_clean(&l->peers);
    return STATUS_OK;
}

/* With the block already counted: is anything over its limit? */
static enum status judge(const struct ledger *l, uint64_t highest, uint64_t record_max,
                         uint64_t total_max, struct error *err)
{
    uint64_t total = releases_total(l);

    if (record_max != 0 && highest > record_max)
        return error_set(err, STATUS_BUDGET,
                         "policy.max_releases.record: a record would reach %" PRIu64
                         " releases, the limit is %" PRIu64,
                         highest, record_max);
    if (total_max != 0 && total > total_max)
        return error_set(err, STATUS_BUDGET,
                         "policy.max_releases.total: releases would reach %" PRIu64
                         ", the limit is %" PRIu64,
                         total, total_max);
    return STATUS_OK;
}

enum status ledger_reserve(struct ledger *l, const struct ledger_block *b, uint64_t record_max,
                           uint64_t total_max, struct error *err)
{
    struct ledger_column column = column_of(l, b->purpose);
    uint32_t highest;
    enum status s = ledger_counts_add(&l->counts, column, b->slots, b->n, &highest);

    if (s == STATUS_LIMIT)
        s = error_set(err, STATUS_BUDGET, "ledger %s: a record would pass 2^32 - 1 releases",
                      l->store.path);
    else if (s != STATUS_OK)
        error_set(err, s, "ledger %s: out of memory", l->store.path);
    if (s == STATUS_OK) {
        s = judge(l, highest, record_max, total_max, err);
        if (s == STATUS_OK)
            s = save(l, column, b, false, err);
        if (s != STATUS_OK)
            ledger_counts_subtract(&l->counts, column, b->slots, b->n);
    }
    ledger_counts_clean(&l->counts, column);
    return s;
}

enum status ledger_return(struct ledger *l, const struct ledger_block *b, struct error *err)
{
    struct ledger_column column = column_of(l, b->purpose);
    uint32_t highest;
    enum status s;

    ledger_counts_subtract(&l->counts, column, b->slots, b->n);
    s = save(l, column, b, true, err);
    if (s != STATUS_OK) {
        enum status again = ledger_counts_add(&l->counts, column, b->slots, b->n, &highest);

        CHECK(again == STATUS_OK); /* every chunk exists and every total was this high before */
    }
    ledger_counts_clean(&l->counts, column);
    return s;
}

/* --- numbers --- */

uint64_t ledger_sequence(const struct ledger *l)
{
    return l->history.number;
}

uint64_t ledger_seen(const struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES])
{
    return ledger_peers_seen(&l->peers, key);
}

enum status ledger_see(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES], uint64_t number,
                       struct error *err)
{
    if (ledger_peers_see(&l->peers, key, number) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", l->store.path);
    return STATUS_OK;
}

enum status ledger_keep(struct ledger *l, struct error *err)
{
    enum status s;

    if (!ledger_peers_dirty(&l->peers))
        return STATUS_OK;
    s = ledger_store_begin(&l->store, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_peers_put(&l->store, &l->peers, err);
    if (s == STATUS_OK)
        s = ledger_store_commit(&l->store, err);
    else
        ledger_store_rollback(&l->store);
    if (s == STATUS_OK)
        ledger_peers_clean(&l->peers);
    return s;
}

enum status ledger_forget(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES],
                          struct error *err)
{
    enum status s = ledger_store_begin(&l->store, err);

    if (s != STATUS_OK)
        return s;
    s = ledger_peers_delete(&l->store, key, err);
    if (s == STATUS_OK)
        s = ledger_store_commit(&l->store, err);
    else
        ledger_store_rollback(&l->store);
    if (s == STATUS_OK)
        ledger_peers_drop(&l->peers, key);
    return s;
}

/* --- what it amounts to --- */

void ledger_totals(const struct ledger *l, struct ledger_totals *out)
{
    for (size_t p = 0; p < LEDGER_PURPOSES; p++)
        out->releases[p] = l->counts.releases[p];
    out->participations_max = l->counts.participations_max;
    out->records = l->counts.records;
}

uint32_t ledger_spent(const struct ledger *l, uint32_t slot)
{
    CHECK(slot < l->counts.records);
    return l->counts.total[slot];
}

size_t ledger_entries(const struct ledger *l, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    size_t n = 0;

    for (size_t m = 0; m < l->mechanisms; m++) {
        out[n] = l->mechanism[m];
        ledger_counts_sum(&l->counts, m, &out[n]);
        if (out[n].releases > 0)
            n++;
    }
    return n;
}
