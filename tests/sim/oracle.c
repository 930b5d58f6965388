/* oracle.c -- invariants, watched from outside.
 *
 * Keys of masks and shares follow from a session's sid, and within it from purpose, round and view
 * (secagg/mask.h, secagg/share.h).  So it is enough that a party never confirms one sid twice,
 * never shows one public key twice, and never sends two contents for one (sid, purpose, round).
 * Masks of dealt data outlive sessions: what a member is dealt under one name is the same whenever
 * it is dealt again, and something else under every other name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/oracle.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/wire/purpose.h"
#include "party/predict/parts.h"
#include "party/predict/predict.h"
#include "party/train/train.h"
#include "tests/sim/inside.h"
#include "tests/sim/true_sum.h"
#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter contents may be equal by chance. */
enum { TELLING_BYTES = 12 };

/* What a party sent under one key. */
struct use {
    uint8_t sid[WIRE_DIGEST_BYTES], content[DIGEST_BYTES];
    uint64_t round;
    enum wire_kind kind;
    enum wire_purpose purpose;
    bool telling; /* long enough that equal contents are no chance */
};

/* What a party was dealt: a chunk of one dealer's rows. */
struct dealt {
    uint8_t name[WIRE_DIGEST_BYTES], content[DIGEST_BYTES];
    uint64_t place;
    uint32_t dealer;
    bool telling;
};

struct watched {
    struct use *use;
    size_t uses_n, uses_max;
    struct dealt *dealt;
    size_t dealt_n, dealt_max;
    uint8_t (*key)[WIRE_KEY_BYTES]; /* of its hellos */
    size_t keys_n, keys_max;
    uint8_t (*sid)[WIRE_DIGEST_BYTES]; /* that it confirmed; the last one is in use */
    size_t sids_n, sids_max;
    /* Releases of each record (training, test, predicted), for each size of the set. */
    uint32_t *charged, *released;
    uint64_t rounds; /* that it sent something in */
};

struct oracle {
    struct watched *party;
    struct true_sum *sum;
    uint32_t parties, train_rows, predicted_at, rows;
    struct sim_step *step;
    size_t steps_n, steps_max;
};

PRINTF_LIKE(2, 3) static void broken(struct sim *s, const char *fmt, ...)
{
    va_list args;

    if (s->broken[0] != 0)
        return;
    va_start(args, fmt);
    vsnprintf(s->broken, sizeof s->broken, fmt, args);
    va_end(args);
}

/* Not by mem.h: some tests count what a round allocates. */
static void *grown(void *block, size_t n, size_t *max, size_t size)
{
    size_t more = *max == 0 ? 16 : 2 * *max;

    if (n < *max)
        return block;
    block = realloc(block, more * size);
    CHECK(block != NULL);
    *max = more;
    return block;
}

struct oracle *oracle_new(const struct sim *s)
{
    struct oracle *o = mem_alloc(1, sizeof *o);
    size_t cells;

    CHECK(o != NULL);
    o->parties = s->options.parties;
    o->train_rows = s->options.train_rows;
    o->predicted_at = s->options.train_rows + s->options.test_rows;
    o->rows = o->predicted_at + s->options.predicted;
    cells = (size_t)(o->parties + 1) * o->rows;
    o->party = mem_alloc(o->parties, sizeof *o->party);
    CHECK(o->party != NULL);
    for (uint32_t i = 0; i < o->parties; i++) {
        o->party[i].charged = mem_alloc(cells, sizeof(uint32_t));
        o->party[i].released = mem_alloc(cells, sizeof(uint32_t));
        CHECK(o->party[i].charged != NULL && o->party[i].released != NULL);
    }
    if (s->options.watch)
        o->sum = true_sum_new(s);
    return o;
}

void oracle_free(struct oracle *o)
{
    if (o == NULL)
        return;
    for (uint32_t i = 0; i < o->parties; i++) {
        free(o->party[i].use);
        free(o->party[i].dealt);
        free(o->party[i].key);
        free(o->party[i].sid);
        mem_free(o->party[i].charged);
        mem_free(o->party[i].released);
    }
    true_sum_free(o->sum);
    mem_free(o->party);
    free(o->step);
    mem_free(o);
}

/* --- I1, I2 --- */

