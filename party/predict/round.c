/* round.c -- one round of predictions: ids in, protected embeddings of their rows out.
 *
 * The happy path: broadcast -> charge -> work: gather, embed, encode, protect -> upload; with
 * shares in between: share -> relay -> work -> upload.  Rounds go through the job's rows in order,
 * each place once in a generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/predict/parts.h"

#include "common/base/log.h"
#include "common/base/subnormal.h"
#include "common/daemon/package.h"
#include "common/data/table.h"
#include "common/flow/dither.h"
#include "common/secagg/draw.h"
#include "common/wire/limits.h"

#include <string.h>

static enum status violation(struct party_predict *p, const char *what, uint64_t number)
{
    return error_set(p->error, STATUS_PROTOCOL, "the server %s %llu", what,
                     (unsigned long long)number);
}

static void arm(const struct party_predict *p, struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms = 2 * (uint64_t)p->plan.protocol.patience_ms;
}

/* --- what is asked --- */

/* The round under way mixes up this column here; NULL: none. */
static const struct contribution_ask *mixes_here(const struct party_predict *p)
{
    const struct contribution_ask *a = &p->asks.ask[p->round.at.ask];

    return a->mixes && a->party == p->setup->self ? a : NULL;
}

static enum status find_rows(struct party_predict *p, const struct wire_bytes *ids)
{
    const struct table *t = p->setup->answers.rows;
    struct predict_round *r = &p->round;
    size_t at = 0;

    r->known = r->unknown = 0;
    for (uint32_t i = 0; i < r->rows; i++) {
        const size_t from = at, n = prediction_next_id(ids, &at);

        if (n == 0)
            return violation(p, "asks for rows by what are no ids, or too few: place", r->place);
        r->row[i] = (uint32_t)table_find(t, (const char *)ids->data + from, n);
        if (r->row[i] < t->rows)
            r->charged[r->known++] = r->row[i];
        else
            r->unknown++;
    }
    r->charged_n = r->known;
    return at == ids->n ? STATUS_OK
                        : violation(p, "names more rows than it asks for: place", r->place);
}

/* The job's rows are as many ids as its text says, whatever generations it takes: a round that all
 * have answered is never asked again, and the one that was not is, as it was (or, in an open job,
 * passed over, where nobody waits for it any more).  Each answer shows a little more of the same
 * rows, and is charged; some member, or the server, may have rounds end in the middle over and
 * over. */
static enum status count_asked(struct party_predict *p, const struct wire_bytes *ids)
{
    struct predict_asked *n = &p->asked;
    const bool before = n->once > 0 && p->round.at.row == n->row;
    uint8_t digest[DIGEST_BYTES];

    digest_sha256(digest, ids->data, ids->n);
    if (n->once > 0 && p->round.place < n->place)
        return violation(p, "asks again for rows that all have answered: place", p->round.place);
    if (n->once > 0 && p->round.place > n->place && p->round.place < n->until)
        return violation(p, "asks again for a part of the rows from place", n->place);
    if (before && memcmp(digest, n->ids, sizeof digest) != 0)
        return violation(p, "asks for other rows than before: place", p->round.place);
    p->round.counted = before;
    n->row = p->round.at.row;
    n->place = p->round.place;
    memcpy(n->ids, digest, sizeof digest);
    if (p->round.place >= n->until) {
        n->until = p->round.place + p->round.rows;
        n->once++;
        return STATUS_OK;
    }
    if (++n->again > WIRE_AGAIN_MAX + n->once) {
        return error_set(p->error, STATUS_PROTOCOL,
                         "%llu rounds were opened again, and %llu once: some member, or the "
                         "server, lets none come to its end",
                         (unsigned long long)n->again, (unsigned long long)n->once);
    }
    return STATUS_OK;
}

/* A row with another's column carries both records' values: each row of the round is charged for
 * itself, and for the place that its column goes to.  Which that is everybody may know. */
static enum status mix_rows(struct party_predict *p)
{
    struct predict_round *r = &p->round;
    enum status s;

    memcpy(r->charged + r->known, r->charged, r->known * sizeof *r->charged);
    r->charged_n = 2 * r->known;
    s = coalitions_shuffle(r->charged + r->known, r->known, p->asks.seed, p->setup->self, "mixed",
                           r->place);
    return s == STATUS_OK ? s : error_set(p->error, s, "round: %s", status_words(s));
}

