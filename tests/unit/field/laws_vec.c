/* laws_vec.c -- vectors, in the field's own functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_vec.h"

#include "tests/golden/field.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LONGEST = 100, UNIFORM = 700 };

static void test_vectors_add_subtract_and_scale_and_not_an_element_further(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    const uint64_t factors[] = {0, 1, 2, subject_half(s), f->p - 1, 1234567};

    for (size_t n = 0; n <= LONGEST; n++) {
        const uint64_t factor = factors[n % 6];
        uint64_t sum[LONGEST + 1], less[LONGEST + 1], scaled[LONGEST + 1];
        uint64_t x[LONGEST + 1], y[LONGEST + 1];

        memset(x, SUBJECT_CANARY, sizeof x);
        subject_fill(s, x, n, n + 1);
        subject_fill(s, y, n, n + 2000);
        memcpy(sum, x, sizeof x);
        memcpy(less, x, sizeof x);
        memcpy(scaled, x, sizeof x);
        f->add(sum, y, n);
        s->vec_sub(less, y, n);
        f->axpy(scaled, factor, y, n);
        for (size_t i = 0; i < n; i++) {
            const uint64_t a = f->get(x, i), b = f->get(y, i);

            assert_int_equal(f->get(sum, i), s->add(a, b));
            assert_int_equal(f->get(less, i), s->sub(a, b));
            assert_int_equal(f->get(scaled, i), s->add(a, s->mul(factor, b)));
        }
        assert_true(subject_is_canary(s, sum, n));
        assert_true(subject_is_canary(s, less, n));
        assert_true(subject_is_canary(s, scaled, n));
    }
}

static void assert_all(const struct subject *s, const void *x, uint64_t v)
{
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(s->field->get(x, i), v);
}

static void test_the_largest_sums_are_canonical(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    uint64_t x[LONGEST], y[LONGEST];

    for (size_t i = 0; i < LONGEST; i++) {
        f->set(x, i, f->p - 1);
        f->set(y, i, f->p - 1);
    }
    f->axpy(x, f->p - 1, y, LONGEST); /* (-1) (-1) - 1 */
    assert_all(s, x, 0);
    s->vec_sub(x, y, LONGEST);
    assert_all(s, x, 1);
    f->add(x, y, LONGEST);
    assert_all(s, x, 0);
}

static void test_a_value_that_is_no_element_is_seen_wherever_it_stands(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    uint64_t x[LONGEST] = {0};

    for (size_t n = 0; n <= LONGEST; n++) {
        subject_fill(s, x, n, n);
        assert_true(f->valid(x, n));
        for (size_t k = 0; k < n; k++) {
            const uint64_t kept = f->get(x, k);

            subject_put(s, x, k, f->p);
            assert_false(f->valid(x, n));
            assert_true(f->valid(x, k)); /* what follows does not count */
            subject_put(s, x, k, UINT64_MAX);
            assert_false(f->valid(x, n));
            f->set(x, k, kept);
        }
    }
}

/* --- uniform elements --- */

struct source {
    const uint8_t *random;
    size_t bytes;
};

/* Word by word as the header says. */
static size_t uniform(const struct field *f, void *out, size_t n, struct source from, size_t *used)
{
    size_t made = 0;

    for (*used = 0; made < n && *used + f->bytes <= from.bytes; *used += f->bytes) {
        uint64_t word = 0;

        for (size_t k = f->bytes; k-- > 0;)
            word = word << 8 | from.random[*used + k];
        word %= f->p + 1;
        if (word != f->p)
            f->set(out, made++, word);
    }
    return made;
}

/* Some words are p in their low bits: none, one in 7, all of some steps. */
static void words(const struct field *f, uint8_t *random, size_t n, uint64_t seed)
{
    const uint32_t bytes = f->bytes;

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = golden_field_mixed(seed, i);
        const bool p = (seed % 3 == 1 && r % 7 == 0) || (seed % 3 == 2 && i % 300 < 270);

        for (size_t k = 0; k < bytes; k++)
            random[bytes * i + k] = p ? 0xff : (uint8_t)(r >> 8 * k);
        if (p && r % 2 == 0)
            random[bytes * i + bytes - 1] = (uint8_t)(f->p >> (8 * bytes - 8)); /* spare bits 0 */
    }
}

static void test_uniform_takes_and_rejects_as_said(void **state)
{
    static uint8_t random[FIELD_BYTES_MAX * 2 * UNIFORM];
    static uint64_t out[UNIFORM + 1], want[UNIFORM + 1];
    const struct subject *s = *state;
    const struct field *f = s->field;
    const size_t all = (size_t)f->bytes * 2 * UNIFORM;

    for (uint64_t seed = 0; seed < 3; seed++) {
        words(f, random, 2 * UNIFORM, seed);
        for (size_t n = 0; n <= UNIFORM; n += n < 10 ? 1 : 53)
            for (size_t bytes = 0; bytes <= all; bytes += 1 + bytes / 6) {
                size_t used, want_used, made;

                memset(out, SUBJECT_CANARY, sizeof out);
                made = f->uniform(out, n, random, bytes, &used);
                assert_int_equal(made,
                                 uniform(f, want, n, (struct source){random, bytes}, &want_used));
                assert_int_equal(used, want_used);
                assert_memory_equal(out, want, made * f->bytes);
                assert_true(subject_is_canary(s, out, n));
            }
    }
}

