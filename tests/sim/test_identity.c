/* test_identity.c -- whole runs without a head: logistic regression over parties against one on all
 * columns side by side (tests/golden/gen_identity.py); restarts; nothing of a head is exported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/crypto/digest.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/golden/identity.h"

enum { RUN_US = 60 * 1000000, CASES = sizeof GOLDEN_IDENTITY / sizeof GOLDEN_IDENTITY[0] };

struct run {
    struct sim *sim;
    const struct golden_identity *g;
    struct start {
        struct run *run;
        uint32_t party;
    } start[GOLDEN_PARTIES];
};

/* A party's part of columns that stand side by side. */
static void take_columns(struct table *t, const double *all, uint32_t party)
{
    CHECK(t->cols == GOLDEN_COLUMNS);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < GOLDEN_COLUMNS; c++)
            t->x[r * GOLDEN_COLUMNS + c] =
                (float)all[(r * GOLDEN_PARTIES + party) * GOLDEN_COLUMNS + c];
}

/* Its weights as it joins, in place of those that it has drawn. */
static void begin(struct wire_msg *msg, void *owner)
{
    const struct start *s = owner;
    const struct nn_net *bottom = party_session_bottom(s->run->sim->party[s->party].session);
    const uint32_t outputs = s->run->g->outputs;
    const struct nn_layer *l = &bottom->layer[0];

    (void)msg;
    CHECK(bottom->spec.layer[0].degree == 1 && l->in == GOLDEN_COLUMNS && l->out == outputs);
    for (uint32_t c = 0; c < GOLDEN_COLUMNS; c++)
        for (uint32_t o = 0; o < outputs; o++)
            l->w[c * outputs + o] = (float)golden_start[(s->party * GOLDEN_COLUMNS + c) * 2 + o];
}

static void run_open(struct run *run, const struct golden_identity *g, uint32_t checkpoint_rounds)
{
    static char local[64], sizes[5][64];
    struct sim_options o = {
        .parties = GOLDEN_PARTIES,
        .train_rows = GOLDEN_ROWS,
        .test_rows = GOLDEN_TEST_ROWS,
        .columns = GOLDEN_COLUMNS,
        .checkpoint_rounds = checkpoint_rounds,
        .sets = {"model.output=identity", "protocol.encoding=float32", "protocol.aggregation=clear",
                 "protocol.clip=100", "training.optimizer=sgd", GOLDEN_RATE, g->fusion, g->proximal,
                 g->outputs == 1 ? "model.binary_loss=sigmoid" : "model.binary_loss=softmax",
                 g->root ? "training.schedule=inverse_sqrt" : "training.schedule=constant", local,
                 sizes[0], sizes[1], sizes[2], sizes[3]},
        .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
    };

    snprintf(local, sizeof local, "protocol.local_iterations=%u", g->local);
    snprintf(sizes[0], sizeof sizes[0], "model.embedding=%u", g->outputs);
    snprintf(sizes[1], sizeof sizes[1], "training.batch=%d", GOLDEN_BATCH);
    snprintf(sizes[2], sizeof sizes[2], "training.epochs=%d", GOLDEN_EPOCHS);
    snprintf(sizes[3], sizeof sizes[3], "training.seed=%d", GOLDEN_SEED);
    run->g = g;
    run->sim = sim_new(&o);
    for (uint32_t r = 0; r < GOLDEN_ROWS; r++)
        run->sim->train_target[r] = (float)golden_y[r];
    for (uint32_t r = 0; r < GOLDEN_TEST_ROWS; r++)
        run->sim->test_target[r] = (float)golden_test_y[r];
    for (uint32_t i = 0; i < GOLDEN_PARTIES; i++) {
        take_columns(&run->sim->party[i].train, golden_x, i);
        take_columns(&run->sim->party[i].test, golden_test_x, i);
        run->start[i] = (struct start){run, i};
        sim_rule(run->sim, (struct sim_rule){.act = SIM_ALTER,
                                             .from = (int)i,
                                             .kind = WIRE_HELLO,
                                             .nth = 1,
                                             .alter = begin,
                                             .owner = &run->start[i]});
    }
}

