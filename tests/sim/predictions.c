/* predictions.c -- what predictions.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/predictions.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/daemon/package.h"
#include "common/flow/job.h"
#include "common/flow/prediction.h"
#include "party/core.h"
#include "party/predict/predict.h"
#include "server/parts.h"
#include "tests/sim/packages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct party_job *const jobs[] = {&party_predict_job, &party_contribute_job, NULL};
static const struct table none;

/* --- models and rows --- */

static void make_models(struct play *p)
{
    const uint32_t width = p->plan.model.embedding;
    const struct nn_spec bottom = {.layers = 1,
                                   .width = {COLS, width},
                                   .act = {NN_ACT_TANH},
                                   .out_scale = (float)p->plan.protocol.clip,
                                   .rows_max = 1};

    for (uint32_t i = 0; i < PARTIES; i++)
        packages_bottom(&p->player[i].model, &p->plan, &bottom, i);
    packages_head(&p->head, &p->plan, PARTIES);
}

/* Every row is there, and a table says which are not only where some may not be. */
static void place(struct play *p, struct table *t)
{
    t->own.any = true;
    memcpy(t->own.alignment, p->placed.places.digest, sizeof t->own.alignment);
    if (p->placed.file.labelled)
        t->lacks = mem_alloc(ROWS, 1);
}

/* Ids 1000, 1001, ..., or places; asked for backwards. */
static void make_rows(struct play *p)
{
    size_t used = 0;

    for (uint32_t i = 0; i < PARTIES; i++) {
        struct table *t = &p->player[i].rows;

        *t = (struct table){.rows = ROWS, .cols = COLS};
        t->x = mem_alloc((size_t)ROWS * COLS, sizeof *t->x);
        t->id_text = mem_alloc(ROWS, 5);
        t->id_at = mem_alloc(ROWS, sizeof *t->id_at);
        CHECK(t->x != NULL && t->id_text != NULL && t->id_at != NULL);
        for (uint32_t r = 0; r < ROWS; r++) {
            t->id_at[r] = 5 * r;
            snprintf(t->id_text + t->id_at[r], 5, "%u", p->id_first + r);
            for (uint32_t c = 0; c < COLS; c++)
                t->x[r * COLS + c] = cosf((float)(r + 3 * c + 11 * i));
        }
        if (p->id_first == 0)
            place(p, t);
    }
    for (uint32_t r = 0; r < ROWS; r++) {
        p->at[r] = (uint32_t)used;
        used += (size_t)snprintf(p->ids + used, sizeof p->ids - used, "%u\n",
                                 p->id_first + ROWS - 1 - r);
    }
    p->at[ROWS] = (uint32_t)used;
}

/* --- what sessions ask for --- */

static void post(struct play *p, uint32_t who, bool up, const struct wire_msg *m)
{
    struct letter *l = &p->queue[(p->first + p->n++) % QUEUE];

    CHECK(p->n <= QUEUE);
    *l = (struct letter){.who = who, .up = up};
    buf_init(&l->frame, FRAME_MAX);
    assert_int_equal(wire_pack(&l->frame, m), STATUS_OK);
}

static void tell_party(struct play *p, uint32_t i, struct event e);

static void charge(struct play *p, uint32_t i, const struct action_charge *c)
{
    struct player *who = &p->player[i];
    struct error result = {0};

    if (c->give_back)
        return;
    assert_true(c->predicts);
    assert_int_equal(c->rounds, 1);
    /* As many places as rows were asked for, of contributions perhaps twice, whoever has them. */
    assert_true(c->places == c->asked || (c->contributes && c->places == 2 * c->asked));
    assert_true(c->n <= c->places);
    assert_true((c->spared != NULL) == (who->rows.lacks != NULL));
    for (size_t k = 0; k < c->n && c->spared != NULL; k++)
        c->spared[k] = who->spent[c->rows[k]];
    who->charges++;
    if (who->charges == who->fail_at) {
        error_set(&result, STATUS_BUDGET, "policy.max_releases.total: no more");
    } else {
        who->charged += c->n;
        who->unknown += c->unknown;
        p->s->party[i].disk.ledger.number += c->rounds;
    }
    tell_party(p, i, (struct event){.kind = EVENT_CHARGED, .error = &result});
}

