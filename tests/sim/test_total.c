/* test_total.c -- whatever a record's values are, what its party lets others see is the same: every
 * message, in the same order, and a good end (docs/security.md, G1).
 *
 * Values are put into the tables behind the limit of loading (common/data/table.h), so that
 * overflow is met where it is worst: inside of models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RUN_US = 600 * 1000000, SETS = 10, ROWS = 4, VICTIM = 0, RECORD = 2 };

static const float values[] = {0, 100, 1e-40F, 1e12F, 3e38F, -3e38F, FLT_MAX};
enum { VALUES = sizeof values / sizeof *values };

struct setting {
    const char *sets[SETS];
    const char *party_sets[SETS];
};

#define WILD "training.learning_rate=1000", "protocol.local_iterations=5"
#define DEEP "model.layers=[6, 6, 6, 6, 6, 6, 6, 6]"
#define POLYNOMIAL "model.layers=[]", "model.polynomial.degree=8"
#define CLEAR "protocol.aggregation=clear"

static const struct setting settings[] = {
    /* The two of the review: noise that grows in the weights, and inputs that overflow. */
    {{WILD}, {"model.train=dp", "model.noise=15", DEEP}},
    {{"model.init=he"}, {"model.train=frozen", "model.layers=[8, 8]"}},
    {{"model.init=he", "training.releases=once"}, {"model.train=frozen", "model.layers=[8, 8]"}},
    {{WILD}, {DEEP}},
    {{WILD, "training.optimizer=momentum"}, {DEEP}},
    {{WILD, "training.optimizer=adam"}, {DEEP, "model.activation=tanh"}},
    {{WILD, "protocol.proximal=0.001"}, {DEEP}},
    {{WILD, "model.head=[5]"}, {POLYNOMIAL}},
    {{WILD}, {POLYNOMIAL, "model.train=dp", "model.noise=15"}},
    {{WILD, "protocol.aggregation=coded"}, {DEEP}},
    {{WILD, "protocol.aggregation=fedvs", "protocol.encoding=fixed", "protocol.fedvs.x_max=2"},
     {POLYNOMIAL}},
    {{WILD, CLEAR, "protocol.encoding=float32"}, {POLYNOMIAL}},
    {{WILD, CLEAR, "protocol.encoding=gaussian"}, {DEEP}},
    {{WILD, "protocol.encoding=gaussian"}, {POLYNOMIAL}},
    {{WILD, CLEAR, "protocol.encoding=e8", "protocol.error_feedback=true"}, {POLYNOMIAL}},
    {{WILD, CLEAR, "protocol.encoding=topk", "protocol.error_feedback=true"}, {POLYNOMIAL}},
    {{WILD, "protocol.local_view=refreshed"}, {DEEP}},
    {{WILD, "protocol.local_view=refreshed", CLEAR, "protocol.encoding=topk"}, {POLYNOMIAL}},
    {{WILD, "protocol.local_view=refreshed", "model.head=[5, 5]"},
     {"model.train=dp", "model.noise=15", DEEP}},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static struct sim *begin(const struct setting *setting, float value, bool quiet)
{
    static const char *const sets[] = {"training.batch=1", "training.epochs=2"};
    static const char *const party_sets[] = {
        "policy.max_learning_rate=1000", "policy.gradient_clip=1e9",
        "policy.encodings=[pbm, fixed, float32, gaussian, scalar, lattice, e8, topk]"};
    struct sim_options o = {.parties = 3,
                            .train_rows = ROWS,
                            .test_rows = 2,
                            .columns = 3,
                            .unseeded = true,
                            .quiet = quiet,
                            .checkpoint_rounds = 3};
    size_t n = sizeof sets / sizeof *sets, m = sizeof party_sets / sizeof *party_sets;
    struct table *t;
    struct sim *s;

    memcpy(o.sets, sets, sizeof sets);
    memcpy(o.party_sets, party_sets, sizeof party_sets);
    for (size_t i = 0; i < SETS && setting->sets[i] != NULL; i++)
        o.sets[n++] = setting->sets[i];
    for (size_t i = 0; i < SETS && setting->party_sets[i] != NULL; i++)
        o.party_sets[m++] = setting->party_sets[i];
    s = sim_new(&o);
    t = sim_party_train(s, VICTIM);
    memset(t->x, 0, t->rows * t->cols * sizeof *t->x);
    for (size_t c = 0; c < t->cols; c++)
        t->x[RECORD * t->cols + c] = c % 2 == 0 ? value : -value;
    return s;
}

/* A whole run; with a death of the victim's process in between when `dies`. */
static char *transcript_of(const struct setting *setting, float value, bool dies)
{
    struct sim *s = begin(setting, value, false);
    char *out;

    if (dies)
        sim_rule(s,
                 (struct sim_rule){.act = SIM_KILL, .from = VICTIM, .kind = WIRE_UPLOAD, .nth = 5});
    sim_run(s, RUN_US);
    expect_completed(s);
    out = strdup(sim_transcript(s));
    assert_non_null(out);
    sim_free(s);
    return out;
}

