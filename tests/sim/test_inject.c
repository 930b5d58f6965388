/* test_inject.c -- the delays that a party imposes on itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/inject.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_the_pattern_of_fedvs_is_half_fast_half_slow_and_slower(void **state)
{
    const struct config_inject c = {.delay = DELAY_FEDVS, .delay_s = 0.5};
    /* N = 8: four of 0.1 s, then 2 + 4 i / N for i = 1 .. N / 2; all times the scale. */
    const double want[8] = {0.1, 0.1, 0.1, 0.1, 2.5, 3, 3.5, 4};

    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        assert_true(fabs(inject_mean_s(&c, i, 8) - 0.5 * want[i]) < 1e-12);
}

/* Of an odd number the one in the middle is fast: there are floor(n / 2) stragglers. */
static void test_of_an_odd_number_the_middle_one_is_fast(void **state)
{
    const struct config_inject c = {.delay = DELAY_FEDVS, .delay_s = 1};

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fabs(inject_mean_s(&c, i, 5) - 0.1) < 1e-12);
    assert_true(fabs(inject_mean_s(&c, 3, 5) - 2.8) < 1e-12);
    assert_true(fabs(inject_mean_s(&c, 4, 5) - 3.6) < 1e-12);
    assert_true(fabs(inject_mean_s(&c, 0, 1) - 0.1) < 1e-12);
}

static void test_other_delays_are_the_same_for_every_party(void **state)
{
    static const enum config_delay_kind kinds[] = {DELAY_CONST, DELAY_EXP};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct config_inject c = {.delay = kinds[k], .delay_s = 0.75};
        for (uint32_t i = 0; i < 6; i++)
            assert_true(inject_mean_s(&c, i, 6) == 0.75);
    }
}

/* Everything a party sends that some delay may hold up. */
enum said {
    SAID_HELLO = 1,
    SAID_CONFIRM = 2,
    SAID_KEYS = 4,   /* a share that deals keys; ... */
    SAID_DATA = 8,   /* ... data */
    SAID_SHARE = 16, /* a share of a training or evaluation round */
    SAID_UPLOAD = 32
};

static enum said said(const struct inject_message *m)
{
    switch ((int)m->kind) {
    case WIRE_HELLO: return SAID_HELLO;
    case WIRE_CONFIRM: return SAID_CONFIRM;
    case WIRE_UPLOAD: return SAID_UPLOAD;
    case WIRE_SHARE:
        return m->purpose == PURPOSE_DEAL_KEYS   ? SAID_KEYS
               : m->purpose == PURPOSE_DEAL_DATA ? SAID_DATA
                                                 : SAID_SHARE;
    default: return 0;
    }
}

/* Which messages are delayed: where nothing is shared, under coded, and under fedvs. */
static void test_a_delay_is_before_the_message_that_was_named(void **state)
{
    enum { PLAIN, CODED, FEDVS };
    static const unsigned all =
        SAID_HELLO | SAID_CONFIRM | SAID_KEYS | SAID_DATA | SAID_SHARE | SAID_UPLOAD;
    static const struct {
        enum config_message before;
        unsigned said[3];
    } rows[] = {
        {BEFORE_UPLOAD, {SAID_UPLOAD, SAID_UPLOAD, SAID_UPLOAD}},
        {BEFORE_RESULT, {SAID_UPLOAD, SAID_UPLOAD, SAID_UPLOAD}},
        {BEFORE_SHARE,
         {SAID_SHARE | SAID_KEYS | SAID_DATA, SAID_SHARE | SAID_KEYS | SAID_DATA,
          SAID_KEYS | SAID_DATA}},
        {BEFORE_MODEL_SHARE, {0, 0, SAID_SHARE}},
        {BEFORE_HELLO, {SAID_HELLO, SAID_HELLO, SAID_HELLO}},
        {BEFORE_CONFIRM, {SAID_CONFIRM, SAID_CONFIRM, SAID_CONFIRM}},
        {BEFORE_FIRST, {SAID_UPLOAD, SAID_SHARE, SAID_SHARE}},
        {BEFORE_ANY, {all, all, all}},
    };
    static const struct {
        enum plan_aggregation aggregation;
        int column;
    } runs[] = {{AGGREGATION_MASKED, PLAIN},
                {AGGREGATION_CLEAR, PLAIN},
                {AGGREGATION_CODED, CODED},
                {AGGREGATION_FEDVS, FEDVS}};

    (void)state;
    for (size_t i = 0; i < 8 * 4 * WIRE_KINDS * (PURPOSE_DEAL_DATA + 1); i++) {
        size_t row = i % 8, run = i / 8 % 4;
        const struct config_inject c = {
            .delay = DELAY_CONST, .delay_s = 1, .before = rows[row].before};
        const struct inject_message m = {
            .kind = (enum wire_kind)(i / 32 % WIRE_KINDS),
            .purpose = (enum wire_purpose)(i / 32 / WIRE_KINDS),
            .aggregation = runs[run].aggregation,
            .parties = 5,
            .batch = 100,
        };
        bool want = (rows[row].said[runs[run].column] & said(&m)) != 0;

        assert_int_equal(inject_hits(&c, &m), want);
        assert_true(inject_factor(&c, &m) == (want ? 1 : 0));
    }
}