/* How many weights, and the loss over the test rows, are not what the one regression ends with. */
static size_t misses_of(struct run *run, const struct golden_identity *g)
{
    size_t misses = !(
        fabs(sim_server_report(run->sim)->measured.scored.test.value[SCORE_LOSS] - g->loss) < 1e-5);

    for (uint32_t i = 0; i < GOLDEN_PARTIES; i++) {
        const float *w = party_session_bottom(run->sim->party[i].session)->layer[0].w;
        const size_t n = (size_t)GOLDEN_COLUMNS * g->outputs;

        for (size_t k = 0; k < n; k++)
            misses += !(fabs((double)w[k] - g->end[i * n + k]) < 1e-5);
    }
    return misses;
}

static void run_to_its_end(struct run *run)
{
    sim_run(run->sim, RUN_US);
    assert_true(sim_server_end(run->sim)->over);
    assert_int_equal(sim_server_end(run->sim)->outcome, OUTCOME_COMPLETED);
}

static void test_a_run_is_one_regression_on_all_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct run run;

        run_open(&run, &GOLDEN_IDENTITY[i], 0);
        run_to_its_end(&run);
        if (misses_of(&run, &GOLDEN_IDENTITY[i]) > 0)
            fail_msg("case %zu: %zu misses", i, misses_of(&run, &GOLDEN_IDENTITY[i]));
        sim_free(run.sim);
    }
}

/* The twin: each case's end is no other's of its width. */
static void test_another_regression_would_be_seen(void **state)
{
    struct run run;

    (void)state;
    run_open(&run, &GOLDEN_IDENTITY[0], 0);
    run_to_its_end(&run);
    for (size_t i = 1; i < CASES; i++)
        if (GOLDEN_IDENTITY[i].outputs == GOLDEN_IDENTITY[0].outputs)
            assert_true(misses_of(&run, &GOLDEN_IDENTITY[i]) > GOLDEN_PARTIES * GOLDEN_COLUMNS / 2);
    sim_free(run.sim);
}

/* A server that dies has no weights to find again, and goes on all the same. */
static void test_a_restarted_server_ends_where_the_first_would_have(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct run run;

        run_open(&run, &GOLDEN_IDENTITY[i], 2);
        sim_rule(run.sim, (struct sim_rule){.act = SIM_KILL,
                                            .from = SIM_SERVER,
                                            .party = 1,
                                            .kind = WIRE_BROADCAST,
                                            .nth = 5,
                                            .how = {.down_us = 3000}});
        run_to_its_end(&run);
        if (misses_of(&run, &GOLDEN_IDENTITY[i]) > 0)
            fail_msg("case %zu: %zu misses", i, misses_of(&run, &GOLDEN_IDENTITY[i]));
        sim_free(run.sim);
    }
}

static void test_the_servers_model_has_no_tensors(void **state)
{
    static const char empty[] = "\x08\0\0\0\0\0\0\0{}      ";
    uint8_t digest[DIGEST_BYTES];
    char want[65], got[65];
    struct run run;

    (void)state;
    run_open(&run, &GOLDEN_IDENTITY[0], 0);
    run_to_its_end(&run);
    digest_sha256(digest, (const uint8_t *)empty, 16);
    digest_hex(want, digest, sizeof digest);
    sim_model(run.sim, SIM_SERVER, got);
    assert_string_equal(got, want);
    sim_free(run.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_one_regression_on_all_columns),
        cmocka_unit_test(test_another_regression_would_be_seen),
        cmocka_unit_test(test_a_restarted_server_ends_where_the_first_would_have),
        cmocka_unit_test(test_the_servers_model_has_no_tensors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
