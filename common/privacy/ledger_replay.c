/* ledger_replay.c -- from the log to memory.
 *
 * The store has proven that every record is one that a holder of the key wrote; each value is held
 * against its limits all the same, since a program with a fault holds the key too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_replay.h"

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_entry.h"
#include "common/privacy/ledger_past.h"
#include "common/privacy/ledger_records.h"
#include "common/privacy/ledger_words.h"

#include <limits.h>
#include <string.h>

struct replay {
    struct ledger *l;
    const uint8_t *key;
    const struct ledger_record *record;
    struct ledger_words w; /* behind the record's first word */
    bool begun;
    struct error *err;
};

static enum status wrong(struct replay *r, const char *what)
{
    return ledger_store_damaged(&r->l->store, what, r->err);
}

static enum status no_memory(struct replay *r)
{
    return ledger_store_status(&r->l->store, STATUS_MEMORY, r->err);
}

/* STATUS_MEMORY in the ledger's words, anything else as damage. */
static enum status judged(struct replay *r, enum status s, const char *what)
{
    if (s == STATUS_OK)
        return s;
    return s == STATUS_MEMORY || s == STATUS_CRYPTO ? ledger_store_status(&r->l->store, s, r->err)
                                                    : wrong(r, what);
}

static enum ledger_purpose purpose_of(struct ledger_words *w)
{
    const char *names[LEDGER_PURPOSES];

    for (int i = 0; i < LEDGER_PURPOSES; i++)
        names[i] = ledger_purpose_name((enum ledger_purpose)i);
    return (enum ledger_purpose)ledger_words_choice(w, names, LEDGER_PURPOSES);
}

static enum status take_begin(struct replay *r)
{
    struct ledger *l = r->l;

    ledger_words_hex(&r->w, l->salt, sizeof l->salt);
    l->history.number = ledger_words_number(&r->w, LEDGER_NUMBER_MAX);
    l->history.entries = ledger_words_number(&r->w, LEDGER_NUMBER_MAX);
    if (!ledger_words_end(&r->w) || r->begun || r->record->n > 0)
        return wrong(r, "another beginning");
    r->begun = true;
    return ledger_key_digests(l, r->key, r->err);
}

/* --- what entries are about --- */

static enum status take_ids(struct replay *r)
{
    const uint64_t first = ledger_words_number(&r->w, UINT32_MAX);
    struct ledger_ids *ids = &r->l->ids;
    const size_t n = r->record->n / LEDGER_ID_BYTES;
    enum status s = STATUS_OK;

    if (!ledger_words_end(&r->w) || first != ids->n || n == 0 ||
        r->record->n % LEDGER_ID_BYTES != 0)
        return wrong(r, "records are not numbered without gaps");
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        const uint8_t *digest = r->record->bytes + i * LEDGER_ID_BYTES;

        s = ledger_ids_find(ids, digest) != UINT32_MAX ? STATUS_LIMIT : ledger_ids_add(ids, digest);
    }
    if (s == STATUS_OK)
        s = ledger_counts_grow(&r->l->counts, ids->n);
    if (s == STATUS_OK)
        ledger_count_ids(r->l);
    return judged(r, s, "a record has two numbers");
}

static enum status take_members(struct replay *r)
{
    const uint8_t *at = r->record->bytes, *end = at + r->record->n;
    enum status s = STATUS_OK;

    if (!ledger_words_end(&r->w) || at == end || r->record->n % LEDGER_MEMBER_BYTES != 0)
        return wrong(r, "impossible rows of persons");
    while (at < end && s == STATUS_OK) {
        const uint8_t *row = at;
        uint32_t slot;

        at += LEDGER_ID_BYTES;
        slot = (uint32_t)le_take(&at, 4);
        s = slot < r->l->ids.n ? ledger_members_put(&r->l->members, row, slot) : STATUS_LIMIT;
    }
    return judged(r, s, "rows of persons that do not exist");
}

static enum status take_set(struct replay *r)
{
    const uint64_t number = ledger_words_number(&r->w, UINT32_MAX - 1);

    if (!ledger_words_end(&r->w))
        return wrong(r, "an impossible data set");
    return judged(
        r,
        ledger_sets_add(&r->l->sets, (uint32_t)number, r->record->bytes, r->record->n, r->l->ids.n),
        "a data set of records that do not exist");
}

static enum status take_mechanism(struct replay *r)
{
    struct ledger *l = r->l;
    const uint64_t number = ledger_words_number(&r->w, ACCOUNT_MECHANISMS_MAX - 1);