static void test_without_a_delay_nothing_is_hit(void **state)
{
    static const enum plan_aggregation runs[] = {AGGREGATION_CLEAR, AGGREGATION_FEDVS};

    (void)state;
    for (int before = 0; before <= BEFORE_ANY; before++) {
        const struct config_inject c = {.delay = DELAY_NONE, .before = (enum config_message)before};

        for (int kind = WIRE_NONE + 1; kind < WIRE_KINDS; kind++) {
            for (size_t r = 0; r < 2; r++) {
                const struct inject_message m = {(enum wire_kind)kind, PURPOSE_TRAIN, runs[r], 8,
                                                 16};

                assert_false(inject_hits(&c, &m));
                assert_true(inject_factor(&c, &m) == 0);
            }
        }
    }
}

/* FedVS, section 6: N = 10, |B| = 16 and N = 28, |B| = 256 are two of its data sets. */
static void test_in_the_pattern_of_fedvs_late_results_come_with_late_model_shares(void **state)
{
    static const enum config_message befores[] = {BEFORE_UPLOAD, BEFORE_RESULT};
    static const enum wire_purpose rounds[] = {PURPOSE_TRAIN, PURPOSE_EVALUATE_TEST,
                                               PURPOSE_EVALUATE_TRAIN};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const struct config_inject c = {
            .delay = DELAY_FEDVS, .delay_s = 2, .before = befores[i / 3]};
        struct inject_message m = {WIRE_SHARE, rounds[i % 3], AGGREGATION_FEDVS, 10, 16};

        assert_true(fabs(inject_factor(&c, &m) - 5.301898110 / 16) < 1e-9);
        m.parties = 28;
        m.batch = 256;
        assert_true(fabs(inject_factor(&c, &m) - 11.103586898 / 256) < 1e-9);
        m.parties = 1;
        assert_true(inject_factor(&c, &m) == 0);
        m.kind = WIRE_UPLOAD;
        assert_true(inject_factor(&c, &m) == 1);
    }
}

static void test_no_other_delay_and_no_other_share_is_late_with_the_results(void **state)
{
    const struct config_inject fedvs = {.delay = DELAY_FEDVS, .delay_s = 2},
                               plain = {.delay = DELAY_EXP, .delay_s = 2},
                               hello = {.delay = DELAY_FEDVS, .delay_s = 2, .before = BEFORE_HELLO},
                               model = {.delay = DELAY_FEDVS,
                                        .delay_s = 2,
                                        .before = BEFORE_MODEL_SHARE};
    struct inject_message m = {WIRE_SHARE, PURPOSE_TRAIN, AGGREGATION_FEDVS, 10, 16};

    (void)state;
    assert_true(inject_factor(&fedvs, &m) > 0);
    assert_true(inject_factor(&plain, &m) == 0);
    assert_true(inject_factor(&hello, &m) == 0);
    assert_true(inject_factor(&model, &m) == 1); /* said outright: the whole of it */
    for (int p = PURPOSE_DEAL_KEYS; p <= PURPOSE_DEAL_DATA; p++) {
        m.purpose = (enum wire_purpose)p;
        assert_true(inject_factor(&fedvs, &m) == 0);
    }
    m.purpose = PURPOSE_TRAIN;
    m.aggregation = AGGREGATION_CODED;
    assert_true(inject_factor(&fedvs, &m) == 0);
    m.aggregation = AGGREGATION_FEDVS;
    m.kind = WIRE_HELLO;
    assert_true(inject_factor(&fedvs, &m) == 0);
}

