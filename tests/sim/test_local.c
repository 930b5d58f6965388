/* test_local.c -- local steps: stale, refreshed, in turns, drawn back; every model beside that of a
 * second computation from the papers, and the twins that must differ.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/expect.h"
#include "tests/sim/local_mirror.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { RUN_US = 60 * 1000000, SETS = 12 };

/* A plain plan and what is added to it: 14 rows in batches of 4, in clear, float32, 3 epochs. */
static struct sim_options options_of(const char *const sets[SETS])
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 14,
        .test_rows = 3,
        .columns = LOCAL_COLUMNS,
        .sets = {"protocol.aggregation=clear", "protocol.encoding=float32", "training.batch=4",
                 "training.epochs=3", "training.optimizer=sgd", "training.learning_rate=0.5",
                 "protocol.local_iterations=3"},
        .party_sets = {"model.layers=[]"},
    };

    for (size_t i = 0, at = 7; i < SETS && sets[i] != NULL; i++)
        o.sets[at++] = sets[i];
    return o;
}

/* What is wrong with a run beside a mirror that slips: the mirror's words, empty when nothing. */
static const char *wrong_with(const char *const sets[SETS], enum local_slip slip)
{
    static struct local_mirror m;
    struct sim_options o = options_of(sets);
    struct sim *s;

    o.quiet = true;
    s = sim_new(&o);
    local_mirror_init(&m, s);
    m.slip = slip;
    sim_run(s, RUN_US);
    expect_completed(s);
    assert_true(m.steps >= 12);
    local_mirror_compare(&m);
    local_mirror_deinit(&m);
    sim_free(s);
    return m.wrong;
}

static void expect_same(const char *const sets[SETS])
{
    const char *wrong = wrong_with(sets, LOCAL_RIGHT);

    if (wrong[0] != 0)
        fail_msg("%s %s %s: %s", sets[0], sets[1] == NULL ? "" : sets[1],
                 sets[1] == NULL || sets[2] == NULL ? "" : sets[2], wrong);
}

static void expect_other(const char *const sets[SETS], enum local_slip slip)
{
    if (wrong_with(sets, slip)[0] == 0)
        fail_msg("%s: a mirror with slip %d agrees all the same", sets[0], (int)slip);
}

/* --- stale --- */

#define BALANCED "training.class_weights=balanced"

static const char *const stale[][SETS] = {
    {"model.fusion=sum"},
    {"model.fusion=mean"},
    {"model.fusion=concat"},
    {"model.fusion=sum", "protocol.proximal=0.4"},
    {"model.fusion=concat", "protocol.proximal=0.4", "training.schedule=inverse_sqrt"},
    {"model.fusion=mean", "training.schedule=inverse_sqrt"},
    {"model.fusion=sum", "training.schedule=inverse_sqrt_parties"},
    {"model.output=identity", "model.embedding=2", "protocol.proximal=0.4"},
    {"model.fusion=sum", BALANCED},
    {"model.fusion=max", "protocol.proximal=0.4"},
};

static void test_stale_steps_are_those_of_the_papers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        expect_same(stale[i]);
}

static void test_other_stale_steps_would_be_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        expect_other(stale[i], LOCAL_ONE_STEP);
    expect_other(stale[3], LOCAL_NO_PULL);
    expect_other(stale[4], LOCAL_NO_PULL);
    expect_other(stale[7], LOCAL_NO_PULL);
    expect_other(stale[8], LOCAL_UNWEIGHTED);
    for (size_t i = 4; i < 7; i++)
        expect_other(stale[i], LOCAL_CONSTANT);
}

/* --- refreshed --- */

enum { WEIGHTS_MAX = 2 * LOCAL_COLUMNS * LOCAL_WIDTH };

/* The weights of all bottoms, polynomials of degree 2, after one local step a round. */
static void polynomials_after(const char *const sets[SETS], float w[LOCAL_PARTIES][WEIGHTS_MAX])
{
    struct sim_options o = options_of(sets);
    struct sim *s;

    o.sets[6] = "protocol.local_iterations=1";
    o.party_sets[1] = "model.polynomial.degree=2";
    s = sim_new(&o);
    sim_run(s, RUN_US);
    expect_completed(s);
    for (uint32_t i = 0; i < LOCAL_PARTIES; i++) {
        const struct party_bottom *b = &inside(s->party[i].session)->learner.bottom;
        const struct nn_layer *l = &b->net.layer[0];

        assert_in_range(b->cut.beyond, b->cut.values / 10, b->cut.values * 9 / 10);
        assert_in_range((size_t)l->in * l->out, 1, WEIGHTS_MAX);
        memcpy(w[i], l->w, sizeof(float) * l->in * l->out);
    }
    sim_free(s);
}