static void said_hello(struct sim *s, uint32_t party)
{
    struct watched *w = &s->oracle->party[party];
    const uint8_t *key = s->party[party].session->fed.kex_public;

    for (size_t i = 0; i < w->keys_n; i++) {
        if (memcmp(w->key[i], key, WIRE_KEY_BYTES) == 0)
            broken(s, "I1: p%u shows one key in two hellos", party + 1);
    }
    w->key = grown(w->key, w->keys_n, &w->keys_max, sizeof *w->key);
    memcpy(w->key[w->keys_n++], key, WIRE_KEY_BYTES);
}

static void confirmed(struct sim *s, uint32_t party, const struct wire_confirm *c)
{
    struct watched *w = &s->oracle->party[party];

    for (size_t i = 0; i < w->sids_n; i++) {
        if (memcmp(w->sid[i], c->sid, WIRE_DIGEST_BYTES) == 0)
            broken(s, "I1: p%u confirms one session twice", party + 1);
    }
    w->sid = grown(w->sid, w->sids_n, &w->sids_max, sizeof *w->sid);
    memcpy(w->sid[w->sids_n++], c->sid, WIRE_DIGEST_BYTES);
}

static void compare(struct sim *s, uint32_t party, const struct use *a, const struct use *b)
{
    const char *what = wire_kind_name(a->kind);
    bool hidden = s->plan.protocol.aggregation != AGGREGATION_CLEAR;

    if (a->kind != b->kind)
        return;
    if (memcmp(a->sid, b->sid, sizeof a->sid) == 0) {
        if (a->purpose == b->purpose && a->round == b->round)
            broken(s, "I1, I2: p%u: a second %s for round %llu of one session", party + 1, what,
                   (unsigned long long)a->round);
        else if (b->round <= a->round)
            broken(s, "I2: p%u: %s for round %llu after %llu", party + 1, what,
                   (unsigned long long)b->round, (unsigned long long)a->round);
    }
    if (hidden && a->telling && b->telling && memcmp(a->content, b->content, DIGEST_BYTES) == 0)
        broken(s, "I1: p%u: the same %s in rounds %llu and %llu", party + 1, what,
               (unsigned long long)a->round, (unsigned long long)b->round);
}

static void used(struct sim *s, uint32_t party, struct use new, struct wire_bytes content)
{
    struct watched *w = &s->oracle->party[party];

    if (w->sids_n == 0) {
        broken(s, "I1: p%u sends data before it has confirmed", party + 1);
        return;
    }
    memcpy(new.sid, w->sid[w->sids_n - 1], sizeof new.sid);
    digest_sha256(new.content, content.data, content.n);
    new.telling = content.n >= TELLING_BYTES;
    for (size_t i = 0; i < w->uses_n; i++)
        compare(s, party, &w->use[i], &new);
    w->use = grown(w->use, w->uses_n, &w->uses_max, sizeof *w->use);
    w->use[w->uses_n++] = new;
}

/* The columns of one dealer's rows in the chunk that has just been taken. */
static void digest_columns(uint8_t out[DIGEST_BYTES], const struct party_session *p,
                           const struct dealing_chunk *c, uint32_t dealer)
{
    const struct fedvs_terms *t = &inside(p)->round.shape.terms;
    size_t row = (size_t)t->inputs_n * t->field->bytes, n = t->inputs[dealer] * t->field->bytes,
           first = c->first + (c->test ? inside(p)->deal.chunks.train_len : 0);
    const uint8_t *from =
        inside(p)->deal.memory + inside(p)->deal.bytes -
        ((size_t)inside(p)->deal.chunks.train_len + inside(p)->deal.chunks.test_len) * row +
        first * row + fedvs_inputs_before(t, dealer) * t->field->bytes;
    struct digest d = {0};

    digest_begin(&d);
    for (uint32_t r = 0; r < c->rows; r++)
        digest_update(&d, from + r * row, n);
    digest_final(&d, out);
    digest_deinit(&d);
}

static void was_dealt(struct sim *s, uint32_t party, struct dealt new)
{
    struct watched *w = &s->oracle->party[party];

    for (size_t i = 0; i < w->dealt_n; i++) {
        const struct dealt *d = &w->dealt[i];
        bool same = memcmp(d->content, new.content, DIGEST_BYTES) == 0;
        if (d->dealer != new.dealer)
            continue;
        if (memcmp(d->name, new.name, sizeof d->name) != 0) {
            if (same && d->telling)
                broken(s, "I1: p%u deals p%u the same under two names", new.dealer + 1, party + 1);
        } else if (d->place == new.place && same) {
            return;
        } else if (d->place == new.place) {
            broken(s, "I1: p%u deals p%u chunk %llu of one name in two ways", new.dealer + 1,
                   party + 1, (unsigned long long)new.place);
        } else if (same && d->telling) {
            broken(s, "I1: p%u deals p%u chunks %llu and %llu under the same masks", new.dealer + 1,
                   party + 1, (unsigned long long)d->place, (unsigned long long)new.place);
        }
    }
    w->dealt = grown(w->dealt, w->dealt_n, &w->dealt_max, sizeof *w->dealt);
    w->dealt[w->dealt_n++] = new;
}