static void test_a_constant_is_drawn_as_it_is_and_costs_no_chance(void **state)
{
    const struct config_inject c = {.delay = DELAY_CONST, .delay_s = 0.25};

    (void)state;
    assert_true(inject_draw_s(&c, 0.25, NULL) == 0.25);
}

/* Mean, median and spread of an exponential: 20,000 draws from a fixed seed, bounds of five
 * standard errors. */
static void test_other_draws_are_exponential(void **state)
{
    static const enum config_delay_kind kinds[] = {DELAY_EXP, DELAY_FEDVS};
    static const uint8_t key[RNG_KEY_BYTES] = {7};
    enum { N = 20000 };
    const double mean = 0.3;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct config_inject c = {.delay = kinds[k], .delay_s = 1};
        struct rng r = {0};
        double sum = 0, squares = 0, below = 0;

        assert_int_equal(rng_init_key(&r, key), STATUS_OK);
        for (int i = 0; i < N; i++) {
            double x = inject_draw_s(&c, mean, &r);

            assert_true(x >= 0 && isfinite(x));
            sum += x;
            squares += x * x;
            below += x < mean * log(2);
        }
        rng_deinit(&r);
        assert_true(fabs(sum / N / mean - 1) < 5 / sqrt(N));
        assert_true(fabs(squares / N / (2 * mean * mean) - 1) < 5 * sqrt(5.0 / N));
        assert_true(fabs(below / N - 0.5) < 5 * 0.5 / sqrt(N));
    }
}

/* The signal that ended a child that was about to send this; 0: it lived. */
static int died(const struct config_inject *c, enum wire_kind kind, uint64_t round)
{
    pid_t child = fork();
    int how = 0;

    assert_true(child >= 0);
    if (child == 0) {
        inject_crash(c, kind, round);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

static void test_a_crash_is_a_kill_at_the_upload_of_its_round(void **state)
{
    const struct config_inject c = {.crash_at_round = 3}, never = {0};

    (void)state;
    assert_int_equal(died(&c, WIRE_UPLOAD, 2), 0);
    assert_int_equal(died(&c, WIRE_UPLOAD, 3), SIGKILL);
    assert_int_equal(died(&c, WIRE_UPLOAD, 4), SIGKILL); /* an evaluation was the third round */
    assert_int_equal(died(&c, WIRE_HELLO, 3), 0);
    assert_int_equal(died(&c, WIRE_SHARE, 3), 0);
    assert_int_equal(died(&never, WIRE_UPLOAD, 0), 0);
    assert_int_equal(died(&never, WIRE_UPLOAD, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pattern_of_fedvs_is_half_fast_half_slow_and_slower),
        cmocka_unit_test(test_of_an_odd_number_the_middle_one_is_fast),
        cmocka_unit_test(test_other_delays_are_the_same_for_every_party),
        cmocka_unit_test(test_a_delay_is_before_the_message_that_was_named),
        cmocka_unit_test(test_without_a_delay_nothing_is_hit),
        cmocka_unit_test(test_in_the_pattern_of_fedvs_late_results_come_with_late_model_shares),
        cmocka_unit_test(test_no_other_delay_and_no_other_share_is_late_with_the_results),
        cmocka_unit_test(test_a_constant_is_drawn_as_it_is_and_costs_no_chance),
        cmocka_unit_test(test_other_draws_are_exponential),
        cmocka_unit_test(test_a_crash_is_a_kill_at_the_upload_of_its_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
