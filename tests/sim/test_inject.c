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

/* Which kinds are delayed, in plans without shares and with them. */
static void test_a_delay_is_before_the_message_that_was_named(void **state)
{
    static const struct {
        enum config_message before;
        enum wire_kind plain[5], shared[5];
    } rows[] = {
        {BEFORE_UPLOAD, {WIRE_UPLOAD}, {WIRE_UPLOAD}},
        {BEFORE_SHARE, {WIRE_SHARE}, {WIRE_SHARE}},
        {BEFORE_HELLO, {WIRE_HELLO}, {WIRE_HELLO}},
        {BEFORE_CONFIRM, {WIRE_CONFIRM}, {WIRE_CONFIRM}},
        {BEFORE_FIRST, {WIRE_UPLOAD}, {WIRE_SHARE}},
        {BEFORE_ANY,
         {WIRE_HELLO, WIRE_CONFIRM, WIRE_SHARE, WIRE_UPLOAD},
         {WIRE_HELLO, WIRE_CONFIRM, WIRE_SHARE, WIRE_UPLOAD}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct config_inject c = {
            .delay = DELAY_CONST, .delay_s = 1, .before = rows[i].before};

        for (int kind = WIRE_NONE + 1; kind < WIRE_KINDS; kind++) {
            bool plain = false, shared = false;

            for (size_t k = 0; k < 5; k++) {
                plain |= rows[i].plain[k] == (enum wire_kind)kind;
                shared |= rows[i].shared[k] == (enum wire_kind)kind;
            }
            assert_int_equal(inject_hits(&c, (enum wire_kind)kind, false), plain);
            assert_int_equal(inject_hits(&c, (enum wire_kind)kind, true), shared);
        }
    }
}

static void test_without_a_delay_nothing_is_hit(void **state)
{
    const struct config_inject c = {.delay = DELAY_NONE, .before = BEFORE_ANY};

    (void)state;
    for (int kind = WIRE_NONE + 1; kind < WIRE_KINDS; kind++)
        assert_false(inject_hits(&c, (enum wire_kind)kind, true));
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
        cmocka_unit_test(test_a_constant_is_drawn_as_it_is_and_costs_no_chance),
        cmocka_unit_test(test_other_draws_are_exponential),
        cmocka_unit_test(test_a_crash_is_a_kill_at_the_upload_of_its_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