static bool predicts(const struct party_session *p)
{
    return party_predicts(p->job);
}

/* A probe lets out nothing of a record. */
static bool trains(const struct party_session *p)
{
    return p->job == &party_train_job;
}

/* A chunk of everybody's rows is here. */
static void took_shares(struct sim *s, uint32_t party)
{
    const struct party_session *p = s->party[party].session;
    struct dealing_chunk c;

    if (!trains(p))
        return;
    if (inside(p)->round.task.work != WORK_SUM ||
        inside(p)->round.task.purpose != PURPOSE_DEAL_DATA || inside(p)->result.status != STATUS_OK)
        return;
    c = dealing_chunk(&inside(p)->deal.chunks, inside(p)->round.task.place);
    for (uint32_t m = 0; m < p->fed.set.members_n; m++) {
        struct dealt new = {.place = inside(p)->round.task.place, .dealer = m};
        new.telling = (size_t)c.rows *inside(p)->round.shape.terms.inputs[m] * 4 >= TELLING_BYTES;
        memcpy(new.name, p->fed.set.hellos[m].dealing, sizeof new.name);
        digest_columns(new.content, p, &c, m);
        was_dealt(s, party, new);
    }
}

/* --- I4 --- */

/* Where the records of the tables stand, one table behind another. */
static uint32_t table_at(const struct sim *s, enum wire_purpose purpose, bool predicted)
{
    return predicted                          ? s->oracle->predicted_at
           : purpose == PURPOSE_EVALUATE_TEST ? s->oracle->train_rows
                                              : 0;
}

static uint32_t *cell(const struct sim *s, uint32_t *cells, uint32_t among, uint32_t record)
{
    const struct oracle *o = s->oracle;

    CHECK(among <= o->parties && record < o->rows);
    return &cells[(size_t)among * o->rows + record];
}

static void still_covered(struct sim *s, uint32_t party, uint32_t among, uint32_t record)
{
    struct watched *w = &s->oracle->party[party];
    uint32_t charged = *cell(s, w->charged, among, record),
             released = *cell(s, w->released, among, record);

    if (released > charged)
        broken(s, "I4: p%u: record %u left %u times among %u, charged %u times", party + 1, record,
               released, among, charged);
}

void oracle_charged(struct sim *s, uint32_t party, const struct action_charge *c)
{
    struct watched *w = &s->oracle->party[party];
    const uint32_t among = c->mechanism.parties, at = table_at(s, c->purpose, c->predicts);

    for (size_t i = 0; i < c->n; i++) {
        uint32_t *charged = cell(s, w->charged, among, at + c->rows[i]);
        if (c->give_back && *charged == 0)
            broken(s, "I4: p%u gives back what was never charged", party + 1);
        else
            *charged += c->give_back ? UINT32_MAX : 1;
        still_covered(s, party, among, at + c->rows[i]);
    }
}

static void released_record(struct sim *s, uint32_t party, uint32_t record)
{
    struct watched *w = &s->oracle->party[party];
    uint32_t among = party_session_report(s->party[party].session)->mechanism.parties;

    ++*cell(s, w->released, among, record);
    still_covered(s, party, among, record);
    s->party[party].uploaded++;
}

/* The ledger's numbers are the rounds at least, and what the others say of theirs is durable. */
static void numbers_hold(struct sim *s, uint32_t party)
{
    const struct sim_ledger *l = &s->party[party].disk.ledger;
    const struct party_session *p = s->party[party].session;
    uint64_t rounds = ++s->oracle->party[party].rounds;

    if (l->number < rounds && !l->tampered)
        broken(s, "I4: p%u sends in round %llu of its life, and its ledger ends at %llu", party + 1,
               (unsigned long long)rounds, (unsigned long long)l->number);
    for (uint32_t m = 0; m < p->fed.set.members_n; m++) {
        if (m != p->fed.set.self && l->seen[p->fed.set.members[m]] < p->fed.set.hellos[m].ledger)
            broken(s, "I4: p%u sends, and could forget how far the ledger of p%u had come",
                   party + 1, p->fed.set.members[m] + 1);
    }
}