static void party_asks(struct play *p, uint32_t i, const struct action *a)
{
    static const struct error well = {0};
    struct player *who = &p->player[i];

    switch ((int)a->kind) {
    case ACTION_SEND:
        who->sent += a->msg.kind == WIRE_SHARE ||
                     (a->msg.kind == WIRE_UPLOAD && !secagg_shares(p->plan.protocol.aggregation));
        assert_true(who->sent <= who->charges); /* nothing leaves that is not charged */
        post(p, i, true, &a->msg);
        break;
    case ACTION_WORK:
        party_session_work(who->session);
        tell_party(p, i, (struct event){.kind = EVENT_DONE, .error = &well});
        break;
    case ACTION_CHARGE: charge(p, i, &a->charge); break;
    case ACTION_FINISH:
        who->ended = true;
        who->why = a->error.status;
        break;
    default: break;
    }
}

static void tell_party(struct play *p, uint32_t i, struct event e)
{
    struct actions *a = mem_alloc(1, sizeof *a);

    CHECK(a != NULL);
    party_session_step(p->player[i].session, 0, &e, a);
    for (size_t k = 0; k < a->n; k++)
        party_asks(p, i, &a->item[k]);
    mem_free(a);
}

static void tell_server(struct play *p, struct event e)
{
    struct actions *a = mem_alloc(2, sizeof *a);
    static const struct error well = {0};

    CHECK(a != NULL);
    server_session_step(p->server, 0, &e, a);
    for (size_t k = 0; k < a->n; k++) {
        const struct action *act = &a->item[k];

        for (size_t to = 0; act->kind == ACTION_SEND && to < act->to_n; to++)
            post(p, act->to[to], false, &act->msg);
        if (act->kind == ACTION_WORK) {
            server_session_work(p->server, &a[1]);
            tell_server(p, (struct event){.kind = EVENT_DONE, .error = &well});
        } else if (act->kind == ACTION_FINISH) {
            p->ended = true;
            p->outcome = act->outcome;
            p->error = act->error;
        }
    }
    mem_free(a);
}

/* --- a play --- */

static struct play *spender; /* whose parties ask what was spent */

static size_t spent_before(void *owner, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    (void)owner;
    out[0] = (struct account_entry){.kind = ACCOUNT_PBM,
                                    .trials = 4,
                                    .beta = 0.1,
                                    .bottom = ACCOUNT_FROZEN,
                                    .coordinates = 2,
                                    .parties = PARTIES,
                                    .colluders = 1,
                                    .releases = spender->released,
                                    .participations_max = spender->released};
    return spender->released > 0;
}

static void make_party(struct play *p, uint32_t i)
{
    struct player *who = &p->player[i];
    struct party_setup setup = p->s->party[i].session->setup;
    struct error err = {0};

    setup.jobs = jobs;
    setup.data.train = setup.data.test = &none;
    setup.start.seeded = true;
    setup.answers = (struct party_answers){.model = &who->model, .rows = &who->rows};
    spender = p;
    setup.ledger.spent = spent_before;
    assert_int_equal(party_session_new(&who->session, &setup, &err), STATUS_OK);
}

static void drop_letters(struct play *p, uint32_t who)
{
    for (size_t k = 0; k < p->n; k++) {
        struct letter *l = &p->queue[(p->first + k) % QUEUE];

        if (l->who == who)
            l->frame.len = 0;
    }
}

static void lie(struct play *p)
{
    struct server_predict *asking = p->server->predict;
    struct contribution_round at;
    char *id;

    assert_true(contribution_at(&at, &asking->asks, &asking->about, asking->place));
    id = p->ids + p->at[at.row];

    if (p->manner == SERVER_REPEATS)
        asking->place = 0;
    if (p->manner == SERVER_CHANGES)
        id[0] = '2';
    for (uint32_t i = 0; i < PARTIES; i++)
        p->server->fed.peer[i].losses = 0;
}

