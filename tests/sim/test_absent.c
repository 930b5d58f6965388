/* test_absent.c -- rows that a party does not have (those of an alignment of labelled rows): it
 * takes part with zeros, learns nothing of them, and nobody can tell which they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "party/train/sent.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, TRAIN = 10, TEST = 4 };
#define HOUR_US 3600000000ull

/* The last line is the parties'. */
static const char *const runs[][5] = {
    {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=adam",
     "training.party_dropout=0.2"},
    {"protocol.aggregation=masked", "protocol.encoding=fixed", "protocol.gradient.form=factored"},
    {"protocol.aggregation=coded", "protocol.encoding=gaussian", "model.fusion=mean"},
    {"protocol.aggregation=clear", "protocol.encoding=float32", "protocol.local_iterations=3",
     "protocol.proximal=0.1"},
    {"protocol.aggregation=clear", "protocol.encoding=topk", "protocol.error_feedback=true",
     "model.fusion=concat"},
    {"protocol.aggregation=clear", "protocol.encoding=lattice", "protocol.local_view=refreshed",
     "protocol.local_iterations=2"},
    {"protocol.aggregation=clear", "protocol.encoding=float32", "protocol.straggler=async"},
};
enum { RUNS = sizeof runs / sizeof *runs };
static const char *const bottoms[] = {"model.layers=[5]", "model.polynomial.degree=2"};

static struct sim *world(const char *const sets[5], const char *bottom)
{
    struct sim_options o = {
        .parties = PARTIES,
        .train_rows = TRAIN,
        .test_rows = TEST,
        .sets = {"training.epochs=2", "training.batch=4", "model.head=[6]", "training.seed=3",
                 "training.evaluate_every=1"},
        .party_sets = {"policy.encodings=[pbm, fixed, gaussian, float32, topk, lattice]", bottom},
    };

    for (size_t i = 0; i < 5 && sets[i] != NULL; i++)
        o.sets[5 + i] = sets[i];
    if (strncmp(bottom, "model.polynomial", 16) == 0)
        o.party_sets[2] = "model.layers=[]";
    return sim_new(&o);
}

/* Rows (bits) that are not there, with x in all columns. */
static void lack(struct table *t, uint32_t rows, float x)
{
    t->lacks = mem_alloc(t->rows, 1);
    CHECK(t->lacks != NULL);
    for (uint32_t r = 0; r < t->rows; r++) {
        t->lacks[r] = rows >> r & 1;
        for (size_t c = 0; c < t->cols && t->lacks[r] != 0; c++)
            t->x[r * t->cols + c] = x;
    }
}

static const uint32_t lacks[PARTIES] = {0x1a5, 0x041, 0x308}, lacks_tested[PARTIES] = {5, 8, 2};

static void lack_some(struct sim *s, float x)
{
    for (uint32_t i = 0; i < PARTIES; i++) {
        lack(&s->party[i].train, lacks[i], x);
        lack(&s->party[i].test, lacks_tested[i], x);
    }
}

struct models {
    char of[PARTIES + 1][65];
    struct server_scored scored;
};

static struct models end(struct sim *s)
{
    struct models m;

    sim_run(s, HOUR_US);
    expect_completed(s);
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, m.of[who + 1]);
    m.scored = sim_server_report(s)->measured.scored;
    sim_free(s);
    return m;
}

/* Features that would be read were they a record's. */
static void test_what_stands_in_such_a_row_reaches_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * RUNS; i++) {
        struct models m[2];

        for (int k = 0; k < 2; k++) {
            struct sim *s = world(runs[i / 2], bottoms[i % 2]);

            lack_some(s, k == 0 ? 0 : 3);
            m[k] = end(s);
        }
        for (int who = 0; who <= PARTIES; who++)
            assert_string_equal(m[0].of[who], m[1].of[who]);
        assert_memory_equal(&m[0].scored, &m[1].scored, sizeof m[0].scored);
    }
}

/* It says something: a row that is there counts. */
static void test_a_row_that_is_there_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        struct sim *s = world(runs[i], bottoms[0]);
        struct models m[2];

        lack_some(s, 1);
        m[0] = end(s);
        s = world(runs[i], bottoms[0]);
        lack_some(s, 1);
        memset(s->party[1].train.lacks, 0, TRAIN);
        m[1] = end(s);
        assert_string_not_equal(m[0].of[2], m[1].of[2]);
        assert_string_not_equal(m[0].of[0], m[1].of[0]);
    }
}

/* Who has no row at all keeps its first weights, as if it were frozen: under fedvs, too, where
 * features are dealt and what is not there is zeros. */