/* The first step of a round is on what was sent, whatever the view: so it is cut off where that
 * was, and a party's head, whatever its layers, gives the gradient that the server's does. */
static void test_one_step_of_polynomials_is_the_same_in_both_views(void **state)
{
    static const char plain[] = "model.head=[]", layers[] = "model.head=[4,{groupnorm: {groups: 2}}"
                                                            ",residual,3,tanh,4,add]";
    static const char *const heads[][2] = {
        {"model.fusion=sum", plain},     {"model.fusion=concat", plain},
        {"model.fusion=max", plain},     {"model.fusion=sum", layers},
        {"model.fusion=concat", layers}, {"model.fusion=max", layers}};

    (void)state;
    for (size_t f = 0; f < sizeof heads / sizeof *heads; f++) {
        const char *const of_stale[SETS] = {heads[f][0], heads[f][1], "model.embedding=4",
                                            "protocol.clip=0.5"};
        const char *const of_fresh[SETS] = {heads[f][0], heads[f][1], "model.embedding=4",
                                            "protocol.clip=0.5", "protocol.local_view=refreshed"};
        float a[LOCAL_PARTIES][WEIGHTS_MAX] = {{0}}, b[LOCAL_PARTIES][WEIGHTS_MAX] = {{0}};

        polynomials_after(of_stale, a);
        polynomials_after(of_fresh, b);
        for (size_t i = 0; i < LOCAL_PARTIES; i++)
            for (size_t k = 0; k < WEIGHTS_MAX; k++)
                assert_true(fabsf(a[i][k] - b[i][k]) < 1e-4F);
    }
}

#define REFRESHED "protocol.local_view=refreshed"

static const char *const fresh[][SETS] = {
    {REFRESHED, "model.fusion=sum"},
    {REFRESHED, "model.fusion=mean"},
    {REFRESHED, "model.fusion=concat"},
    {REFRESHED, "model.fusion=sum", "protocol.label_holders=1"},
    {REFRESHED, "model.fusion=mean", "protocol.label_holders=2"},
    {REFRESHED, "model.fusion=sum", "protocol.label_holders=3"},
    {REFRESHED, "model.fusion=sum", "protocol.proximal=0.4", "training.schedule=inverse_sqrt"},
    {REFRESHED, "model.output=identity", "model.embedding=2"},
    {REFRESHED, "model.output=identity", "model.embedding=2", "protocol.label_holders=1",
     "model.fusion=mean"},
    {REFRESHED, "model.fusion=sum", BALANCED},
    {REFRESHED, "protocol.encoding=fixed", "protocol.fixed.bits=4"},
    {REFRESHED, "protocol.encoding=fixed", "protocol.fixed.bits=4", "model.fusion=concat"},
    {REFRESHED, "protocol.encoding=pbm", "protocol.pbm.beta=0.25", "model.fusion=mean"},
    {REFRESHED, "protocol.encoding=pbm", "protocol.pbm.beta=0.25", "model.fusion=concat"},
    {REFRESHED, "protocol.encoding=fixed", "protocol.fixed.bits=4", "model.fusion=max"},
    {REFRESHED, "model.fusion=max"},
};
enum { FRESH = sizeof fresh / sizeof *fresh, FRESH_WEIGHTED = 9, FRESH_CODES = 10 };
enum { FRESH_EXACT = 15 };

static void test_refreshed_steps_are_those_of_the_papers(void **state)
{
    (void)state;
    for (size_t i = 0; i < FRESH; i++)
        expect_same(fresh[i]);
}

static void test_other_refreshed_steps_would_be_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < FRESH; i++) {
        expect_other(fresh[i], LOCAL_ALL_STALE);
        expect_other(fresh[i], LOCAL_OWN_TWICE);
        expect_other(fresh[i], LOCAL_ONE_STEP);
        if (i != 7 && i != 8) /* nothing of it steps */
            expect_other(fresh[i], LOCAL_LATE_HEAD);
        if (i >= FRESH_CODES && i < FRESH_EXACT)
            expect_other(fresh[i], LOCAL_EXACT);
    }
    expect_other(fresh[FRESH_WEIGHTED], LOCAL_UNWEIGHTED);
}

