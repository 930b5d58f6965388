/* test_multilabel.c -- runs whose rows have several labels, some of them not known.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, LABELS = 5 };

struct mode {
    const char *set[6], *party_set[4];
};

static const struct mode modes[] = {
    {.set = {"training.class_weights=balanced"}},
    {.set = {"protocol.aggregation=coded", "model.head=[4]"}},
    {.set = {"model.output=identity", "model.embedding=5"}},
    {.set = {"protocol.gradient.form=factored", "training.releases=once", "model.init=he"},
     .party_set = {"model.train=frozen"}},
    {.set = {"protocol.aggregation=clear", "protocol.encoding=float32", "protocol.straggler=async"},
     .party_set = {"policy.encodings=[float32]", "policy.aggregations=[clear]"}},
    {.set = {"protocol.aggregation=fedvs", "protocol.encoding=fixed", "model.fusion=mean"},
     .party_set = {"model.layers=[]", "model.polynomial.degree=1", "policy.encodings=[fixed]"}},
};
enum { MODES = sizeof modes / sizeof modes[0] };

static struct sim_options options(const struct mode *m)
{
    struct sim_options o = {
        .parties = PARTIES,
        .train_rows = 18,
        .test_rows = 14,
        .classes = LABELS,
        .checkpoint_rounds = 2,
        .sets = {"model.task=multilabel", "training.batch=6", "training.epochs=2"},
        .party_sets = {"policy.min_parties=2"}};
    size_t n = 3, parties = 1;

    for (size_t i = 0; i < 6 && m->set[i] != NULL; i++)
        o.sets[n++] = m->set[i];
    for (size_t i = 0; i < 4 && m->party_set[i] != NULL; i++)
        o.party_sets[parties++] = m->party_set[i];
    return o;
}

static bool has(const struct score *s)
{
    return s->has[SCORE_LOSS] && s->has[SCORE_AUC] && s->has[SCORE_AUPRC] && s->has[SCORE_F1] &&
           s->has[SCORE_ACCURACY] && s->has[SCORE_AUC_MICRO] && s->has[SCORE_AUPRC_MICRO] &&
           s->has[SCORE_F1_MICRO] && !s->has[SCORE_R2];
}

static void test_every_aggregation_learns_several_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        const struct sim_options o = options(&modes[i]);
        struct sim *s = sim_new(&o);
        const struct server_scored *scored;

        sim_run(s, HOUR_US);
        expect_completed(s);
        scored = &sim_server_report(s)->measured.scored;
        assert_true(has(&scored->test));
        assert_true(has(&scored->train));
        assert_int_equal(s->plan.shape.outputs, LABELS);
        sim_free(s);
    }
}

/* What is kept of a run holds each label: whoever dies, the same models and the same scores. */
static void test_a_death_changes_no_label(void **state)
{
    const struct sim_options o = options(&modes[0]);
    char model[PARTIES + 1][65], again[65];
    struct score test, train;
    uint32_t deaths = 0;

    (void)state;
    for (uint32_t nth = 0; nth < 12; nth++) {
        struct sim *s = sim_new(&o);
        const struct server_scored *scored;

        if (nth > 0)
            sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                          .from = SIM_SERVER,
                                          .party = SIM_ANY,
                                          .kind = WIRE_BROADCAST,
                                          .nth = nth});
        sim_run(s, HOUR_US);
        expect_completed(s);
        scored = &sim_server_report(s)->measured.scored;
        for (int who = SIM_SERVER; who < PARTIES; who++) {
            sim_model(s, who, nth == 0 ? model[who + 1] : again);
            assert_string_equal(model[who + 1], nth == 0 ? model[who + 1] : again);
        }
        if (nth == 0) {
            test = scored->test;
            train = scored->train;
        }
        assert_memory_equal(test.value, scored->test.value, sizeof test.value);
        assert_memory_equal(train.value, scored->train.value, sizeof train.value);
        deaths += nth > 0 && sim_sent(s, SIM_SERVER, WIRE_BROADCAST) >= nth;
        sim_free(s);
    }
    assert_true(deaths > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_aggregation_learns_several_labels),
        cmocka_unit_test(test_a_death_changes_no_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
