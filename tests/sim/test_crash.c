/* test_crash.c -- processes die at any moment, come back from their disks, and the run goes on to
 * the model of an undisturbed one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/instrumented.h"
#include "tests/sim/disk.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3, STEP_US = INSTRUMENTED ? 3500 : 500 };

static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .checkpoint_rounds = 3,
                                .quiet = true,
                                .sets = {"training.epochs=3"}};
}

struct models {
    char of[PARTIES + 1][65];
};

static struct models models_of(struct sim *s, const char *when, uint64_t us)
{
    struct models m;

    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s at %llu us: %s", when, (unsigned long long)us, sim_server_end(s)->error.text);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct sim_end *end = sim_party_end(s, i);
        if (!end->over || end->outcome != OUTCOME_COMPLETED)
            fail_msg("%s at %llu us: p%u: %s", when, (unsigned long long)us, i + 1,
                     end->over ? end->error.text : "has not ended");
    }
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, m.of[who + 1]);
    return m;
}

static struct models undisturbed(const struct sim_options *o, uint64_t *us)
{
    struct sim *s = sim_new(o);
    struct models m;

    sim_run(s, HOUR_US);
    m = models_of(s, "undisturbed", 0);
    if (us != NULL)
        *us = sim_now_us(s);
    sim_free(s);
    return m;
}

/* One death at each step of the run's time, of each process in turn. */
static void dies_whenever(const struct sim_options *o)
{
    uint64_t length_us;
    struct models want = undisturbed(o, &length_us), got;

    for (int who = SIM_SERVER; who < PARTIES; who++) {
        for (uint64_t us = 500; us < length_us + 2000; us += STEP_US) {
            struct sim *s = sim_new(o);
            char when[32];

            sim_kill_at(s, who, us);
            sim_run(s, HOUR_US);
            snprintf(when, sizeof when, "death of %d", who);
            got = models_of(s, when, us);
            if (memcmp(&want, &got, sizeof want) != 0)
                fail_msg("another model: %d died at %llu us", who, (unsigned long long)us);
            sim_free(s);
        }
    }
}

static void test_whoever_dies_whenever_the_model_is_the_same(void **state)
{
    struct sim_options o = three();

    (void)state;
    dies_whenever(&o);
}

static void test_the_same_of_a_coded_run(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.sets[1] = "protocol.aggregation=coded";
    dies_whenever(&o);
}

static void test_the_same_of_a_head_with_batch_normalisation(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.sets[1] = "model.head=[5,batchnorm,relu]";
    o.sets[2] = "protocol.local_iterations=2";
    o.sets[3] = "training.optimizer=adam";
    dies_whenever(&o);
}

static void test_the_same_of_the_largest(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.sets[1] = "protocol.aggregation=clear";
    o.sets[2] = "model.fusion=max";
    o.sets[3] = "model.head=[batchnorm]";
    dies_whenever(&o);
}

static void test_the_same_of_a_concatenation_with_sweeps_over_both_splits(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.sets[1] = "protocol.aggregation=clear";
    o.sets[2] = "model.fusion=concat";
    o.sets[3] = "training.evaluate_train=true";
    o.sets[4] = "training.optimizer=adam";
    dies_whenever(&o);
}

static void test_the_same_of_polynomial_bottoms_with_local_steps(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.party_sets[0] = "model.layers=[]";
    o.party_sets[1] = "model.polynomial.degree=3";
    o.sets[1] = "training.optimizer=adam";
    o.sets[2] = "protocol.local_iterations=2";
    o.sets[3] = "protocol.clip=4";
    dies_whenever(&o);
}

/* Between chunks, between rounds: data are dealt again, or not, and the sums are the same. */
static void test_the_same_of_a_run_on_shares_of_data(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.motley = true;
    o.watch = true;
    o.party_sets[0] = "model.layers=[]";
    o.party_sets[1] = "model.polynomial.degree=1";
    o.sets[0] = "training.epochs=2";
    o.sets[1] = "protocol.aggregation=fedvs";
    o.sets[2] = "training.batch=2";
    dies_whenever(&o);
}

/* A power cut takes the last records of the journal with the server: the parties, which are ahead,
 * go back to their checkpoints, and the same rows are released and charged once more. */
