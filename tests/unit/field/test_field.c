/* test_field.c -- what the tables say, signed vectors, and what is not in the fields' own headers.
 * That their functions are right is in laws_vec.c and laws_mat.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/field.h"

#include "tests/golden/field.h"
#include "tests/lib/aborts.h"
#include "tests/unit/field/subject.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LONGEST = 40 };

static void test_a_field_says_what_its_elements_are(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;

    assert_true(f->p == (UINT64_C(1) << f->bits) - 1);
    assert_true(f->bytes <= FIELD_BYTES_MAX && 8 * f->bytes > f->bits);
    assert_int_equal(f->bits, f == &field_31 ? 31 : 61);
    assert_string_equal(f->name, f == &field_31 ? "2^31-1" : "2^61-1");
}

/* Elements lie in memory one after the other, as the processor has them. */
static void test_elements_are_written_and_read_in_their_place(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    uint64_t x[LONGEST];

    for (size_t i = 0; i < LONGEST; i++) {
        uint8_t want[sizeof x];

        memset(x, SUBJECT_CANARY, sizeof x);
        memset(want, SUBJECT_CANARY, sizeof want);
        for (size_t k = 0; k < f->bytes; k++)
            want[i * f->bytes + k] = (uint8_t)((f->p - 1 - i) >> 8 * k);
        f->set(x, i, f->p - 1 - i);
        assert_memory_equal(x, want, sizeof x);
        assert_true(f->get(x, i) == f->p - 1 - i);
    }
}

struct given {
    const struct subject *s;
    uint64_t v;
};

static void set(void *arg)
{
    const struct given *g = arg;
    uint64_t x;

    g->s->field->set(&x, 0, g->v);
}

static void scale(void *arg)
{
    const struct given *g = arg;
    uint64_t x = 0, y = 0;

    g->s->field->axpy(&x, g->v, &y, 1);
}

static void test_a_scalar_that_is_no_element_aborts(void **state)
{
    const struct subject *s = *state;
    const uint64_t p = s->field->p, wrong[] = {p, p + 1, UINT64_C(1) << 63, UINT64_MAX};

    assert_false(aborts(set, &(struct given){s, p - 1}));
    assert_false(aborts(scale, &(struct given){s, p - 1}));
    for (size_t i = 0; i < 4; i++) {
        assert_true(aborts(set, &(struct given){s, wrong[i]}));
        assert_true(aborts(scale, &(struct given){s, wrong[i]}));
    }
}

static void test_signed_vectors_become_elements_and_come_back(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    const int64_t half = (int64_t)subject_half(s);

    for (size_t n = 0; n < LONGEST; n++) {
        int64_t in[LONGEST + 1], back[LONGEST + 1];
        uint64_t x[LONGEST + 1];

        for (size_t i = 0; i < n; i++) {
            const int64_t some = (int64_t)(golden_field_mixed(n, i) % (uint64_t)half);

            in[i] = i % 5 == 0 ? half : i % 5 == 1 ? -half : i % 2 ? some : -some;
        }
        memset(x, SUBJECT_CANARY, sizeof x);
        back[n] = 77;
        f->from_signed(x, in, n);
        for (size_t i = 0; i < n; i++)
            assert_true(f->get(x, i) == s->from_signed(in[i]));
        assert_true(subject_is_canary(s, x, n));
        assert_true(f->valid(x, n));
        f->to_signed(back, x, n);
        assert_memory_equal(back, in, n * sizeof *in);
        assert_int_equal(back[n], 77);
    }
}

/* One above the middle is read as one that is negative. */
static void test_beyond_the_middle_a_signed_vector_wraps(void **state)
{
    const struct subject *s = *state;
    const int64_t half = (int64_t)subject_half(s), in[] = {half + 1, -half - 1, INT64_MIN};
    uint64_t x[3];
    int64_t back[3];

    s->field->from_signed(x, in, 3);
    assert_true(s->field->valid(x, 3));
    s->field->to_signed(back, x, 3);
    assert_true(back[0] == -half && back[1] == half);
    assert_true(s->field->get(x, 2) == s->from_signed(INT64_MIN));
}

/* A vector of one field is none of the other's. */
static void test_the_fields_are_not_each_other(void **state)
{
    uint64_t x[2] = {0}, y[2] = {0};

    (void)state;
    field_61.set(x, 0, FIELD_BYTES_MAX);
    field_61.set(x, 1, field_61.p - 1);
    field_61.set(y, 1, 2);
    field_61.add(x, y, 2);
    assert_true(field_61.get(x, 1) == 1);
    field_31.set(x, 1, field_31.p - 1);
    field_31.set(y, 1, 2);
    field_31.add(x, y, 2);
    assert_true(field_31.get(x, 1) == 1);
    assert_true(field_31.packed(100) == 388 && field_61.packed(100) == 763);
}

int main(void)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(test_a_field_says_what_its_elements_are),
        cmocka_unit_test(test_elements_are_written_and_read_in_their_place),
        cmocka_unit_test(test_a_scalar_that_is_no_element_aborts),
        cmocka_unit_test(test_signed_vectors_become_elements_and_come_back),
        cmocka_unit_test(test_beyond_the_middle_a_signed_vector_wraps),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fields_are_not_each_other),
    };
    const size_t n = sizeof laws / sizeof laws[0];

    return subject_run(&subject_31, laws, n) + subject_run(&subject_61, laws, n) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
