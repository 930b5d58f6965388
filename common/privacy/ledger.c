/* ledger.c -- charge first, send later.
 *
 * Counts are changed in memory, judged against the limits, written as an entry and committed;
 * whatever fails takes the change in memory back.  So memory never holds a charge that the disk
 * does not, and an upload that waits for STATUS_OK has been paid for whatever happens next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/privacy/ledger_entry.h"
#include "common/privacy/ledger_file.h"
#include "common/privacy/ledger_inside.h"
#include "common/privacy/ledger_past.h"
#include "common/privacy/ledger_records.h"
#include "common/privacy/ledger_replay.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

const char *ledger_purpose_name(enum ledger_purpose purpose)
{
    static const char *const names[] = {
        [LEDGER_TRAIN] = "train",     [LEDGER_EVALUATE] = "evaluate",
        [LEDGER_PREDICT] = "predict", [LEDGER_CONTRIBUTE] = "contribute",
        [LEDGER_ALIGN] = "align",     [LEDGER_STATISTICS] = "statistics",
    };

    return names[purpose];
}

static enum status no_memory(const struct ledger *l, struct error *err)
{
    return ledger_store_status(&l->store, STATUS_MEMORY, err);
}

/* --- opening --- */

/* The first record of a new ledger. */
static enum status begin_log(struct ledger *l, const uint8_t key[LEDGER_KEY_BYTES],
                             struct error *err)
{
    struct rng rng;
    enum status s = rng_init_system(&rng);

    if (s != STATUS_OK)
        return ledger_store_status(&l->store, s, err);
    rng_fill(&rng, l->salt, sizeof l->salt);
    rng_deinit(&rng);
    s = ledger_key_digests(l, key, err);
    if (s == STATUS_OK)
        s = ledger_write_begin(l, &l->history, err);
    if (s == STATUS_OK)
        s = ledger_store_seal(&l->store, 0, err);
    l->records = 1;
    return s;
}

enum status ledger_open(struct ledger **out, const char *path, const uint8_t key[LEDGER_KEY_BYTES],
                        struct error *err)
{
    struct ledger *l = mem_alloc(1, sizeof *l);
    enum status s;

    *out = NULL;
    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", path);
    l->current = ACCOUNT_MECHANISMS_MAX;
    s = ledger_store_open(&l->store, path, key, err);
    if (s == STATUS_OK && ledger_history_init(&l->history) != STATUS_OK)
        s = no_memory(l, err);
    if (s == STATUS_OK)
        s = l->store.fresh ? begin_log(l, key, err) : ledger_replay(l, key, err);
    if (s == STATUS_OK && strcmp(path, ":memory:") != 0)
        s = ledger_file_mark(path, err);
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
    ledger_history_deinit(&l->history);
    ledger_peers_deinit(&l->peers);
    mem_free(l->alignments.one);
    ledger_ids_deinit(&l->ids);
    ledger_members_deinit(&l->members);
    digest_mac_deinit(&l->persons);
    digest_mac_deinit(&l->data);
    ledger_sets_deinit(&l->sets);
    ledger_walk_deinit(&l->walk);
    mem_free(l->law);
    mem_free(l->slots);
    mem_free(l);
}

/* --- mechanisms --- */

static enum status add_mechanism(struct ledger *l, const char *text, struct error *err)
{
    const size_t n = l->mechanisms;
    enum status s;

    if (n == ACCOUNT_MECHANISMS_MAX)
        return error_set(err, STATUS_BUDGET,
                         "ledger %s: it has accounts for %d mechanisms and takes no further one",
                         l->store.path, ACCOUNT_MECHANISMS_MAX);
    CHECK(ledger_mechanism_read(&l->mechanism[n], text));
    s = ledger_store_begin(&l->store, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_store_end(&l->store, ledger_write(l, NULL, 0, err, "mechanism %zu %s", n, text),
                         l->history.number, err);
    if (s != STATUS_OK)
        return s;
    strcpy(l->mechanism_text[n], text);
    l->current = l->mechanisms++;
    l->records++;
    return STATUS_OK;
}

enum status ledger_use(struct ledger *l, const struct account_entry *mechanism, struct error *err)
{
    char text[LEDGER_MECHANISM_MAX];
    enum status s;