static void test_a_server_that_lost_its_last_records_takes_the_parties_back(void **state)
{
    struct sim_options o = three();
    struct models want = undisturbed(&o, NULL), got;
    uint64_t repeated = 0;

    (void)state;
    for (uint64_t us = 16000; us < 40000; us += 1000) {
        struct sim *s = sim_new(&o);

        sim_lose_records(s, 2);
        sim_kill_at(s, SIM_SERVER, us);
        sim_run(s, HOUR_US);
        if (sim_server_end(s)->outcome == OUTCOME_COMPLETED) {
            got = models_of(s, "power cut", us);
            assert_memory_equal(&want, &got, sizeof want);
            repeated += sim_uploaded(s, 0) > 3 * 12 + 3 * 3;
        } else { /* a checkpoint that is itself ahead: refused by name, nothing silently wrong */
            const char *why = sim_server_end(s)->error.text;
            assert_true(strstr(why, "waiting for") != NULL || strstr(why, "journal") != NULL);
        }
        sim_free(s);
    }
    assert_true(repeated > 0);
}

/* A party that went back past its last checkpoint has one of steps that are no more.  It is neither
 * gone back to nor told of; the party that dies then comes back from what it kept since.  And one
 * that dies with the server finds both on its disk. */
static void test_a_checkpoint_of_lost_steps_is_as_good_as_none(void **state)
{
    static const uint64_t later_us[] = {0, 45000};
    struct sim_options o = three();

    (void)state;
    o.checkpoint_rounds = 1;
    o.keep_us = 20000;
    o.unseeded = true;
    for (uint64_t us = 30000; us < 60000; us += STEP_US) {
        for (size_t i = 0; i < sizeof later_us / sizeof *later_us; i++) {
            struct sim *s = sim_new(&o);

            sim_lose_records(s, 3);
            sim_kill_at(s, SIM_SERVER, us);
            sim_kill_at(s, 2, us + later_us[i]);
            sim_run(s, HOUR_US);
            (void)models_of(s, "power cut", us);
            sim_free(s);
        }
    }
}

/* All lose power at once, and the server comes back at step 7: the parties' last checkpoints are of
 * step 9, the ones before of step 6. */
static void test_a_process_finds_the_checkpoint_before_the_last_one_too(void **state)
{
    struct sim_options o = three();
    struct models want = undisturbed(&o, NULL), got;
    struct sim *s;
    uint64_t us;

    (void)state;
    o.keep_us = 100;
    s = sim_new(&o);
    sim_run_to_step(s, 7);
    disk_copy(s, SIM_SERVER);
    sim_run_to_step(s, 11);
    us = sim_now_us(s) + 1;
    sim_break_at(
        s, (struct sim_break){.what = SIM_DEATH, .who = SIM_SERVER, .at_us = us, .put_back = true});
    for (int i = 0; i < PARTIES; i++)
        sim_kill_at(s, i, us);
    sim_run(s, HOUR_US);
    got = models_of(s, "power cut", us);
    assert_memory_equal(&want, &got, sizeof want);
    assert_true(sim_uploaded(s, 0) > 3 * 12 + 3 * 3);
    sim_free(s);
}

/* Its final model was durable, it said so, and then its disk went back: the run is complete without
 * it, and that is no success of its own. */
static void test_a_party_put_back_when_all_is_over_does_not_end_well(void **state)
{
    struct sim_options o = three();
    struct sim *s;
    uint64_t length_us;
    char want[65], got[65];

    (void)state;
    o.keep_us = 10000;
    o.reconnect_us = 1000;
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    length_us = sim_now_us(s);
    sim_model(s, 0, want);
    sim_free(s);
    s = sim_new(&o);
    sim_break_at(s, (struct sim_break){.what = SIM_COPY, .who = 0, .at_us = 45000});
    sim_break_at(s, (struct sim_break){
                        .what = SIM_DEATH, .who = 0, .at_us = length_us - 9000, .put_back = true});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_model(s, 0, got);
    assert_string_not_equal(want, got);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "put back"));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_dies_whenever_the_model_is_the_same),
        cmocka_unit_test(test_the_same_of_a_coded_run),
        cmocka_unit_test(test_the_same_of_a_head_with_batch_normalisation),
        cmocka_unit_test(test_the_same_of_the_largest),
        cmocka_unit_test(test_the_same_of_a_concatenation_with_sweeps_over_both_splits),
        cmocka_unit_test(test_the_same_of_polynomial_bottoms_with_local_steps),
        cmocka_unit_test(test_the_same_of_a_run_on_shares_of_data),
        cmocka_unit_test(test_a_server_that_lost_its_last_records_takes_the_parties_back),
        cmocka_unit_test(test_a_checkpoint_of_lost_steps_is_as_good_as_none),
        cmocka_unit_test(test_a_process_finds_the_checkpoint_before_the_last_one_too),
        cmocka_unit_test(test_a_party_put_back_when_all_is_over_does_not_end_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
