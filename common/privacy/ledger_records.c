/* ledger_records.c -- writing records, and all of them anew.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_records.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"
#include "common/privacy/ledger_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { IDS_AT_ONCE = 1 << 16, COUNTS_AT_ONCE = 1 << 16, COUNT_BYTES_MAX = 10, SEEN_BYTES = 12 };

static enum status key_mac(struct ledger *l, struct digest_mac *m,
                           const uint8_t key[LEDGER_KEY_BYTES], const char *label)
{
    uint8_t own[DIGEST_BYTES];
    enum status s = kex_hkdf(own, sizeof own, key, LEDGER_KEY_BYTES, l->salt, sizeof l->salt, label,
                             strlen(label));

    digest_mac_deinit(m);
    if (s == STATUS_OK)
        s = digest_mac_init(m, own, sizeof own);
    secret_wipe(own, sizeof own);
    return s;
}

enum status ledger_key_digests(struct ledger *l, const uint8_t key[LEDGER_KEY_BYTES],
                               struct error *err)
{
    enum status s = key_mac(l, &l->ids.mac, key, "vfl/ledger/1 ids");

    if (s == STATUS_OK)
        s = key_mac(l, &l->persons, key, "vfl/ledger/1 persons");
    if (s == STATUS_OK)
        s = key_mac(l, &l->data, key, "vfl/ledger/1 data");
    if (s == STATUS_OK)
        s = ledger_ids_digest(&l->ids.mac, LEDGER_NOBODY, l->nobody);
    return s == STATUS_OK ? s : ledger_store_status(&l->store, s, err);
}

void ledger_count_ids(struct ledger *l)
{
    const uint32_t nobody = ledger_ids_find(&l->ids, l->nobody);

    l->counts.records = l->ids.n;
    l->counts.nobody = nobody == UINT32_MAX ? 0 : (size_t)nobody + 1;
}

enum status ledger_write(struct ledger *l, const void *bytes, size_t n, struct error *err,
                         const char *format, ...)
{
    char text[LEDGER_TEXT_MAX];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(len > 0 && len < LEDGER_TEXT_MAX);
    return ledger_store_append(&l->store, &(struct ledger_record){text, bytes, n}, err);
}

enum status ledger_write_begin(struct ledger *l, const struct ledger_history *h, struct error *err)
{
    char salt[2 * LEDGER_SALT_BYTES + 1];

    digest_hex(salt, l->salt, sizeof l->salt);
    return ledger_write(l, NULL, 0, err, "begin/1 %s %" PRIu64 " %" PRIu64, salt, h->number,
                        h->entries);
}

enum status ledger_write_ids(struct ledger *l, size_t first, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t n; first < l->ids.n && s == STATUS_OK; first += n) {
        n = l->ids.n - first < IDS_AT_ONCE ? l->ids.n - first : IDS_AT_ONCE;
        s = ledger_write(l, l->ids.digest + first * LEDGER_ID_BYTES, n * LEDGER_ID_BYTES, err,
                         "ids %zu", first);
    }
    return s;
}

enum status ledger_write_members(struct ledger *l, const uint8_t *members, size_t n,
                                 struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t more; n > 0 && s == STATUS_OK; n -= more) {
        more = n < IDS_AT_ONCE ? n : IDS_AT_ONCE;
        s = ledger_write(l, members, more * LEDGER_MEMBER_BYTES, err, "members");
        members += more * LEDGER_MEMBER_BYTES;
    }
    return s;
}

enum status ledger_write_work(struct ledger *l, size_t index, const struct ledger_work *w,
                              struct error *err)
{
    char plan[2 * LEDGER_DIGEST_BYTES + 1], data[2 * LEDGER_DIGEST_BYTES + 1];

    digest_hex(plan, w->plan, sizeof w->plan);
    digest_hex(data, w->data, sizeof w->data);
    return ledger_write(l, NULL, 0, err, "work %zu %s %s", index, plan, data);
}

enum status ledger_write_asked(struct ledger *l, const struct ledger_asked *a, struct error *err)
{
    return ledger_write(l, NULL, 0, err, "asked %" PRIu64 " %" PRIu64 " %" PRIu64, a->unknown,
                        a->day, a->rows);
}

enum status ledger_write_peers(struct ledger *l, bool all, struct error *err)
{
    const struct ledger_peers *p = &l->peers;
    char key[2 * LEDGER_DIGEST_BYTES + 1];
    enum status s = STATUS_OK;
    uint8_t *seen, *to;

    if (!all && p->written == p->n && !ledger_peers_dirty(p))
        return STATUS_OK;
    seen = to = mem_alloc(p->n + 1, SEEN_BYTES);
    if (seen == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    for (size_t i = all ? 0 : p->written; i < p->n && s == STATUS_OK; i++) {
        digest_hex(key, p->peer[i].key, sizeof p->peer[i].key);
        s = ledger_write(l, NULL, 0, err, "peer %zu %s", i, key);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (all ? p->peer[i].seen > 0 : p->peer[i].dirty)
            to = le_put(le_put(to, i, 4), p->peer[i].seen, 8);
    }
    if (s == STATUS_OK && to > seen)
        s = ledger_write(l, seen, (size_t)(to - seen), err, "seen");
    mem_free(seen);
    return s;
}

enum status ledger_write_alignment(struct ledger *l, size_t index, const struct ledger_alignment *a,
                                   struct error *err)
{
    char job[2 * LEDGER_DIGEST_BYTES + 1];

    digest_hex(job, a->job, sizeof a->job);
    return ledger_write(l, NULL, 0, err, "align %zu %" PRIu32 " %" PRId64 " %s %s", index, a->ids,
                        a->at_s, job, a->name);
}

/* --- all anew --- */