    if (r->w.bad || number != l->mechanisms || strlen(r->w.at) >= LEDGER_MECHANISM_MAX ||
        r->record->n > 0 || !ledger_mechanism_read(&l->mechanism[number], r->w.at))
        return wrong(r, "a mechanism has impossible parameters");
    strcpy(l->mechanism_text[number], r->w.at);
    l->mechanisms++;
    return STATUS_OK;
}

static enum status take_law(struct replay *r)
{
    struct ledger *l = r->l;
    const uint64_t number = ledger_words_number(&r->w, UINT32_MAX);
    struct ledger_law law;

    if (r->w.bad || number != l->laws || r->record->n > 0 || !ledger_law_read(&law, r->w.at))
        return wrong(r, "an impossible schedule");
    return judged(r, ledger_entry_add_law(l, &law), "");
}

static enum status take_work(struct replay *r)
{
    const uint64_t number = ledger_words_number(&r->w, UINT32_MAX - 2);
    struct ledger_work w;

    ledger_words_hex(&r->w, w.plan, sizeof w.plan);
    ledger_words_hex(&r->w, w.data, sizeof w.data);
    if (!ledger_words_end(&r->w) || number != r->l->history.works || r->record->n > 0)
        return wrong(r, "an impossible plan");
    return judged(r, ledger_history_add(&r->l->history, &w), "");
}

/* --- what was spent --- */

static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 63; shift += 7) {
        uint8_t byte;

        if (*at == end)
            return false;
        byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return byte != 0 || shift == 0;
        }
    }
    return false;
}

/* Counts of a column whose mechanism was read, by purpose and slot. */
static enum status take_column(struct replay *r, size_t mechanism)
{
    struct ledger_counts *c = &r->l->counts;
    const uint8_t *at = r->record->bytes, *end = at + r->record->n;
    const struct ledger_column column = {mechanism, purpose_of(&r->w)};
    uint64_t slot, want, sum = 0;
    enum status s = STATUS_OK;

    slot = ledger_words_number(&r->w, UINT32_MAX);
    want = ledger_words_number(&r->w, UINT64_MAX);
    if (!ledger_words_end(&r->w) || (mechanism != LEDGER_PAST && mechanism >= r->l->mechanisms))
        return wrong(r, "counts of nothing known");
    for (; at < end && s == STATUS_OK; slot++) {
        uint64_t n;

        if (slot >= c->records || !take_number(&at, end, &n))
            return wrong(r, "counts of records that do not exist");
        s = n > 0 ? ledger_counts_load(c, column, (uint32_t)slot, n) : STATUS_OK;
        sum += n;
    }
    if (s == STATUS_OK && sum != want)
        s = STATUS_LIMIT;
    return judged(r, s, "counts do not add up");
}

static enum status take_count(struct replay *r)
{
    return take_column(r, (size_t)ledger_words_number(&r->w, ACCOUNT_MECHANISMS_MAX - 1));
}

static enum status take_past(struct replay *r)
{
    return take_column(r, LEDGER_PAST);
}

static enum status take_sums(struct replay *r)
{
    const uint64_t number = ledger_words_number(&r->w, ACCOUNT_MECHANISMS_MAX - 1);
    struct account_entry *e = &r->l->mechanism[number];
    const uint64_t releases = ledger_words_number(&r->w, LEDGER_NUMBER_MAX),
                   most = ledger_words_number(&r->w, releases),
                   trained = ledger_words_number(&r->w, most);

    if (!ledger_words_end(&r->w) || number >= r->l->mechanisms || e->releases > 0 ||
        releases == 0 || r->record->n > 0) /* most 0: they were nobody's (ledger_spare.h) */
        return wrong(r, "sums of nothing known");
    e->releases = releases;
    e->participations_max = most;
    e->trained_max = trained;
    return STATUS_OK;
}

static enum status take_tally(struct replay *r)
{
    struct ledger_tally t = {.work = (uint32_t)ledger_words_number(&r->w, UINT32_MAX)};

    t.purpose = purpose_of(&r->w);
    t.entries = ledger_words_number(&r->w, LEDGER_NUMBER_MAX);
    t.rounds = (int64_t)ledger_words_number(&r->w, INT64_MAX);
    t.releases = (int64_t)ledger_words_number(&r->w, INT64_MAX);
    t.first_s = ledger_words_number(&r->w, INT64_MAX);
    t.last_s = ledger_words_number(&r->w, INT64_MAX);
    if (!ledger_words_end(&r->w) || t.work >= r->l->history.works || r->record->n > 0)
        return wrong(r, "entries of no plan");
    if (ledger_history_reserve(&r->l->history) != STATUS_OK)
        return no_memory(r);
    ledger_history_enter(&r->l->history, &t);
    return STATUS_OK;
}