/* --- turns --- */

#define SEQUENTIAL "protocol.local_order=sequential"

static const char *const in_turns[][SETS] = {
    {SEQUENTIAL, "model.fusion=sum"},
    {SEQUENTIAL, "model.fusion=concat", "training.schedule=inverse_sqrt"},
    {SEQUENTIAL, "model.fusion=mean", "protocol.proximal=0.4"},
    {SEQUENTIAL, REFRESHED, "model.fusion=sum"},
    {SEQUENTIAL, REFRESHED, "model.fusion=concat"},
    {SEQUENTIAL, REFRESHED, "model.fusion=mean", "protocol.label_holders=1"},
    {SEQUENTIAL, REFRESHED, "model.output=identity", "model.embedding=2"},
};

static void test_turns_are_those_of_the_papers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof in_turns / sizeof *in_turns; i++)
        expect_same(in_turns[i]);
}

static void test_steps_all_at_once_would_be_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof in_turns / sizeof *in_turns; i++)
        expect_other(in_turns[i], LOCAL_ALL_AT_ONCE);
}

/* Two batches of three parties: every turn all upload, the step is closed, the next begins. */
static void test_a_batch_is_broadcast_once_for_every_turn(void **state)
{
    static const char *const sets[SETS] = {SEQUENTIAL, "training.epochs=0.5"};
    static const char want[] = "server: broadcast open train 0\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 0 open train 1\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 1 open train 2\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 2 open train 3\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 3 open train 4\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 4 open train 5\n"
                               "p1: upload\np2: upload\np3: upload\n"
                               "server: broadcast close 5 open evaluate test 0\n";
    struct sim_options o = options_of(sets);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, RUN_US);
    expect_completed(s);
    if (strstr(sim_transcript(s), want) == NULL)
        fail_msg("%s", sim_transcript(s));
    for (uint32_t i = 0; i < 3; i++) { /* two batches of four, three times; three rows of a test */
        assert_int_equal(sim_uploaded(s, i), 2 * 4 * 3 + 3);
        assert_int_equal(sim_charged(s, i), sim_uploaded(s, i));
    }
    sim_free(s);
}

/* Steps that go nowhere: then an epoch's score is that of its rows, each counted once. */
static void test_turns_do_not_count_a_row_again_in_the_score(void **state)
{
    static const char *const sets[][SETS] = {{"training.learning_rate=1e-9", SEQUENTIAL},
                                             {"training.learning_rate=1e-9"}};
    double loss[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = options_of(sets[i]);
        struct sim *s;

        o.sets[5] = "training.batch=4"; /* in place of another rate */
        s = sim_new(&o);
        sim_run(s, RUN_US);
        expect_completed(s);
        loss[i] = sim_server_report(s)->measured.scored.train.value[SCORE_LOSS];
        sim_free(s);
    }
    assert_true(fabs(loss[0] - loss[1]) < 1e-6 && loss[0] > 0);
}

struct watch_turns {
    struct sim *sim;
    float weight[3];
    uint64_t steps;
    uint32_t moved[32]; /* bits: whose first weight is another than a step ago */
};

/* Whose models the step before has changed, as its successor is closed. */
static void note_moves(struct wire_msg *m, void *owner)
{
    struct watch_turns *w = owner;
    uint32_t moved = 0;

    if (!m->broadcast.closes || w->steps == 32)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        const float now = party_session_bottom(w->sim->party[i].session)->layer[0].w[0];

        moved |= (uint32_t)(w->weight[i] < now || w->weight[i] > now) << i;
        w->weight[i] = now;
    }
    w->moved[w->steps++] = moved;
}

static void test_parties_step_in_the_order_of_the_roster(void **state)
{
    static const char *const sets[SETS] = {SEQUENTIAL, REFRESHED};
    struct sim_options o = options_of(sets);
    struct watch_turns w = {.sim = sim_new(&o)};

    (void)state;
    sim_rule(w.sim, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 0,
                                      .kind = WIRE_BROADCAST,
                                      .alter = note_moves,
                                      .owner = &w});
    sim_run(w.sim, RUN_US);
    expect_completed(w.sim);
    assert_true(w.steps > 9);
    for (uint64_t i = 1; i < w.steps; i++)
        assert_int_equal(w.moved[i], 1u << (i - 1) % 3);
    sim_free(w.sim);
}