/* From where an earlier generation may have ended, then one after the other.  False: no round is
 * there; of an open job one has as many rows as it carries ids. */
static bool find_round(struct contribution_round *at, const struct party_predict *p,
                       const struct wire_broadcast *b)
{
    const struct predict_round *r = &p->round;
    const uint32_t left = b->place < p->about.rows ? p->about.rows - (uint32_t)b->place : 0;

    if (r->number > 0 && b->place != r->place + r->rows)
        return false;
    if (!p->about.open)
        return contribution_at(at, &p->asks, &p->about, b->place);
    *at = (struct contribution_round){.row = (uint32_t)b->place, .rows = prediction_ids(&b->ids)};
    return at->rows > 0 && at->rows <= left && at->rows <= p->about.batch;
}

static enum status plan_round(struct party_predict *p, const struct wire_broadcast *b)
{
    struct predict_round *r = &p->round;
    struct contribution_round at;
    enum status s;

    if (b->generation != p->set->generation)
        return violation(p, "sends a broadcast of another generation,", b->generation);
    if (r->relay_due)
        return violation(p, "goes on without relaying the shares of round", r->number);
    if (b->closes || !b->opens || b->purpose != PURPOSE_EVALUATE_TEST || b->sweep != 0)
        return violation(p, "opens no round of predictions: round", b->round);
    if (b->round <= r->number)
        return violation(p, "opens a round that does not grow,", b->round);
    if (!find_round(&at, p, b))
        return violation(p, "asks for rows out of order: place", b->place);
    r->number = b->round;
    r->place = b->place;
    r->at = at;
    r->rows = at.rows;
    s = count_asked(p, &b->ids);
    if (s == STATUS_OK)
        s = find_rows(p, &b->ids);
    return s == STATUS_OK && mixes_here(p) != NULL ? mix_rows(p) : s;
}

/* Beside a later answer, or what the others hold, such an answer would show a row (parts.h). */
static bool cannot_answer(const struct party_predict *p)
{
    return p->round.unknown > 0 && prediction_is_exact(&p->plan);
}

enum status predict_broadcast(struct party_predict *p, struct actions *a,
                              const struct wire_broadcast *b)
{
    const bool first = p->round.number == 0;
    struct action_charge *c;
    enum status s = plan_round(p, b);

    if (s != STATUS_OK)
        return s;
    if (!first)
        predict_witness_ended(p);
    if (p->sm->phase == PHASE_SUM)
        sm_move(p->sm, PHASE_SHARE, p->set->generation);
    trail_add(&p->trail, &p->hash, p->round.place, b->ids.data, b->ids.n);
    c = &actions_add(a, ACTION_CHARGE)->charge;
    *c = (struct action_charge){
        .mechanism = p->mechanism,
        .purpose = PURPOSE_EVALUATE_TEST,
        .predicts = true,
        .contributes = p->contributes,
        .asked = p->round.rows,
        .unknown = p->round.counted ? 0 : p->round.unknown,
        .plan = p->digest,
        .place = p->round.place,
        .rounds = 1,
        .rows = p->round.charged,
        .n = cannot_answer(p) ? 0 : p->round.charged_n,
        .spared = p->setup->answers.rows->lacks != NULL ? p->round.spared : NULL,
        .places = (mixes_here(p) != NULL ? 2 : 1) * (size_t)p->round.rows,
        .seen = p->seen,
        .seen_n = p->setup->roster->n,
    };
    return STATUS_OK;
}

/* On this side alone. */
static void say_spared(const struct party_predict *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->round.charged_n; i++)
        n += p->round.spared[i];
    if (n > 0)
        log_warn("%u releases of round %llu would be of records that have no more to spend "
                 "(policy.max_releases, max_epsilon): they are answered as if they were not here",
                 n, (unsigned long long)p->round.number);
}

