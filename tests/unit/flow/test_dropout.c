/* test_dropout.c -- who a step does without is a hash of seed, step and party: what an independent
 * program gets, never all, and nobody where the plan does not ask for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dropout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SEED 0x0102030405060708U

static struct plan plan_of(uint32_t parties, double p, uint64_t seed)
{
    return (struct plan){
        .training.seed = seed, .training.party_dropout = p, .shape.parties = parties};
}

/* As bits. */
static uint32_t missing_of(const struct plan *p, uint64_t step)
{
    bool missing[PLAN_PARTIES_MAX];
    const bool some = dropout_of(missing, p, step);
    uint32_t bits = 0;

    for (uint32_t i = 0; i < PLAN_PARTIES_MAX; i++)
        bits |= (uint32_t)missing[i] << i % 32;
    for (uint32_t i = 0; i < p->shape.parties; i++)
        assert_int_equal(dropout_leaves_out(p, step, i), missing[i]);
    assert_int_equal(some, bits != 0);
    return bits;
}

/* hashlib.sha256(b"vfl/dropout/1" + struct.pack("<QQH", SEED, step, i)), steps 300 to 315. */
static void test_missing_parties_are_those_of_the_header(void **state)
{
    static const uint32_t want[] = {13, 24, 13, 14, 5, 1, 2, 10, 12, 0, 15, 19, 4, 12, 8, 21};
    const struct plan p = plan_of(5, 0.4, SEED);

    (void)state;
    for (uint32_t s = 0; s < sizeof want / sizeof *want; s++)
        assert_int_equal(missing_of(&p, 300 + s), want[s]);
}

/* Both would be in steps 2, 8 and 12: the same program without its last line counts 2 there. */
static void test_a_step_without_all_is_one_without_none(void **state)
{
    static const uint32_t want[] = {0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 1, 2, 0, 2, 2, 0};
    const struct plan p = plan_of(2, 0.6, SEED);

    (void)state;
    for (uint32_t s = 0; s < sizeof want / sizeof *want; s++)
        assert_int_equal(missing_of(&p, s), want[s]);
}

static void test_each_is_missing_as_often_as_the_plan_says(void **state)
{
    enum { STEPS = 20000, PARTIES = 10 };
    const struct plan p = plan_of(PARTIES, 0.3, 9), none = plan_of(PARTIES, 0, 9),
                      alone = plan_of(1, 0.9, 9);
    uint32_t n[PARTIES] = {0};

    (void)state;
    for (uint64_t s = 0; s < STEPS; s++) {
        const uint32_t bits = missing_of(&p, s);

        for (uint32_t i = 0; i < PARTIES; i++)
            n[i] += bits >> i & 1;
    }
    for (uint32_t i = 0; i < PARTIES; i++) /* five deviations */
        assert_in_range(n[i], 6000 - 325, 6000 + 325);
    for (uint64_t s = 0; s < 100; s++) {
        assert_int_equal(missing_of(&none, s), 0);
        assert_int_equal(missing_of(&alone, s), 0);
    }
}

static void test_another_seed_has_other_steps(void **state)
{
    const struct plan a = plan_of(20, 0.5, 1), b = plan_of(20, 0.5, 2);

    (void)state;
    for (uint64_t s = 0; s < 50; s++) {
        assert_int_not_equal(missing_of(&a, s), missing_of(&b, s));
        assert_int_not_equal(missing_of(&a, s), missing_of(&a, s + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_parties_are_those_of_the_header),
        cmocka_unit_test(test_a_step_without_all_is_one_without_none),
        cmocka_unit_test(test_each_is_missing_as_often_as_the_plan_says),
        cmocka_unit_test(test_another_seed_has_other_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