/* The connection of one ends: both hear of it, what was on its way is lost, and it comes again. */
static void lose(struct play *p, uint32_t who)
{
    static const struct error gone = {.status = STATUS_NET};

    drop_letters(p, who);
    if (p->manner != SERVER_RIGHT)
        lie(p);
    tell_server(p, (struct event){.kind = EVENT_LOST, .peer = who, .error = &gone});
    tell_party(p, who, (struct event){.kind = EVENT_LOST, .error = &gone});
    tell_party(p, who, (struct event){.kind = EVENT_JOINED});
}

/* kill -9 of one's process: what it had in memory is gone, its ledger is not, and another comes. */
static void restart(struct play *p, uint32_t who)
{
    static const struct error gone = {.status = STATUS_NET};

    drop_letters(p, who);
    party_session_free(p->player[who].session);
    make_party(p, who);
    tell_server(p, (struct event){.kind = EVENT_LOST, .peer = who, .error = &gone});
    tell_party(p, who, (struct event){.kind = EVENT_START});
    tell_party(p, who, (struct event){.kind = EVENT_JOINED});
}

/* The upload that is due. */
static bool is_lost(struct play *p, uint32_t who)
{
    const uint32_t nth = ++p->player[who].uploads;

    return ++p->uploads == p->lose_at ||
           (p->lose_but > 0 && who == p->lose_who && nth % p->lose_but != 0);
}

static void deliver(struct play *p, struct letter *l)
{
    struct error err = {0};
    struct wire_msg m;

    p->delivered++;
    if (p->delivered == p->kill_at && !p->player[p->kill_who].ended)
        restart(p, p->kill_who);
    if (l->frame.len == 0)
        return;
    assert_int_equal(wire_unpack(&m, &p->unpacker, l->frame.data, l->frame.len, &err), STATUS_OK);
    if (l->up && m.kind == WIRE_UPLOAD && is_lost(p, l->who)) {
        lose(p, l->who);
        return;
    }
    if (!l->up && !p->player[l->who].ended)
        tell_party(p, l->who, (struct event){.kind = EVENT_MESSAGE, .msg = &m});
    else if (l->up && !p->ended)
        tell_server(p, (struct event){.kind = m.kind == WIRE_JOIN ? EVENT_JOINED : EVENT_MESSAGE,
                                      .peer = l->who,
                                      .msg = &m});
}

static uint64_t still(void)
{
    return 0;
}

static void begin(struct play *p, const char *const *sets, uint32_t absent)
{
    struct sim_options o = {.parties = PARTIES, .quiet = true};
    struct server_setup server = {.clock_us = still, .id_mismatches = 4};
    struct error err = {0};

    for (size_t i = 0; sets[i] != NULL; i++)
        o.sets[i] = sets[i];
    o.party_sets[0] = "policy.encodings=[pbm,fixed,float32]";
    o.party_sets[1] = "policy.aggregations=[masked,coded,clear]";
    o.party_sets[2] = "policy.contribute.max_rows=2500";
    o.party_sets[3] = "policy.contribute.columns=2";
    o.party_sets[4] = p->released > 0 ? "policy.max_releases.record=9" : NULL;
    p->s = sim_new(&o);
    p->plan = p->s->plan;
    make_models(p);
    make_rows(p);
    assert_int_equal(wire_unpacker_init(&p->unpacker, FRAME_MAX), STATUS_OK);
    p->asked = (struct server_question){
        .model = &p->head, .ids = p->ids, .at = p->at, .rows = ROWS, .by = "clinic"};
    for (uint32_t i = 0; i < PARTIES; i++)
        p->asked.absent[i] = absent >> i & 1;
    if (p->asks.n > 0)
        p->asked.asks = &p->asks;
    if (p->id_first == 0)
        p->asked.placed = &p->placed;
    server.asked = &p->asked;
    server.roster = &p->s->roster;
    server.counts = compared_counts(&p->s->disk.compared);
    assert_int_equal(server_session_new(&p->server, &server, &err), STATUS_OK);
    for (uint32_t i = 0; i < PARTIES; i++)
        make_party(p, i);
}

