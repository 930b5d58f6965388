/* test_trail.c -- the chain over gradients: equal to an independent one, and changed by every bit
 * of what was shown, where and in which order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/trail.h"

#include "tests/golden/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int make_digest(void **state)
{
    static struct digest d;

    *state = &d;
    return 0;
}

static int end_digest(void **state)
{
    digest_deinit(*state);
    return 0;
}

/* n bytes counting up from first, as in gen_flow.py. */
static void run(uint8_t *out, uint8_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(first + i);
}

static void test_trail_and_view_are_those_of_the_independent_generator(void **state)
{
    static const struct trail_round at = {
        .generation = 0x0102030405060708,
        .purpose = PURPOSE_EVALUATE_TRAIN,
        .round = 0x1112131415161718,
        .place = 0x2122232425262728,
        .sweep = 0x3132333435363738,
    };
    uint8_t plan[WIRE_DIGEST_BYTES], gradient[100], view[WIRE_DIGEST_BYTES];
    struct trail t;

    run(plan, 60, sizeof plan);
    trail_begin(&t, *state, plan);
    assert_memory_equal(t.value, GOLDEN_TRAIL_0, sizeof t.value);
    run(gradient, 1, 8);
    trail_add(&t, *state, 0, gradient, 8);
    assert_memory_equal(t.value, GOLDEN_TRAIL_1, sizeof t.value);
    trail_add(&t, *state, ((uint64_t)1 << 40) + 3, gradient, 0);
    assert_memory_equal(t.value, GOLDEN_TRAIL_2, sizeof t.value);
    run(gradient, 200, 100);
    trail_add(&t, *state, 2, gradient, 100);
    assert_memory_equal(t.value, GOLDEN_TRAIL_3, sizeof t.value);
    trail_view(view, *state, &t, &at);
    assert_memory_equal(view, GOLDEN_VIEW, sizeof view);
    assert_memory_equal(t.value, GOLDEN_TRAIL_3, sizeof t.value); /* a look changes nothing */
}

enum { STEPS = 3, FLOATS = 5, BYTES = FLOATS * (int)sizeof(float) };

struct shown {
    uint8_t plan[WIRE_DIGEST_BYTES];
    uint64_t step[STEPS];
    uint8_t gradient[STEPS][BYTES];
};

static struct trail follow(struct digest *d, const struct shown *s, size_t steps)
{
    struct trail t;

    trail_begin(&t, d, s->plan);
    for (size_t i = 0; i < steps; i++)
        trail_add(&t, d, s->step[i], s->gradient[i], BYTES);
    return t;
}

static struct shown example(void)
{
    struct shown s = {.step = {7, 8, 9}};

    run(s.plan, 3, sizeof s.plan);
    for (size_t i = 0; i < STEPS; i++)
        run(s.gradient[i], (uint8_t)(50 * i), BYTES);
    return s;
}

static void test_who_was_shown_the_same_has_the_same_trail(void **state)
{
    struct shown s = example();
    struct trail one = follow(*state, &s, STEPS), other = follow(*state, &s, 1);

    assert_memory_not_equal(one.value, other.value, sizeof one.value);
    for (size_t i = 1; i < STEPS; i++) /* what was missed comes later, in a replay */
        trail_add(&other, *state, s.step[i], s.gradient[i], BYTES);
    assert_memory_equal(one.value, other.value, sizeof one.value);
}

static void test_every_bit_of_plan_steps_and_gradients_changes_the_trail(void **state)
{
    struct shown s = example();
    const struct trail right = follow(*state, &s, STEPS);
    uint8_t *bytes = (uint8_t *)&s;

    for (size_t bit = 0; bit < 8 * (offsetof(struct shown, gradient) + sizeof s.gradient); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_memory_not_equal(follow(*state, &s, STEPS).value, right.value, sizeof right.value);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_memory_equal(follow(*state, &s, STEPS).value, right.value, sizeof right.value);
}

static void test_the_order_of_gradients_counts(void **state)
{
    struct shown s = example(), swapped = s;

    memcpy(swapped.gradient[0], s.gradient[1], BYTES);
    memcpy(swapped.gradient[1], s.gradient[0], BYTES);
    assert_memory_not_equal(follow(*state, &s, STEPS).value, follow(*state, &swapped, STEPS).value,
                            WIRE_DIGEST_BYTES);
}

/* Two attempts of one batch, two rows of one sweep, two sweeps: no two rounds share a mask. */
static void test_every_bit_of_a_rounds_place_changes_the_view(void **state)
{
    struct shown s = example();
    struct trail t = follow(*state, &s, STEPS);
    struct trail_round at = {.generation = 3, .round = 17, .place = 9, .sweep = 0};
    uint64_t *const numbers[] = {&at.generation, &at.round, &at.place, &at.sweep};
    uint8_t right[WIRE_DIGEST_BYTES], view[WIRE_DIGEST_BYTES];

    trail_view(right, *state, &t, &at);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        for (int bit = 0; bit < 64; bit++) {
            *numbers[k] ^= (uint64_t)1 << bit;
            trail_view(view, *state, &t, &at);
            assert_memory_not_equal(view, right, sizeof right);
            *numbers[k] ^= (uint64_t)1 << bit;
        }
    }
    at.purpose = PURPOSE_EVALUATE_TEST;
    trail_view(view, *state, &t, &at);
    assert_memory_not_equal(view, right, sizeof right);
    at.purpose = PURPOSE_TRAIN;
    trail_view(view, *state, &t, &at);
    assert_memory_equal(view, right, sizeof right);
    t.value[31] ^= 0x80;
    trail_view(view, *state, &t, &at);
    assert_memory_not_equal(view, right, sizeof right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trail_and_view_are_those_of_the_independent_generator),
        cmocka_unit_test(test_who_was_shown_the_same_has_the_same_trail),
        cmocka_unit_test(test_every_bit_of_plan_steps_and_gradients_changes_the_trail),
        cmocka_unit_test(test_the_order_of_gradients_counts),
        cmocka_unit_test(test_every_bit_of_a_rounds_place_changes_the_view),
    };

    return cmocka_run_group_tests(tests, make_digest, end_digest);
}