static enum status write_alignments(struct ledger *l, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < l->alignments.n && s == STATUS_OK; i++) {
        s = ledger_write_alignment(l, i, &l->alignments.one[i], err);
        if (s == STATUS_OK && l->alignments.one[i].told)
            s = ledger_write(l, NULL, 0, err, "told 0 %zu", i);
    }
    return s;
}

static enum status write_members(struct ledger *l, struct error *err)
{
    const size_t n = l->members.row.n;
    uint8_t *all = mem_alloc(n + 1, LEDGER_MEMBER_BYTES), *to = all;
    enum status s;

    if (all == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    for (size_t i = 0; i < n; i++)
        to = ledger_members_print(&l->members, i, to);
    s = ledger_write_members(l, all, n, err);
    mem_free(all);
    return s;
}

static enum status write_sets(struct ledger *l, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < l->sets.n && s == STATUS_OK; i++) {
        const struct ledger_set *set = &l->sets.set[i];

        if (set->bound)
            s = ledger_write(l, set->runs, set->bytes, err, "set %" PRIu32, set->number);
    }
    return s;
}

static enum status write_mechanisms(struct ledger *l, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < l->mechanisms && s == STATUS_OK; i++)
        s = ledger_write(l, NULL, 0, err, "mechanism %zu %s", i, l->mechanism_text[i]);
    for (size_t i = 0; i < l->mechanisms && s == STATUS_OK; i++) {
        const struct account_entry *e = &l->mechanism[i];

        if (e->releases > 0)
            s = ledger_write(l, NULL, 0, err, "sums %zu %" PRIu64 " %" PRIu64 " %" PRIu64, i,
                             e->releases, e->participations_max, e->trained_max);
    }
    return s;
}

static uint8_t *put_count(uint8_t *to, uint64_t count)
{
    for (; count >= 0x80; count >>= 7)
        *to++ = (uint8_t)(count | 0x80);
    *to++ = (uint8_t)count;
    return to;
}

static enum status write_column(struct ledger *l, struct ledger_column column, uint8_t *room,
                                struct error *err)
{
    const size_t records = l->counts.records;
    const uint64_t nobodys = ledger_counts_nobodys(&l->counts, column);
    char of[32] = "past";
    enum status s = STATUS_OK;

    if (column.mechanism != LEDGER_PAST)
        snprintf(of, sizeof of, "count %zu", column.mechanism);

    for (size_t first = 0; first < records && s == STATUS_OK; first += COUNTS_AT_ONCE) {
        size_t end = records - first < COUNTS_AT_ONCE ? records : first + COUNTS_AT_ONCE;
        uint64_t sum = 0;
        uint8_t *to = room;

        for (size_t slot = first; slot < end; slot++) {
            uint64_t count = ledger_counts_of(&l->counts, column, (uint32_t)slot);

            if (ledger_counts_is_nobody(&l->counts, slot))
                count = nobodys;
            to = put_count(to, count);
            sum += count;
        }
        if (sum > 0)
            s = ledger_write(l, room, (size_t)(to - room), err, "%s %s %zu %" PRIu64, of,
                             ledger_purpose_name(column.purpose), first, sum);
    }
    return s;
}