static void test_nothing_comes_back_to_a_bottom_without_rows(void **state)
{
    static const char *const fedvs[5] = {"protocol.aggregation=fedvs", "training.batch=4"};

    (void)state;
    for (size_t i = 0; i <= RUNS; i++) {
        const char *const *sets = i < RUNS ? runs[i] : fedvs;
        struct models m[2];

        for (int k = 0; k < 2; k++) {
            struct sim *s = world(sets, bottoms[i == RUNS]);

            lack(&s->party[1].train, UINT32_MAX, 0);
            lack(&s->party[1].test, UINT32_MAX, 0);
            if (k == 1)
                s->party[1].config.train = TRAIN_FROZEN;
            m[k] = end(s);
        }
        assert_string_equal(m[0].of[2], m[1].of[2]);
        assert_string_not_equal(m[0].of[1], m[0].of[2]);
    }
}

/* Rows (bits) that have no more to spend. */
static uint8_t *spend(const struct table *t, uint32_t rows)
{
    uint8_t *spent = mem_alloc(t->rows, 1);

    CHECK(spent != NULL);
    for (uint32_t r = 0; r < t->rows; r++)
        spent[r] = rows >> r & 1;
    return spent;
}

/* What compression took from a row before it was left out is of its record, too. */
static void test_of_a_row_that_is_left_out_nothing_is_fed_back(void **state)
{
    static const float h[] = {0.5F, 0.25F, 0, 0, -0.5F, 0.5F}, left[] = {1, 2, 3, 4, 5, 6};
    static const float want[] = {1.5F, 2.25F, 0, 0, 4.5F, 6.5F};
    static const uint32_t rows[] = {0, 1, 2};
    static const uint8_t not_here[] = {0, 1, 0};
    struct party_sent s;
    struct plan plan;

    (void)state;
    plan_defaults(&plan);
    plan.protocol.encoding = ENCODING_TOPK;
    plan.protocol.error_feedback = true;
    plan.training.batch = plan.shape.train_rows = 3;
    plan.model.embedding = 2;
    assert_int_equal(party_sent_init(&s, &plan, false, 0), STATUS_OK);
    memcpy(s.residual, left, sizeof left);
    assert_memory_equal(party_sent_begin(&s, h, rows, 3, not_here), want, sizeof want);
    assert_true(party_sent_begin(&s, h, rows, 3, NULL)[2] == 3);
    party_sent_deinit(&s);
}

/* Where a limit of one record leaves it out: under straggler wait. */
static void test_a_row_that_has_no_more_to_spend_is_one_that_is_not_here(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < RUNS; i++) {
        struct models m[2];
        char *said[2];

        for (int k = 0; k < 2; k++) {
            struct sim *s = world(runs[i], bottoms[0]);
            struct sim_party *p = &s->party[1];

            lack(&p->train, k == 0 ? 0x1a5 : 0x021, 2);
            lack(&p->test, k == 0 ? 5 : 1, 2);
            p->config.policy.releases_record = 1000;
            if (k == 1) {
                p->spent.train = spend(&p->train, 0x1a4);
                p->spent.test = spend(&p->test, 4);
            }
            sim_run(s, HOUR_US);
            said[k] = mem_alloc(strlen(sim_transcript(s)) + 1, 1);
            CHECK(said[k] != NULL);
            strcpy(said[k], sim_transcript(s));
            m[k] = end(s);
        }
        for (int who = 0; who <= PARTIES; who++)
            assert_string_equal(m[0].of[who], m[1].of[who]);
        assert_string_equal(said[0], said[1]);
        mem_free(said[0]);
        mem_free(said[1]);
    }
}

static void test_what_is_said_and_charged_does_not_hang_on_which_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        char *said[3];
        uint64_t charged[3];

        for (uint32_t k = 0; k < 3; k++) {
            struct sim *s = world(runs[i], bottoms[0]);

            if (k > 0)
                lack(&s->party[1].train, k == 1 ? 0x155 : 0x3ff, 0);
            sim_run(s, HOUR_US);
            expect_completed(s);
            said[k] = mem_alloc(strlen(sim_transcript(s)) + 1, 1);
            CHECK(said[k] != NULL);
            strcpy(said[k], sim_transcript(s));
            charged[k] = sim_charged(s, 1);
            sim_free(s);
        }
        assert_true(charged[0] > 0);
        for (int k = 1; k < 3; k++) {
            assert_string_equal(said[0], said[k]);
            assert_int_equal(charged[0], charged[k]);
        }
        for (int k = 0; k < 3; k++)
            mem_free(said[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stands_in_such_a_row_reaches_nothing),
        cmocka_unit_test(test_a_row_that_is_there_counts),
        cmocka_unit_test(test_nothing_comes_back_to_a_bottom_without_rows),
        cmocka_unit_test(test_of_a_row_that_is_left_out_nothing_is_fed_back),
        cmocka_unit_test(test_a_row_that_has_no_more_to_spend_is_one_that_is_not_here),
        cmocka_unit_test(test_what_is_said_and_charged_does_not_hang_on_which_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