    /* Mostly the one before, to the last byte. */
    if (l->current < l->mechanisms && memcmp(&l->wanted, mechanism, sizeof l->wanted) == 0)
        return STATUS_OK;
    ledger_mechanism_print(text, mechanism);
    l->wanted = *mechanism;
    for (size_t i = 0; i < l->mechanisms; i++) {
        if (strcmp(l->mechanism_text[i], text) == 0) {
            l->current = i;
            return STATUS_OK;
        }
    }
    s = add_mechanism(l, text, err);
    if (s != STATUS_OK) /* the one in use stays */
        l->wanted = (struct account_entry){0};
    return s;
}

/* --- charging --- */

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

/* Writes an entry and what was seen of peers, and commits. */
static enum status save_entry(struct ledger *l, const struct ledger_block *b, bool back,
                              struct error *err)
{
    struct ledger_written w;
    enum status s = ledger_store_begin(&l->store, err);

    if (s != STATUS_OK)
        return s;
    s = ledger_entry_write(l, b, back, &w, err);
    if (s == STATUS_OK)
        s = ledger_write_peers(l, false, err);
    s = ledger_store_end(&l->store, s, w.number, err);
    ledger_entry_done(l, b, back, &w, s == STATUS_OK);
    if (s == STATUS_OK)
        ledger_peers_clean(&l->peers);
    return s;
}

/* With the block already counted: is anything over its limit? */
static enum status check_limits(const struct ledger *l, uint64_t highest,
                                const struct ledger_limits *limits, struct error *err)
{
    uint64_t total = releases_total(l);

    if (limits->record_max != 0 && highest > limits->record_max)
        return error_set(err, STATUS_BUDGET,
                         "policy.max_releases.record: a record would reach %" PRIu64
                         " releases, the limit is %" PRIu64,
                         highest, limits->record_max);
    if (limits->total_max != 0 && total > limits->total_max)
        return error_set(err, STATUS_BUDGET,
                         "policy.max_releases.total: releases would reach %" PRIu64
                         ", the limit is %" PRIu64,
                         total, limits->total_max);
    return limits->judge == NULL ? STATUS_OK : limits->judge(limits->owner, err);
}

/* Writes everything anew when that is due, while memory and the file say the same; then what the
 * block releases.  One that is no stretch of its data set is a programmer's mistake. */
static enum status expand_block(struct ledger *l, const struct ledger_block *b,
                                const uint32_t **slots, struct error *err)
{
    enum status s;

    if (b->n > LEDGER_BLOCK_MAX || b->places > LEDGER_BLOCK_MAX)
        return error_set(err, STATUS_BUDGET, "ledger %s: %zu releases at once are too many",
                         l->store.path, b->n);
    s = ledger_fold(l, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_entry_expand(l, b, slots);
    CHECK(s != STATUS_LIMIT);
    return s == STATUS_OK ? s : ledger_store_status(&l->store, s, err);
}

enum status ledger_reserve(struct ledger *l, const struct ledger_block *b,
                           const struct ledger_limits *limits, struct error *err)
{
    struct ledger_column column = column_of(l, b->purpose);
    const uint32_t *slots = NULL;
    uint32_t highest;
    enum status s = expand_block(l, b, &slots, err);

    if (s != STATUS_OK)
        return s;
    s = ledger_counts_add(&l->counts, column, slots, b->n, &highest);
    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_BUDGET, "ledger %s: a record would pass 2^32 - 1 releases",
                         l->store.path);
    if (s != STATUS_OK)
        return no_memory(l, err);
    if (limits != NULL)
        s = check_limits(l, highest, limits, err);
    if (s == STATUS_OK)
        s = save_entry(l, b, false, err);
    if (s != STATUS_OK)
        CHECK(ledger_counts_subtract(&l->counts, column, slots, b->n));
    else
        ledger_past_settle(l, l->current);
    return s;
}

enum status ledger_return(struct ledger *l, const struct ledger_block *b, struct error *err)
{
    struct ledger_column column = column_of(l, b->purpose);
    const uint32_t *slots = NULL;
    uint32_t highest;
    enum status s = expand_block(l, b, &slots, err);

    if (s != STATUS_OK)
        return s;
    if (!ledger_counts_subtract(&l->counts, column, slots, b->n)) {
        CHECK(l->mechanism[l->current].releases > 0); /* summed up meanwhile: they stay charged */
        return STATUS_OK;
    }
    s = save_entry(l, b, true, err);
    if (s != STATUS_OK) {
        enum status again = ledger_counts_add(&l->counts, column, slots, b->n, &highest);

        CHECK(again == STATUS_OK); /* every chunk exists and every total was this high before */
    }
    return s;
}

enum status ledger_is_paid(struct ledger *l, const struct ledger_block *b, bool *paid,
                           struct error *err)
{
    struct ledger_work w;
    const enum status s = digest_mac_of(&l->data, w.data, b->data, sizeof w.data);
    uint32_t work;

