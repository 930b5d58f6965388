/* laws_element.c -- single elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_element.h"

#include "tests/golden/field.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void test_arithmetic_is_that_of_whole_numbers(void **state)
{
    const struct subject *s = *state;

    assert_true(s->ops_n > 90 * SUBJECT_OPS);
    for (size_t i = 0; i < s->ops_n; i += SUBJECT_OPS) {
        uint64_t g[SUBJECT_OPS];

        for (size_t k = 0; k < SUBJECT_OPS; k++)
            g[k] = s->field->get(s->ops, i + k);
        assert_int_equal(s->add(g[0], g[1]), g[2]);
        assert_int_equal(s->sub(g[0], g[1]), g[3]);
        assert_int_equal(s->mul(g[0], g[1]), g[4]);
        if (g[0] != 0)
            assert_int_equal(s->mul(g[0], g[5]), 1); /* its inverse */
    }
}

static void test_any_integer_becomes_its_residue(void **state)
{
    const struct subject *s = *state;
    const int64_t p = (int64_t)s->field->p;

    for (size_t i = 0; i < s->integers_n; i++)
        assert_int_equal(s->from_signed(s->integers[i]), s->field->get(s->elements, i));
    for (uint32_t i = 0; i < 2000; i++) {
        const int64_t x = (int64_t)golden_field_mixed(4, i);
        const int64_t rest = x % p;

        assert_int_equal(s->from_signed(x), rest < 0 ? rest + p : rest);
    }
}

static void test_the_signed_reading_comes_back_up_to_the_middle_and_not_beyond(void **state)
{
    const struct subject *s = *state;
    const int64_t half = (int64_t)subject_half(s);

    for (int64_t x = -300; x <= 300; x++)
        assert_int_equal(s->to_signed(s->from_signed(x)), x);
    for (int64_t x = half - 300; x <= half; x++) {
        assert_int_equal(s->to_signed(s->from_signed(x)), x);
        assert_int_equal(s->to_signed(s->from_signed(-x)), -x);
    }
    assert_int_equal(s->to_signed(s->from_signed(half + 1)), -half);
    assert_int_equal(s->to_signed(s->from_signed(-half - 1)), half);
}

int laws_element(const struct subject *s)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(test_arithmetic_is_that_of_whole_numbers),
        cmocka_unit_test(test_any_integer_becomes_its_residue),
        cmocka_unit_test(test_the_signed_reading_comes_back_up_to_the_middle_and_not_beyond),
    };

    return subject_run(s, laws, sizeof laws / sizeof laws[0]);
}