void predictions_begin(struct play *p, const char *const *sets)
{
    predictions_begin_absent(p, sets, 0);
}

void predictions_begin_absent(struct play *p, const char *const *sets, uint32_t absent)
{
    *p = (struct play){.id_first = 1000};
    begin(p, sets, absent);
}

static void name_places(struct play *p, bool labelled)
{
    *p = (struct play){.placed.file = {.name = "q3", .labelled = labelled}};
    memset(p->placed.places.digest, 0xa5, sizeof p->placed.places.digest);
}

void predictions_begin_placed(struct play *p, const char *const *sets, bool labelled)
{
    name_places(p, labelled);
    begin(p, sets, 0);
}

static void ask_contributions(struct play *p)
{
    static struct coalition list[COALITIONS_MAX];
    size_t n;

    assert_int_equal(coalitions_list(list, &n, PARTIES, 0), STATUS_OK);
    assert_int_equal(contribution_init(&p->asks, (uint32_t)n + COLS), STATUS_OK);
    p->asks.seed = 77;
    for (size_t i = 0; i < n + COLS; i++) {
        if (i < n)
            p->asks.ask[i].of = list[i];
        else
            p->asks.ask[i] = (struct contribution_ask){
                .mixes = true, .party = MIXER, .column = (uint32_t)(i - n)};
    }
}

void predictions_begin_contributions(struct play *p, const char *const *sets)
{
    *p = (struct play){.id_first = 1000};
    ask_contributions(p);
    begin(p, sets, 0);
}

void predictions_begin_spent(struct play *p, const char *const *sets, bool labelled)
{
    name_places(p, labelled);
    p->released = 9;
    begin(p, sets, 0);
}

void predictions_begin_contributions_labelled(struct play *p, const char *const *sets)
{
    name_places(p, true);
    ask_contributions(p);
    begin(p, sets, 0);
}

void predictions_play(struct play *p)
{
    tell_server(p, (struct event){.kind = EVENT_START});
    for (uint32_t i = 0; i < PARTIES; i++) {
        tell_party(p, i, (struct event){.kind = EVENT_START});
        tell_party(p, i, (struct event){.kind = EVENT_JOINED});
    }
    while (p->n > 0) {
        struct letter l = p->queue[p->first];

        p->first = (p->first + 1) % QUEUE;
        p->n--;
        deliver(p, &l);
        buf_deinit(&l.frame);
    }
}

void predictions_end(struct play *p)
{
    for (uint32_t i = 0; i < PARTIES; i++) {
        party_session_free(p->player[i].session);
        package_deinit(&p->player[i].model);
        table_deinit(&p->player[i].rows);
    }
    server_session_free(p->server);
    package_deinit(&p->head);
    contribution_deinit(&p->asks);
    wire_unpacker_deinit(&p->unpacker);
    sim_free(p->s);
}

/* Behind the weights and biases of the head, by rows; nothing where it has none. */
static double stand_in(const struct play *p, uint32_t outputs, uint32_t party, uint32_t e)
{
    const uint32_t width = p->plan.model.embedding, at = (width + 1) * outputs + party * width + e;

    return p->plan.training.party_dropout > 0 ? (double)sinf((float)(at + 7 * PARTIES)) : 0;
}

/* What party i's embedding of these cells is, or what stands for it. */
static double embedded(const struct play *p, uint32_t i, uint32_t e, const float *x)
{
    const uint32_t width = p->plan.model.embedding;
    double z = (double)sinf((float)(COLS * width + e + 7 * i));

    for (uint32_t c = 0; c < COLS; c++)
        z += (double)x[c] * (double)sinf((float)(c * width + e + 7 * i));
    return p->plan.protocol.clip * tanh(z);
}