/* That there is no row for some id is counted, then, before it is told. */
enum status predict_charged(struct party_predict *p, struct actions *a)
{
    if (cannot_answer(p)) {
        log_warn("%u of the ids of round %llu have no row here", p->round.unknown,
                 (unsigned long long)p->round.number);
        return error_set(p->error, STATUS_DATA,
                         "an id has no row here, which without noise cannot be answered");
    }
    say_spared(p);
    p->released += p->round.charged_n;
    p->round.summing = false;
    actions_add(a, ACTION_WORK)->flops = nn_net_flops(&p->net.spec, p->round.rows);
    return STATUS_OK;
}

/* --- the work --- */

static struct secagg_round round_of(struct party_predict *p)
{
    struct predict_round *r = &p->round;

    if (plan_compresses(&p->plan))
        dither_make(r->dither, &p->hash, &p->plan, PURPOSE_EVALUATE_TEST, r->place, 0);
    return (struct secagg_round){.purpose = PURPOSE_EVALUATE_TEST,
                                 .round = r->number,
                                 .sid = p->set->sid,
                                 .broadcast = r->view,
                                 .dither = r->dither};
}

/* Members that were asked for other ids, now or before, come to other masks. */
static void view_round(struct party_predict *p)
{
    const struct trail_round at = {.generation = p->set->generation,
                                   .round = p->round.number,
                                   .place = p->round.place,
                                   .purpose = PURPOSE_EVALUATE_TEST};

    trail_view(p->round.view, &p->hash, &p->trail, &at);
}

/* A column is all that is made of it: its features stand side by side, and may be none. */
static void mix(struct party_predict *p, uint32_t column)
{
    const struct table *t = p->setup->answers.rows;
    const struct predict_round *r = &p->round;
    const struct schema *schema = &p->setup->answers.model->schema;
    const size_t width = schema_width(&schema->column[column]);
    size_t first = 0;
    uint32_t k = 0;

    for (uint32_t i = 0; i < column; i++)
        first += schema_width(&schema->column[i]);
    for (uint32_t i = 0; i < r->rows; i++) {
        float *to = p->x + i * t->cols + first;

        if (r->row[i] >= t->rows)
            continue;
        if (r->spared[r->known + k])
            memset(to, 0, width * sizeof *to);
        else
            memcpy(to, t->x + (size_t)r->charged[r->known + k] * t->cols + first,
                   width * sizeof *to);
        k++;
    }
}

/* Zeros for each row that is unknown, or that of an alignment of labelled rows is not here, or has
 * no more to spend. */
static void clear_lacking(float *h, const struct party_predict *p)
{
    const struct table *t = p->setup->answers.rows;
    const struct predict_round *r = &p->round;
    const size_t width = p->plan.model.embedding;
    uint32_t k = 0;

    for (uint32_t i = 0; i < r->rows; i++) {
        const bool known = r->row[i] < t->rows;

        if (!known || (t->lacks != NULL && t->lacks[r->row[i]] != 0) || r->spared[k] != 0)
            memset(h + i * width, 0, width * sizeof *h);
        k += known;
    }
}

/* Zeros for whoever is left out and for what is not here: a constant that no record is in. */
static float *embed(struct party_predict *p)
{
    const struct table *t = p->setup->answers.rows;
    const struct predict_round *r = &p->round;
    const size_t cols = t->cols, width = p->plan.model.embedding;
    const bool absent = coalition_lacks(&p->asks.ask[r->at.ask].of, p->setup->self);
    const struct contribution_ask *mixes = mixes_here(p);
    float *h;

    for (uint32_t i = 0; i < r->rows; i++) {
        float *to = p->x + i * cols;

        if (r->row[i] < t->rows)
            memcpy(to, t->x + (size_t)r->row[i] * cols, cols * sizeof *to);
        else
            memset(to, 0, cols * sizeof *to);
    }
    if (mixes != NULL)
        mix(p, mixes->column);
    /* The net's own room, and nobody goes back through it. */
    h = p->shown;
    if (h != NULL)
        nn_net_forward_all(&p->net, h, p->x, r->rows);
    else
        h = (float *)(uintptr_t)nn_net_forward(&p->net, p->x, r->rows);
    if (absent)
        memset(h, 0, r->rows * width * sizeof *h);
    else
        clear_lacking(h, p);
    return h;
}

static enum status protect(struct party_predict *p)
{
    const size_t n = (size_t)p->round.rows * p->plan.model.embedding;
    uint8_t key[RNG_KEY_BYTES];
    struct secagg_round round;
    enum status s;
    float *h;