/* "law LAW SET COUNT", or "listed" with runs of slots behind, or "asked" with places of them. */
static enum status take_what(struct replay *r, bool back, struct ledger_block *b,
                             const uint32_t **slots)
{
    struct ledger *l = r->l;
    uint64_t law, set;

    b->scheduled = ledger_words_take(&r->w, "law");
    if (b->scheduled) {
        law = ledger_words_number(&r->w, UINT32_MAX);
        set = ledger_words_number(&r->w, UINT32_MAX);
        b->stretch.count = ledger_words_number(&r->w, UINT32_MAX);
        b->stretch.place = b->place;
        b->set = (uint32_t)set;
        if (!ledger_words_end(&r->w) || law >= l->laws || r->record->n > 0)
            return wrong(r, "an entry of no schedule");
        b->stretch.law = l->law[law];
        return judged(r, ledger_entry_expand(l, b, slots), "an entry that is not of its schedule");
    }
    if (!back && ledger_words_take(&r->w, "asked"))
        b->asked = &l->asked;
    else
        ledger_words_expect(&r->w, "listed");
    if (!ledger_words_end(&r->w))
        return wrong(r, "an impossible entry");
    if (b->asked != NULL)
        return judged(r, ledger_entry_places(l, r->record->bytes, r->record->n, b, slots),
                      "an entry of places that cannot be");
    return judged(r, ledger_entry_list(l, r->record->bytes, r->record->n, b->n, slots),
                  "an entry of records that do not exist");
}

static enum status take_entry(struct replay *r, bool back)
{
    struct ledger *l = r->l;
    struct ledger_history *h = &l->history;
    const uint64_t number = ledger_words_number(&r->w, LEDGER_NUMBER_MAX),
                   rounds = ledger_words_number(&r->w, UINT32_MAX),
                   at = ledger_words_number(&r->w, INT64_MAX),
                   work = ledger_words_number(&r->w, UINT32_MAX);
    struct ledger_column column = {.purpose = purpose_of(&r->w)};
    struct ledger_block b = {0};
    const uint32_t *slots = NULL;
    uint32_t highest;
    enum status s;

    column.mechanism = (size_t)ledger_words_number(&r->w, ACCOUNT_MECHANISMS_MAX - 1);
    b.n = b.places = (size_t)ledger_words_number(&r->w, LEDGER_BLOCK_MAX);
    b.place = ledger_words_number(&r->w, INT64_MAX);
    if (r->w.bad || (rounds == 0) != (column.purpose == LEDGER_STATISTICS) || work < 1 ||
        work >= h->works || column.mechanism >= l->mechanisms ||
        number != h->number + (back ? 1 : rounds))
        return wrong(r, "entries that do not follow each other");
    s = take_what(r, back, &b, &slots);
    if (s != STATUS_OK)
        return s;
    if (back)
        s = ledger_counts_subtract(&l->counts, column, slots, b.n) ? STATUS_OK : STATUS_LIMIT;
    else
        s = ledger_counts_add(&l->counts, column, slots, b.n, &highest);
    if (s == STATUS_OK)
        s = ledger_history_reserve(h);
    if (s != STATUS_OK)
        return judged(r, s, "an entry that cannot be counted");
    ledger_history_enter(h, &(struct ledger_tally){.work = (uint32_t)work,
                                                   .purpose = column.purpose,
                                                   .entries = 1,
                                                   .rounds = (int64_t)(back ? -rounds : rounds),
                                                   .releases = (int64_t)(back ? -b.n : b.n),
                                                   .first_s = at,
                                                   .last_s = at});
    h->number = number;
    h->entries++;
    l->releases_since += b.asked != NULL ? b.places : b.n;
    if (!back)
        ledger_past_settle(l, column.mechanism);
    return STATUS_OK;
}

static enum status take_pay(struct replay *r)
{
    return take_entry(r, false);
}

static enum status take_back(struct replay *r)
{
    return take_entry(r, true);
}

/* What was asked for without a round; it is another word on what entries have said. */
static enum status take_asked(struct replay *r)
{
    struct ledger_asked a = {.unknown = ledger_words_number(&r->w, UINT64_MAX)};

    a.day = ledger_words_number(&r->w, UINT64_MAX);
    a.rows = ledger_words_number(&r->w, UINT64_MAX);
    if (!ledger_words_end(&r->w) || r->record->n > 0)
        return wrong(r, "an impossible count of what was asked for");
    r->l->asked = a;
    return STATUS_OK;
}

/* --- peers --- */

static enum status take_peer(struct replay *r)
{
    struct ledger_peers *p = &r->l->peers;
    const uint64_t number = ledger_words_number(&r->w, LEDGER_PEERS_MAX - 1);
    uint8_t key[LEDGER_DIGEST_BYTES];