/* The rows of the task that this message answers have left the party; with fedvs.segments, in every
 * segment. */
static void released(struct sim *s, uint32_t party)
{
    const struct party_task *t = &inside(s->party[party].session)->round.task;
    uint32_t rows =
                 t->purpose == PURPOSE_EVALUATE_TEST ? s->options.test_rows : s->options.train_rows,
             k = t->row != NULL || s->plan.protocol.aggregation != AGGREGATION_FEDVS
                     ? 1
                     : s->plan.protocol.fedvs.segments,
             len = (rows + k - 1) / k, places = t->row != NULL ? t->rows : t->coded,
             at = table_at(s, t->purpose, false);

    if (purpose_of(t->purpose)->deals)
        return; /* any T members learn nothing of it */
    numbers_hold(s, party);
    for (uint32_t segment = 0; segment < k; segment++) {
        for (uint32_t r = 0; r < places; r++) {
            uint32_t row = t->row != NULL ? t->row[r] : segment * len + (uint32_t)t->place + r;
            if (row < rows)
                released_record(s, party, at + row);
        }
    }
}

/* The rows of the round that this message answers. */
static void released_predicted(struct sim *s, uint32_t party)
{
    const struct party_predict *p = s->party[party].session->state;
    const uint32_t rows = s->options.predicted;

    numbers_hold(s, party);
    /* What is mixed up carries each record's values twice: in its own place, and in another one. */
    for (uint32_t i = 0; i < p->round.rows; i++) {
        const struct contribution_ask *a = &p->asks.ask[p->round.at.ask];

        for (int k = 0; k < 1 + (a->mixes && a->party == party) && p->round.row[i] < rows; k++)
            released_record(s, party, s->oracle->predicted_at + p->round.row[i]);
    }
}

static void left(struct sim *s, uint32_t party)
{
    const struct party_session *p = s->party[party].session;

    if (trains(p))
        released(s, party);
    else if (predicts(p))
        released_predicted(s, party);
}

void oracle_sent(struct sim *s, uint32_t party, const struct wire_msg *m)
{
    bool shares = secagg_shares(s->plan.protocol.aggregation);

    if (m->kind == WIRE_HELLO) {
        said_hello(s, party);
    } else if (m->kind == WIRE_CONFIRM) {
        confirmed(s, party, &m->confirm);
    } else if (m->kind == WIRE_SHARE) {
        used(s, party,
             (struct use){.kind = m->kind, .purpose = m->share.purpose, .round = m->share.round},
             m->share.sealed);
        left(s, party);
    } else if (m->kind == WIRE_UPLOAD) {
        used(s, party,
             (struct use){.kind = m->kind, .purpose = m->upload.purpose, .round = m->upload.round},
             m->upload.payload);
        if (!shares)
            left(s, party);
    }
}

/* --- I5 --- */

void oracle_protected(struct sim *s, uint32_t party)
{
    took_shares(s, party);
    if (s->oracle->sum != NULL)
        true_sum_protected(s->oracle->sum, s, party);
}

void oracle_combined(struct sim *s)
{
    char why[128];

    if (s->oracle->sum != NULL && !true_sum_holds(s->oracle->sum, s, why))
        broken(s, "I5: %s", why);
}

void oracle_appended(struct sim *s, const struct journal_record *r)
{
    struct oracle *o = s->oracle;
    struct sim_step *new;
    uint8_t all[3 * DIGEST_BYTES];

    o->step = grown(o->step, o->steps_n, &o->steps_max, sizeof *o->step);
    new = &o->step[o->steps_n++];
    *new = (struct sim_step){
        .purpose = (enum wire_purpose)r->purpose, .place = r->place, .sweep = r->sweep};
    digest_sha256(all, r->sum, r->sum_floats * sizeof *r->sum);
    digest_sha256(all + DIGEST_BYTES, r->gradient == NULL ? "" : r->gradient,
                  r->gradient_words * sizeof(uint32_t));
    memcpy(all + 2 * DIGEST_BYTES, r->trail, sizeof r->trail);
    digest_sha256(new->digest, all, sizeof all);
}

const struct sim_step *sim_steps(const struct sim *s, size_t *n)
{
    *n = s->oracle == NULL ? 0 : s->oracle->steps_n;
    return s->oracle == NULL ? NULL : s->oracle->step;
}

const char *sim_broken(struct sim *s)
{
    static char words[sizeof s->broken];

    if (s->broken[0] == 0)
        return NULL;
    memcpy(words, s->broken, sizeof words);
    s->broken[0] = 0;
    return words;
}