    view_round(p);
    round = round_of(p);
    if (p->setup->start.seeded) {
        rng_seed_key(key, p->setup->start.seed, p->setup->self + 1, "predict", p->round.place);
        rng_rekey(&p->noise, key);
    }
    h = embed(p);
    s = secagg_protect(p->masks, p->payload, p->check, h, n, &round, &p->noise);
    draw_forget(&p->noise);
    return s == STATUS_OK ? s
                          : error_set(p->error, s, "round %llu: %s",
                                      (unsigned long long)p->round.number, status_words(s));
}

/* A share that does not open is the dealer's fault or the server's: nobody here can tell. */
static enum status add_shares(struct party_predict *p)
{
    const size_t n = (size_t)p->round.rows * p->plan.model.embedding;
    const uint8_t *sealed = p->received.data;
    const uint8_t *tags = sealed + secagg_relay_bytes(p->plan.protocol.aggregation, &p->shape,
                                                      SECAGG_PART_ROUND, p->set->self, n);
    const struct secagg_round round = round_of(p);
    uint32_t faulty = 0;
    enum status s = secagg_relay(p->masks, p->payload, sealed, tags, n, &round, &faulty, p->error);

    if (s == STATUS_AUTH)
        error_wrap(p->error, "round %llu: the share of %s (or the server that passed it on)",
                   (unsigned long long)p->round.number,
                   p->setup->roster->party[p->set->members[faulty]].name);
    return s;
}

void predict_work(void *state)
{
    struct party_predict *p = state;
    const uint64_t mode = subnormal_flush();

    program_round(p->setup->start.program);
    p->worked = p->round.summing ? add_shares(p) : protect(p);
    subnormal_restore(mode);
}

/* --- what it made --- */

static void send_share(struct party_predict *p, struct actions *a, size_t n)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_SHARE;
    send->msg.share = (struct wire_shares){
        .generation = p->set->generation,
        .round = p->round.number,
        .purpose = PURPOSE_EVALUATE_TEST,
        .sealed = {p->payload,
                   secagg_share_bytes(agg, &p->shape, SECAGG_PART_ROUND, p->set->self, n)},
        .tags = {p->check, secagg_tag_bytes(agg, &p->shape)},
    };
    p->round.relay_due = true;
}

enum status predict_worked(struct party_predict *p, struct actions *a)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    const size_t n = (size_t)p->round.rows * p->plan.model.embedding;
    struct action *send;

    if (p->worked != STATUS_OK) {
        p->error->status = p->worked;
        return p->worked;
    }
    arm(p, a);
    if (secagg_shares(agg) && !p->round.summing) {
        send_share(p, a, n);
        return STATUS_OK;
    }
    p->rounds++;
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = p->set->generation,
        .round = p->round.number,
        .purpose = PURPOSE_EVALUATE_TEST,
        .payload = {p->payload, secagg_payload_bytes(agg, &p->shape, n)},
        .check = {p->check, secagg_check_bytes(agg, &p->shape)},
    };
    return STATUS_OK;
}

enum status predict_relay(struct party_predict *p, struct actions *a, const struct wire_shares *w)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    const size_t n = (size_t)p->round.rows * p->plan.model.embedding,
                 sealed = secagg_relay_bytes(agg, &p->shape, SECAGG_PART_ROUND, p->set->self, n),
                 tags = secagg_tag_bytes(agg, &p->shape);

    if (!p->round.relay_due || w->generation != p->set->generation || w->round != p->round.number ||
        w->purpose != PURPOSE_EVALUATE_TEST || w->sealed.n != sealed || w->tags.n != tags)
        return violation(p, "relays shares that were not due, round", w->round);
    p->received.len = 0;
    if (buf_append(&p->received, w->sealed.data, sealed) != STATUS_OK ||
        buf_append(&p->received, w->tags.data, tags) != STATUS_OK)
        return error_set(p->error, STATUS_MEMORY, "no memory for shares");
    p->round.relay_due = false;
    p->round.summing = true;
    sm_move(p->sm, PHASE_SUM, p->set->generation);
    actions_add(a, ACTION_WORK)->flops = 8.0 * (double)sealed;
    return STATUS_OK;
}