/* Fresh bytes for what is missing give the same as all bytes at once. */
static void test_uniform_goes_on_where_it_stopped(void **state)
{
    static uint8_t random[FIELD_BYTES_MAX * 2 * UNIFORM];
    static uint64_t out[UNIFORM], want[UNIFORM];
    const struct subject *s = *state;
    const struct field *f = s->field;
    const size_t all = (size_t)f->bytes * 2 * UNIFORM;
    size_t used, made = 0;

    words(f, random, 2 * UNIFORM, 1);
    assert_int_equal(f->uniform(want, UNIFORM, random, all, &used), UNIFORM);
    for (size_t at = 0; made < UNIFORM; at += used) {
        made += f->uniform(subject_at(s, out, made), UNIFORM - made, random + at, 10 * f->bytes + 3,
                           &used);
        assert_true(used > 0);
    }
    assert_memory_equal(out, want, UNIFORM * f->bytes);
}

/* Every bit of uniform elements is 1 about as often as 0: within 6 deviations. */
static void test_bits_of_uniform_elements_are_even(void **state)
{
    enum { N = 1 << 16 };
    static uint8_t random[FIELD_BYTES_MAX * N];
    static uint64_t out[N];
    const struct subject *s = *state;
    const struct field *f = s->field;
    size_t used;

    words(f, random, N, 0);
    assert_int_equal(f->uniform(out, N, random, (size_t)f->bytes * N, &used), N);
    assert_true(f->valid(out, N));
    for (uint32_t bit = 0; bit < f->bits; bit++) {
        int ones = 0;

        for (size_t i = 0; i < N; i++)
            ones += (int)(f->get(out, i) >> bit & 1);
        assert_true(ones > N / 2 - 6 * 128 && ones < N / 2 + 6 * 128);
    }
}

/* --- packed --- */

static void test_elements_pack_as_one_long_number(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    uint64_t x[SUBJECT_PACKED], back[SUBJECT_PACKED];
    uint8_t run[SUBJECT_PACKED * FIELD_BYTES_MAX];

    for (uint32_t i = 0; i < SUBJECT_PACKED; i++)
        f->set(x, i, golden_field_mixed(99, i) % f->p);
    assert_int_equal(f->packed(SUBJECT_PACKED), s->packed_bytes);
    f->pack(run, x, SUBJECT_PACKED);
    assert_memory_equal(run, s->packed, s->packed_bytes);
    f->unpack(back, run, SUBJECT_PACKED);
    assert_memory_equal(back, x, SUBJECT_PACKED * f->bytes);
}

/* Bit by bit as the header says. */
static void naive_pack(const struct field *f, uint8_t *out, const void *x, size_t n)
{
    memset(out, 0, f->packed(n));
    for (size_t k = 0; k < n * f->bits; k++)
        out[k / 8] |= (uint8_t)((f->get(x, k / f->bits) >> k % f->bits & 1) << k % 8);
}

static void test_runs_of_every_length_and_not_a_byte_further(void **state)
{
    uint8_t run[LONGEST * 8 + 1], want[LONGEST * 8 + 1];
    uint64_t x[LONGEST + 1], back[LONGEST + 1];
    const struct subject *s = *state;
    const struct field *f = s->field;

    for (size_t n = 0; n <= LONGEST; n++) {
        const size_t bytes = f->packed(n);

        assert_int_equal(bytes, (n * f->bits + 7) / 8);
        subject_fill(s, x, n, n);
        memset(run, 0xa5, sizeof run);
        memset(back, SUBJECT_CANARY, sizeof back);
        naive_pack(f, want, x, n);
        f->pack(run, x, n);
        assert_memory_equal(run, want, bytes);
        assert_int_equal(run[bytes], 0xa5);
        f->unpack(back, run, n);
        assert_memory_equal(back, x, n * f->bytes);
        assert_true(subject_is_canary(s, back, n));
    }
}

/* A peer may send nothing but ones, which is p: it is unpacked as it is, and seen afterwards. */
static void test_a_packed_p_is_no_element(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    uint8_t run[LONGEST * 8];
    uint64_t x[LONGEST] = {0};

    for (size_t n = 1; n <= 20; n++)
        for (size_t k = 0; k < n; k++) {
            subject_fill(s, x, n, n);
            f->pack(run, x, n);
            f->unpack(x, run, n);
            assert_true(f->valid(x, n));
            subject_put(s, x, k, f->p);
            f->pack(run, x, n);
            f->unpack(x, run, n);
            assert_true(f->get(x, k) == f->p);
            assert_false(f->valid(x, n));
        }
}

/* The spare bits of the last byte belong to nobody. */
static void test_spare_bits_are_not_looked_at(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;
    const size_t last = f->packed(1) - 1;
    uint64_t x[1], back[1];
    uint8_t run[8];

    f->set(x, 0, f->p - 1);
    f->pack(run, x, 1);
    assert_int_equal(run[last], 0xff >> (8 - f->bits % 8));
    run[last] = 0xff;
    f->unpack(back, run, 1);
    assert_true(f->get(back, 0) == f->p - 1);
}

int laws_vec(const struct subject *s)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(test_vectors_add_subtract_and_scale_and_not_an_element_further),
        cmocka_unit_test(test_the_largest_sums_are_canonical),
        cmocka_unit_test(test_a_value_that_is_no_element_is_seen_wherever_it_stands),
        cmocka_unit_test(test_uniform_takes_and_rejects_as_said),
        cmocka_unit_test(test_uniform_goes_on_where_it_stopped),
        cmocka_unit_test(test_bits_of_uniform_elements_are_even),
        cmocka_unit_test(test_elements_pack_as_one_long_number),
        cmocka_unit_test(test_runs_of_every_length_and_not_a_byte_further),
        cmocka_unit_test(test_a_packed_p_is_no_element),
        cmocka_unit_test(test_spare_bits_are_not_looked_at),
    };

    return subject_run(s, laws, sizeof laws / sizeof laws[0]);
}
