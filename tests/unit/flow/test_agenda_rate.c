/* test_agenda_rate.c -- the learning rate of each local iteration, by every schedule.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agenda.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 10 rounds an epoch, 3 epochs, 5 local iterations: 150 in all. */
static struct plan scheduled(enum plan_schedule schedule)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.train_rows = 100;
    p.training.batch = 10;
    p.training.epochs = 3;
    p.training.learning_rate = 0.25;
    p.training.schedule = schedule;
    p.protocol.local_iterations = 5;
    return p;
}

static void test_the_rate_is_constant_or_falls_with_the_root_of_the_iterations(void **state)
{
    struct plan p = scheduled(SCHEDULE_CONSTANT);

    (void)state;
    for (uint64_t step = 0; step < 100; step++) {
        for (uint32_t q = 0; q < 5; q++)
            assert_true(agenda_rate(&p, step, q) == 0.25f);
    }
    p.training.schedule = SCHEDULE_INVERSE_SQRT;
    assert_true(agenda_rate(&p, 0, 0) == 0.25f);
    assert_true(agenda_rate(&p, 0, 3) == 0.125f);      /* the 4th iteration */
    assert_true(agenda_rate(&p, 3, 0) == 0.0625f);     /* the 16th: 3 steps of 5, and one */
    assert_true(agenda_rate(&p, 12, 3) == 0.25f / 8);  /* the 64th */
    assert_true(agenda_rate(&p, 51, 0) == 0.25f / 16); /* the 256th */
    for (uint64_t r = 0; r < 1000; r++) {
        double expected = 0.25 / sqrt((double)(r + 1));

        assert_true(fabs((double)agenda_rate(&p, r / 5, (uint32_t)(r % 5)) - expected) <
                    1e-7 * expected);
    }
    p.protocol.local_iterations = 1;
    assert_true(agenda_rate(&p, 3, 0) == 0.125f);
}

static void test_the_rate_may_fall_with_the_root_of_the_parties_too(void **state)
{
    struct plan p = scheduled(SCHEDULE_CONSTANT);

    (void)state;
    p.training.schedule = SCHEDULE_INVERSE_SQRT_PARTIES;
    p.shape.parties = 4;
    assert_true(agenda_rate(&p, 0, 0) == 0.125f);
    assert_true(agenda_rate(&p, 0, 3) == 0.0625f);
    assert_true(agenda_rate(&p, 12, 3) == 0.25f / 16);
    p.shape.parties = 1;
    assert_true(agenda_rate(&p, 12, 3) == 0.25f / 8);
    p.shape.parties = 5;
    for (uint64_t r = 0; r < 1000; r++) {
        double expected = 0.25 / (sqrt((double)(r + 1)) * sqrt(5));

        assert_true(fabs((double)agenda_rate(&p, r / 5, (uint32_t)(r % 5)) - expected) <
                    1e-7 * expected);
    }
    p.training.schedule = SCHEDULE_INVERSE_SQRT; /* which does not read them */
    assert_true(agenda_rate(&p, 0, 3) == 0.125f);
}

static float rate_at(const struct plan *p, uint64_t r)
{
    return agenda_rate(p, r / 5, (uint32_t)(r % 5));
}

static void test_the_rate_may_go_down_along_half_a_wave(void **state)
{
    struct plan p = scheduled(SCHEDULE_COSINE);

    (void)state;
    assert_true(rate_at(&p, 0) == 0.25f);
    assert_true(fabsf(rate_at(&p, 75) - 0.125f) < 1e-7f);
    assert_true(fabsf(rate_at(&p, 50) - 0.1875f) < 1e-7f); /* a third: cos(pi / 3) = 1 / 2 */
    assert_true(rate_at(&p, 149) > 0 && rate_at(&p, 149) < 1e-4f);
    assert_true(rate_at(&p, 150) == 0 &&
                rate_at(&p, 100000) == 0); /* async: further than its share */
    for (uint64_t r = 0; r < 150; r++)
        assert_true(rate_at(&p, r + 1) < rate_at(&p, r));
}

static void test_the_rate_may_go_down_in_steps(void **state)
{
    struct plan p = scheduled(SCHEDULE_STEP);

    (void)state;
    p.training.step.epochs = 0.5;
    p.training.step.factor = 0.5;
    for (uint64_t r = 0; r < 150; r++)
        assert_true(rate_at(&p, r) == 0.25f / (float)(1 << r / 25));
}

static void test_a_warm_up_grows_in_equal_parts_to_the_schedule(void **state)
{
    (void)state;
    for (int s = SCHEDULE_CONSTANT; s <= SCHEDULE_STEP; s++) {
        struct plan cold = scheduled((enum plan_schedule)s), p;

        cold.training.step.epochs = cold.training.step.factor = 0.5;
        cold.shape.parties = 2;
        p = cold;
        p.training.warmup = 1;
        for (uint64_t r = 0; r < 150; r++) {
            const float part = r < 49 ? (float)(r + 1) / 50 : 1;

            assert_true(fabsf(rate_at(&p, r) - part * rate_at(&cold, r)) < 1e-7f);
        }
        assert_true(rate_at(&p, 49) == rate_at(&cold, 49));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rate_is_constant_or_falls_with_the_root_of_the_iterations),
        cmocka_unit_test(test_the_rate_may_fall_with_the_root_of_the_parties_too),
        cmocka_unit_test(test_the_rate_may_go_down_along_half_a_wave),
        cmocka_unit_test(test_the_rate_may_go_down_in_steps),
        cmocka_unit_test(test_a_warm_up_grows_in_equal_parts_to_the_schedule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