/* --- under secure aggregation --- */

struct models {
    char of[4][65];
};

static struct models models_of(const char *aggregation, const char *const sets[SETS])
{
    struct sim_options o = options_of(sets);
    struct models m;
    struct sim *s;

    o.sets[0] = aggregation;
    o.watch = true;
    s = sim_new(&o);
    sim_run(s, RUN_US);
    expect_completed(s);
    for (int who = SIM_SERVER; who < 3; who++)
        sim_model(s, who, m.of[who + 1]);
    sim_free(s);
    return m;
}

static const char *const hidden[][SETS] = {
    {"protocol.encoding=fixed", "protocol.fixed.bits=12", REFRESHED},
    {"protocol.encoding=pbm", REFRESHED},
    {"protocol.encoding=pbm", REFRESHED, "protocol.label_holders=1"},
    {"protocol.encoding=pbm", REFRESHED, "model.fusion=mean", "protocol.proximal=0.1"},
    {"protocol.encoding=fixed", "protocol.fixed.bits=12", REFRESHED, "model.output=identity",
     "model.embedding=2"},
    {"protocol.encoding=pbm", REFRESHED, "model.head=[3]", "protocol.gradient.type=bfloat16"},
    {"protocol.encoding=pbm", REFRESHED, "protocol.gradient.type=int8"},
};
enum { HIDDEN = sizeof hidden / sizeof *hidden };

static void test_a_hidden_sum_gives_the_models_of_one_in_clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN; i++) {
        const struct models clear = models_of("protocol.aggregation=clear", hidden[i]),
                            masked = models_of("protocol.aggregation=masked", hidden[i]),
                            coded = models_of("protocol.aggregation=coded", hidden[i]);

        if (memcmp(&clear, &masked, sizeof clear) != 0)
            fail_msg("case %zu: masked", i);
        if (memcmp(&clear, &coded, sizeof clear) != 0)
            fail_msg("case %zu: coded", i);
    }
}

/* The twin: a stale view, or another set of holders, ends with other models. */
static void test_hidden_cases_end_with_models_of_their_own(void **state)
{
    static const char *const others[][SETS] = {
        {"protocol.encoding=pbm"},
        {"protocol.encoding=pbm", REFRESHED},
        {"protocol.encoding=pbm", REFRESHED, "protocol.label_holders=1"},
        {"protocol.encoding=pbm", REFRESHED, "protocol.label_holders=2"},
    };
    struct models of[4];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        of[i] = models_of("protocol.aggregation=masked", others[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(&of[i], &of[k], sizeof of[i]);
    }
}

/* --- labels that are not there --- */

static void test_a_plan_that_wants_labels_of_a_party_without_is_refused(void **state)
{
    static const char *const sets[SETS] = {REFRESHED};
    struct sim_options o = options_of(sets);
    struct sim *s;

    (void)state;
    o.unlabelled = true;
    s = sim_new(&o);
    sim_run(s, RUN_US);
    for (uint32_t i = 0; i < 3; i++) {
        const struct sim_end *end = sim_party_end(s, i);

        assert_int_equal(end->outcome, OUTCOME_FAILED);
        assert_int_equal(status_kind(end->error.status), STATUS_KIND_CONFIG);
        assert_int_equal(sim_uploaded(s, i) + sim_charged(s, i), 0);
    }
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "data.labels.train: is not set"));
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "refreshed"));
    assert_int_equal(status_kind(sim_server_end(s)->error.status), STATUS_KIND_CONFIG);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p1"));
    assert_non_null(strstr(sim_server_end(s)->error.text, "data.labels.train"));
    sim_free(s);
}

/* A server writes the task and the outputs as it likes. */
static void test_a_label_that_the_head_has_no_class_for_counts_as_0(void **state)
{
    static const struct {
        enum plan_task task;
        uint32_t outputs;
        float want[3];
    } cases[] = {{TASK_AUTO, 1, {0, 0, 0}},
                 {TASK_AUTO, 2, {0, 1, 0}},
                 {TASK_BINARY, 2, {0, 1, 0}},
                 {TASK_MULTICLASS, 3, {0, 1, 2}}};
    float x[3] = {0, 1, 2};
    const struct table labels = {.rows = 3, .cols = 1, .x = x};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct party_refresh f;
        struct error err = {0};
        struct plan p;

        plan_defaults(&p);
        p.protocol.local_view = VIEW_REFRESHED;
        p.training.batch = 3;
        p.model.task = cases[i].task;
        p.shape.parties = p.shape.train_rows = 3;
        p.shape.outputs = cases[i].outputs;
        assert_int_equal(party_refresh_init(&f, &p, 0, &labels, &err), STATUS_OK);
        assert_memory_equal(f.target, cases[i].want, sizeof x);
        party_refresh_deinit(&f);
    }
}