static void expect_one_transcript(bool dies)
{
    for (size_t k = 0; k < SETTINGS; k++) {
        char *want = transcript_of(&settings[k], values[0], dies);

        for (size_t v = 1; v < VALUES; v++) {
            char *got = transcript_of(&settings[k], values[v], dies);

            if (strcmp(got, want) != 0)
                fail_msg("setting %zu: the transcript with %g is another one", k,
                         (double)values[v]);
            free(got);
        }
        free(want);
    }
}

static void test_neighbours_let_out_the_same_messages(void **state)
{
    (void)state;
    expect_one_transcript(false);
}

static void test_neighbours_come_back_the_same_after_a_death(void **state)
{
    (void)state;
    expect_one_transcript(true);
}

static bool finite_state(const struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];
        const float *parts[] = {l->w, l->m1, l->m2};

        for (size_t k = 0; k < 3; k++)
            for (size_t j = 0; parts[k] != NULL && j < nn_layer_params(l); j++)
                if (!isfinite(parts[k][j]))
                    return false;
    }
    return true;
}

static void test_weights_and_optimiser_stay_finite_and_passes_were_lost_on_the_way(void **state)
{
    uint64_t lost = 0;

    (void)state;
    for (size_t k = 0; k < SETTINGS; k++) {
        struct sim *s = begin(&settings[k], FLT_MAX, true);

        sim_run(s, RUN_US);
        expect_completed(s);
        for (uint32_t i = 0; i < 3; i++)
            assert_true(finite_state(&inside(s->party[i].session)->learner.bottom.net));
        lost += inside(s->party[VICTIM].session)->learner.bottom.cut.lost;
        sim_free(s);
    }
    assert_true(lost > 0); /* or nothing here was ever tried */
}

/* --- times --- */

static struct {
    uint32_t asked, flushed;
} probe;

/* A session's clock is read where its work begins and ends. */
static uint64_t probing_clock(void)
{
    volatile float least = FLT_MIN, half = 0.5F, subnormal = 1e-40F, many = 0x1p100F;

    probe.asked++;
    probe.flushed += least * half == 0 && subnormal * many == 0;
    return 0;
}

static void test_where_a_party_computes_what_is_too_small_is_nought(void **state)
{
    struct sim *s = begin(&settings[0], 0, true);

    (void)state;
    memset(&probe, 0, sizeof probe);
    s->party[VICTIM].session->setup.clock_us = probing_clock;
    sim_run(s, RUN_US);
    expect_completed(s);
    assert_true(probe.asked > 20);
    assert_int_equal(probe.flushed, probe.asked);
    assert_int_equal(probing_clock(), 0);
    assert_int_equal(probe.flushed, probe.asked - 1); /* and nowhere else */
    sim_free(s);
}

/* --- plans --- */

/* The plan that blew weights up by (lr mu)^(Q - 1) in each round. */
static void break_plan(struct wire_msg *m, void *owner)
{
    static char text[PLAN_TEXT_MAX];
    static const char from[] = "protocol.proximal=0.1\n", to[] = "protocol.proximal=560\n";
    const char *data = (const char *)m->offer.job.text.data;
    const char *at = memmem(data, m->offer.job.text.n, from, sizeof from - 1);
    const size_t head = (size_t)(at - data), tail = m->offer.job.text.n - head - (sizeof from - 1);

    (void)owner;
    assert_non_null(at);
    memcpy(text, data, head);
    memcpy(text + head, to, sizeof to - 1);
    memcpy(text + head + sizeof to - 1, at + sizeof from - 1, tail);
    m->offer.job.text = (struct wire_bytes){(const uint8_t *)text, head + sizeof to - 1 + tail};
}

static void test_a_plan_that_cannot_stay_finite_is_refused_by_the_party(void **state)
{
    static const struct setting pulls = {
        {"training.learning_rate=1", "protocol.local_iterations=5", "protocol.proximal=0.1"},
        {"model.train=dp", "model.noise=15"}};
    struct sim *s = begin(&pulls, 0, false);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = VICTIM,
                                  .kind = WIRE_OFFER,
                                  .alter = break_plan});
    sim_run(s, RUN_US);
    assert_int_equal(sim_party_end(s, VICTIM)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_party_end(s, VICTIM)->error.text, "protocol.proximal: times"));
    assert_int_equal(sim_uploaded(s, VICTIM) + sim_charged(s, VICTIM), 0);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_let_out_the_same_messages),
        cmocka_unit_test(test_neighbours_come_back_the_same_after_a_death),
        cmocka_unit_test(test_weights_and_optimiser_stay_finite_and_passes_were_lost_on_the_way),
        cmocka_unit_test(test_where_a_party_computes_what_is_too_small_is_nought),
        cmocka_unit_test(test_a_plan_that_cannot_stay_finite_is_refused_by_the_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