/* The cells of this row at party i; of who mixes, a column is another row's. */
static void cells_of(float x[COLS], const struct play *p, const struct contribution_ask *ask,
                     uint32_t i, const uint32_t row[2])
{
    const float *t = p->player[i].rows.x;

    memcpy(x, t + (size_t)row[0] * COLS, COLS * sizeof *x);
    if (ask->mixes && ask->party == i)
        x[ask->column] = p->player[i].spent[row[1]] ? 0 : t[(size_t)row[1] * COLS + ask->column];
}

static bool has_none(const struct play *p, uint32_t i, uint32_t row)
{
    const struct table *t = &p->player[i].rows;

    return t->lacks != NULL && (t->lacks[row] != 0 || p->player[i].spent[row]);
}

static double row_apart(const struct play *p, const struct contribution_ask *ask,
                        const uint32_t row[2], const float *got)
{
    const uint32_t width = p->plan.model.embedding, outputs = p->server->predict->head.outputs;
    double logit[8] = {0}, sum = 0, most = 0;

    for (uint32_t e = 0; e < width; e++) {
        double h = 0;

        for (uint32_t i = 0; i < PARTIES; i++) {
            const bool absent = p->asks.n > 0 ? coalition_lacks(&ask->of, i) : p->asked.absent[i];
            float x[COLS];

            cells_of(x, p, ask, i, row);
            h += absent                   ? stand_in(p, outputs, i, e)
                 : has_none(p, i, row[0]) ? 0
                                          : embedded(p, i, e, x);
        }
        for (uint32_t k = 0; k < outputs; k++)
            logit[k] += h * (double)sinf((float)(e * outputs + k + 7 * PARTIES));
    }
    for (uint32_t k = 0; k < outputs; k++)
        sum += exp(logit[k] + (double)sinf((float)(width * outputs + k + 7 * PARTIES)));
    for (uint32_t k = 0; k < outputs; k++)
        most = fmax(
            most,
            fabs(exp(logit[k] + (double)sinf((float)(width * outputs + k + 7 * PARTIES))) / sum -
                 (double)got[k]));
    return most;
}

/* The largest difference between what came out and what the packages make of the rows. */
double predictions_apart(const struct play *p)
{
    const struct server_predict *got = server_session_predictions(p->server);
    static uint32_t donor[ROWS];
    double most = 0;

    for (uint64_t place = 0; place < got->places;) {
        struct contribution_round at;
        const struct contribution_ask *ask;

        assert_true(contribution_at(&at, &got->asks, &got->about, place));
        ask = &got->asks.ask[at.ask];
        for (uint32_t r = 0; r < at.rows; r++)
            donor[r] = ROWS - 1 - at.row - r;
        if (ask->mixes)
            assert_int_equal(
                coalitions_shuffle(donor, at.rows, got->asks.seed, ask->party, "mixed", place),
                STATUS_OK);
        for (uint32_t r = 0; r < at.rows; r++) {
            const uint32_t row[2] = {ROWS - 1 - at.row - r, donor[r]};

            most =
                fmax(most, row_apart(p, ask, row, got->scores + (place + r) * got->head.outputs));
        }
        place += at.rows;
    }
    return most;
}

const char *const predictions_clear[] = {"protocol.encoding=float32", "protocol.aggregation=clear",
                                         "model.embedding=2", NULL};
const char *const predictions_fixed[] = {"protocol.encoding=fixed", "model.embedding=2", NULL};
const char *const predictions_coded[] = {"protocol.encoding=fixed", "protocol.aggregation=coded",
                                         "protocol.fixed.bits=12", "model.embedding=2", NULL};
const char *const predictions_dropout[] = {"protocol.encoding=float32",
                                           "protocol.aggregation=clear", "model.embedding=2",
                                           "training.party_dropout=0.2", NULL};
const char *const predictions_pbm[] = {"protocol.encoding=pbm", "model.embedding=2", NULL};

void predictions_complete(const struct play *p)
{
    if (!p->ended || p->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", p->error.text);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_true(p->player[i].ended ? p->player[i].why == STATUS_OK
                                       : p->kill_at > 0 && i == p->kill_who);
}