/* Whoever keeps the gradient needs none. */
static void test_labels_are_wanted_of_their_holders_alone(void **state)
{
    static const char *const sets[][SETS] = {
        {"protocol.local_view=stale"},
        {SEQUENTIAL},
        {REFRESHED, "protocol.label_holders=1"},
        {REFRESHED, "protocol.label_holders=1", SEQUENTIAL},
        {REFRESHED, "protocol.label_holders=2"}, /* the negative twin: p2 is one */
    };

    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct sim_options o = options_of(sets[i]);
        struct sim *s = sim_new(&o);

        for (uint32_t p = i < 2 ? 0 : 1; p < 3; p++)
            s->party[p].session->setup.data.labels = NULL;
        sim_run(s, RUN_US);
        if (i < 4)
            expect_completed(s);
        else
            assert_int_equal(status_kind(sim_party_end(s, 1)->error.status), STATUS_KIND_CONFIG);
        sim_free(s);
    }
}

/* The labels are the same table at all parties, so all who look at it find what is wrong. */
static void expect_labels_refused(struct sim *s, const char *words)
{
    sim_run(s, RUN_US);
    if (strstr(sim_party_end(s, 0)->error.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", sim_party_end(s, 0)->error.text, words);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 2);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    assert_non_null(strstr(sim_server_end(s)->error.text, words));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sim_uploaded(s, i), 0);
    sim_free(s);
}

static void test_labels_that_are_not_the_plans_are_refused(void **state)
{
    static const char *const sets[SETS] = {REFRESHED, "protocol.label_holders=1"};
    struct sim_options o = options_of(sets);
    struct sim *s = sim_new(&o);

    (void)state;
    s->labels.rows = 13;
    expect_labels_refused(s, "data.labels.train: 13 labels of 14 training rows");
}

/* What a record's label is must not show in who ends a run (docs/security.md, G1). */
static void test_a_label_that_is_none_of_the_plans_counts_as_nought(void **state)
{
    static const char *const sets[SETS] = {REFRESHED, "protocol.label_holders=1"};
    static const float labels[] = {0, 2, 0.5F, -1, 3e38F};
    struct sim_options o = options_of(sets);
    char want[65], model[65];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct sim *s = sim_new(&o);
        float own[14];
        struct table table = s->labels;

        memcpy(own, s->labels.x, sizeof own);
        own[3] = labels[i];
        table.x = own;
        s->party[0].session->setup.data.labels = &table;
        sim_run(s, RUN_US);
        expect_completed(s);
        sim_model(s, 0, i == 0 ? want : model);
        if (i > 0)
            assert_string_equal(model, want);
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_steps_are_those_of_the_papers),
        cmocka_unit_test(test_other_stale_steps_would_be_seen),
        cmocka_unit_test(test_one_step_of_polynomials_is_the_same_in_both_views),
        cmocka_unit_test(test_refreshed_steps_are_those_of_the_papers),
        cmocka_unit_test(test_other_refreshed_steps_would_be_seen),
        cmocka_unit_test(test_turns_are_those_of_the_papers),
        cmocka_unit_test(test_steps_all_at_once_would_be_seen),
        cmocka_unit_test(test_a_batch_is_broadcast_once_for_every_turn),
        cmocka_unit_test(test_turns_do_not_count_a_row_again_in_the_score),
        cmocka_unit_test(test_parties_step_in_the_order_of_the_roster),
        cmocka_unit_test(test_a_hidden_sum_gives_the_models_of_one_in_clear),
        cmocka_unit_test(test_hidden_cases_end_with_models_of_their_own),
        cmocka_unit_test(test_a_plan_that_wants_labels_of_a_party_without_is_refused),
        cmocka_unit_test(test_a_label_that_the_head_has_no_class_for_counts_as_0),
        cmocka_unit_test(test_labels_are_wanted_of_their_holders_alone),
        cmocka_unit_test(test_labels_that_are_not_the_plans_are_refused),
        cmocka_unit_test(test_a_label_that_is_none_of_the_plans_counts_as_nought),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