    *paid = false;
    if (s != STATUS_OK)
        return ledger_store_status(&l->store, s, err);
    memcpy(w.plan, b->plan, sizeof w.plan);
    work = ledger_history_find(&l->history, &w);
    for (size_t i = 0; work != UINT32_MAX && i < l->history.tallies; i++)
        *paid |= l->history.tally[i].work == work && l->history.tally[i].purpose == b->purpose;
    return STATUS_OK;
}

/* --- numbers --- */

uint64_t ledger_sequence(const struct ledger *l)
{
    return l->history.number;
}

/* Between two entries: writes everything anew when that is due, then begins a transaction. */
static enum status begin_transaction(struct ledger *l, struct error *err)
{
    enum status s = ledger_fold(l, err);

    return s == STATUS_OK ? ledger_store_begin(&l->store, err) : s;
}

uint64_t ledger_seen(const struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES])
{
    const struct ledger_peer *peer = ledger_peers_find(&l->peers, key);

    return peer == NULL ? 0 : peer->seen;
}

enum status ledger_see(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES], uint64_t number,
                       struct error *err)
{
    const enum status s = ledger_peers_see(&l->peers, key, number);

    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_BUDGET,
                         "ledger %s: it has seen the ledgers of %d peers and remembers no further "
                         "one",
                         l->store.path, LEDGER_PEERS_MAX);
    return s == STATUS_OK ? s : no_memory(l, err);
}

enum status ledger_keep(struct ledger *l, struct error *err)
{
    enum status s;

    if (!ledger_peers_dirty(&l->peers))
        return STATUS_OK;
    s = begin_transaction(l, err);
    if (s == STATUS_OK)
        s = ledger_store_end(&l->store, ledger_write_peers(l, false, err), l->history.number, err);
    if (s == STATUS_OK) {
        ledger_peers_clean(&l->peers);
        l->records++;
    }
    return s;
}

struct ledger_asked ledger_asked(const struct ledger *l)
{
    return l->asked;
}

enum status ledger_set_asked(struct ledger *l, const struct ledger_asked *a, struct error *err)
{
    enum status s = begin_transaction(l, err);

    if (s == STATUS_OK)
        s = ledger_store_end(&l->store, ledger_write_asked(l, a, err), l->history.number, err);
    if (s == STATUS_OK) {
        l->asked = *a;
        l->records++;
    }
    return s;
}

enum status ledger_forget(struct ledger *l, const uint8_t key[LEDGER_DIGEST_BYTES],
                          struct error *err)
{
    struct ledger_peer *peer = ledger_peers_find(&l->peers, key);
    enum status s;

    if (peer == NULL)
        return STATUS_OK;
    s = begin_transaction(l, err);
    if (s != STATUS_OK)
        return s;
    s = ledger_write_peers(l, false, err);
    if (s == STATUS_OK)
        s = ledger_write(l, NULL, 0, err, "forget %zu", (size_t)(peer - l->peers.peer));
    s = ledger_store_end(&l->store, s, l->history.number, err);
    if (s != STATUS_OK)
        return s;
    ledger_peers_clean(&l->peers);
    peer->seen = 0;
    l->records += 2;
    return STATUS_OK;
}

/* --- what it amounts to --- */

void ledger_totals(const struct ledger *l, struct ledger_totals *out)
{
    for (size_t p = 0; p < LEDGER_PURPOSES; p++)
        out->releases[p] = l->counts.releases[p];
    out->participations_max = ledger_counts_most(&l->counts);
    out->records = l->counts.records - (l->counts.nobody > 0);
}

uint32_t ledger_spent(const struct ledger *l, uint32_t slot)
{
    CHECK(slot < l->counts.records);
    return l->counts.total[slot];
}

bool ledger_takes(const struct ledger *l, const struct account_entry *mechanism)
{
    char text[LEDGER_MECHANISM_MAX];

    if (l->mechanisms < ACCOUNT_MECHANISMS_MAX)
        return true;
    ledger_mechanism_print(text, mechanism);
    for (size_t i = 0; i < l->mechanisms; i++) {
        if (strcmp(l->mechanism_text[i], text) == 0)
            return true;
    }
    return false;
}

size_t ledger_mechanisms(const struct ledger *l)
{
    return l->mechanisms;
}

size_t ledger_entries(const struct ledger *l, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    size_t n = 0;

    for (size_t m = 0; m < l->mechanisms; m++) {
        out[n] = ledger_past_entry(l, m);
        if (out[n].releases > 0)
            n++;
    }
    return n;
}