static enum status write_counts(struct ledger *l, struct error *err)
{
    uint8_t *room = mem_alloc(COUNTS_AT_ONCE, COUNT_BYTES_MAX);
    enum status s = STATUS_OK;

    if (room == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    for (size_t m = 0; m < LEDGER_COLUMNS; m++) {
        for (int p = 0; p < LEDGER_PURPOSES && s == STATUS_OK; p++) {
            struct ledger_column column = {m, (enum ledger_purpose)p};

            if (l->counts.column[m][p] > 0)
                s = write_column(l, column, room, err);
        }
    }
    mem_free(room);
    return s;
}

static enum status write_history(struct ledger *l, const struct ledger_history *h,
                                 struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 1; i < h->works && s == STATUS_OK; i++)
        s = ledger_write_work(l, i, &h->work[i], err);
    for (size_t i = 0; i < h->tallies && s == STATUS_OK; i++) {
        const struct ledger_tally *t = &h->tally[i];

        /* Less than nothing: given back of what is told elsewhere by now. */
        s = ledger_write(
            l, NULL, 0, err,
            "tally %" PRIu32 " %s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64,
            t->work, ledger_purpose_name(t->purpose), t->entries, t->rounds > 0 ? t->rounds : 0,
            t->releases > 0 ? t->releases : 0, t->first_s, t->last_s);
    }
    return s;
}

static enum status write_all(struct ledger *l, const struct ledger_history *h, struct error *err)
{
    enum status s = ledger_store_clear(&l->store, err);

    if (s == STATUS_OK)
        s = ledger_write_begin(l, h, err);
    if (s == STATUS_OK)
        s = ledger_write_ids(l, 0, err);
    if (s == STATUS_OK)
        s = write_members(l, err);
    if (s == STATUS_OK)
        s = write_sets(l, err);
    if (s == STATUS_OK)
        s = write_mechanisms(l, err);
    if (s == STATUS_OK)
        s = write_counts(l, err);
    if (s == STATUS_OK)
        s = write_history(l, h, err);
    if (s == STATUS_OK)
        s = ledger_write_asked(l, &l->asked, err);
    if (s == STATUS_OK)
        s = write_alignments(l, err);
    return s == STATUS_OK ? ledger_write_peers(l, true, err) : s;
}

/* Records that all known takes, or a few more. */
static uint64_t size_folded(const struct ledger *l)
{
    const uint64_t column = l->counts.records / COUNTS_AT_ONCE + 1;
    uint64_t n = 5 + l->ids.n / IDS_AT_ONCE + l->members.row.n / IDS_AT_ONCE + l->sets.n +
                 l->history.works + l->history.tallies + l->peers.n + 2 * l->mechanisms +
                 l->alignments.n + l->alignments.told;

    for (size_t m = 0; m < LEDGER_COLUMNS; m++) {
        for (size_t p = 0; p < LEDGER_PURPOSES; p++)
            n += l->counts.column[m][p] > 0 ? column : 0;
    }
    return n;
}

/* What is known may be many records by itself: only when as many have come on top is it worth
 * while to write it anew. */
static bool due(const struct ledger *l)
{
    const bool many = l->records >= LEDGER_FOLD_RECORDS && l->records / 2 >= size_folded(l);

    return many || (l->releases_since >= LEDGER_FOLD_RELEASES &&
                    l->releases_since / 16 >= l->counts.records);
}

enum status ledger_fold(struct ledger *l, struct error *err)
{
    struct ledger_history h;
    enum status s;

    if (!due(l))
        return STATUS_OK;
    if (ledger_history_copy(&h, &l->history) != STATUS_OK)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    ledger_history_shorten(&h);
    s = ledger_store_begin(&l->store, err);
    if (s == STATUS_OK) {
        s = write_all(l, &h, err);
        if (s == STATUS_OK)
            s = ledger_store_seal(&l->store, h.number, err);
        else
            ledger_store_rollback(&l->store);
    }
    if (s != STATUS_OK) {
        ledger_history_deinit(&h);
        return s;
    }
    ledger_history_deinit(&l->history);
    l->history = h;
    ledger_sets_drop_others(&l->sets);
    ledger_peers_clean(&l->peers);
    l->laws = 0;
    l->records = size_folded(l);
    l->releases_since = 0;
    return STATUS_OK;
}