    ledger_words_hex(&r->w, key, sizeof key);
    if (!ledger_words_end(&r->w) || number != p->n || r->record->n > 0 ||
        ledger_peers_find(p, key) != NULL)
        return wrong(r, "an impossible peer");
    if (ledger_peers_get(p, key) == NULL)
        return no_memory(r);
    p->written = p->n;
    return STATUS_OK;
}

static enum status take_seen(struct replay *r)
{
    const uint8_t *at = r->record->bytes, *end = at + r->record->n;

    if (!ledger_words_end(&r->w) || r->record->n % 12 != 0)
        return wrong(r, "an impossible number of a peer");
    while (at < end) {
        const uint64_t peer = le_take(&at, 4), seen = le_take(&at, 8);

        if (peer >= r->l->peers.n || seen == 0 || seen > LEDGER_NUMBER_MAX)
            return wrong(r, "an impossible number of a peer");
        r->l->peers.peer[peer].seen = seen;
    }
    return STATUS_OK;
}

static enum status take_forget(struct replay *r)
{
    const uint64_t peer = ledger_words_number(&r->w, LEDGER_PEERS_MAX - 1);

    if (!ledger_words_end(&r->w) || peer >= r->l->peers.n || r->record->n > 0)
        return wrong(r, "an impossible peer");
    r->l->peers.peer[peer].seen = 0;
    return STATUS_OK;
}

/* --- alignments --- */

static bool is_name(const char *text)
{
    const size_t n = strlen(text);

    return n >= 1 && n <= LEDGER_ALIGNMENT_NAME_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static enum status take_align(struct replay *r)
{
    struct ledger_alignments *all = &r->l->alignments;
    const uint64_t index = ledger_words_number(&r->w, LEDGER_ALIGNMENTS_MAX - 1);
    struct ledger_alignment a = {.ids = (uint32_t)ledger_words_number(&r->w, UINT32_MAX)}, *one;

    a.at_s = (int64_t)ledger_words_number(&r->w, INT64_MAX);
    ledger_words_hex(&r->w, a.job, sizeof a.job);
    if (r->w.bad || index != all->n || !is_name(r->w.at) || r->record->n > 0)
        return wrong(r, "an impossible alignment");
    strcpy(a.name, r->w.at);
    one = mem_room(all->one, &all->n_max, all->n + 1, sizeof *one);
    if (one == NULL)
        return no_memory(r);
    all->one = one;
    one[all->n++] = a;
    return STATUS_OK;
}

static enum status take_told(struct replay *r)
{
    struct ledger_alignments *all = &r->l->alignments;
    const uint64_t number = ledger_words_number(&r->w, LEDGER_NUMBER_MAX),
                   index = ledger_words_number(&r->w, LEDGER_ALIGNMENTS_MAX - 1);

    if (!ledger_words_end(&r->w) || index + 1 != all->n || all->one[index].told ||
        (number != 0 && number != r->l->history.number + 1) || r->record->n > 0)
        return wrong(r, "an alignment that has not begun");
    r->l->history.number += number != 0;
    all->one[index].told = true;
    all->told++;
    return STATUS_OK;
}

/* --- */

static enum status each(void *owner, const struct ledger_record *record, struct error *err)
{
    static const struct {
        const char *word;
        enum status (*take)(struct replay *r);
    } kinds[] = {
        {"begin/1", take_begin},   {"ids", take_ids},     {"set", take_set},
        {"law", take_law},         {"work", take_work},   {"mechanism", take_mechanism},
        {"count", take_count},     {"tally", take_tally}, {"pay", take_pay},
        {"back", take_back},       {"peer", take_peer},   {"seen", take_seen},
        {"forget", take_forget},   {"sums", take_sums},   {"past", take_past},
        {"members", take_members}, {"asked", take_asked}, {"align", take_align},
        {"told", take_told},
    };
    struct replay *r = owner;

    r->record = record;
    r->err = err;
    r->w = (struct ledger_words){.at = record->text};
    r->l->records++;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (ledger_words_take(&r->w, kinds[i].word))
            return !r->begun && i > 0 ? wrong(r, "no beginning") : kinds[i].take(r);
    }
    return wrong(r, "a record of no known kind");
}

static uint64_t number(void *owner)
{
    return ((struct replay *)owner)->l->history.number;
}

enum status ledger_replay(struct ledger *l, const uint8_t key[LEDGER_KEY_BYTES], struct error *err)
{
    struct replay r = {.l = l, .key = key};
    const struct ledger_reader reader = {.each = each, .number = number, .owner = &r};

    return ledger_store_read(&l->store, &reader, err);
}
