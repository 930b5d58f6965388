/* test_fp31_vec.c -- vectors of 2^31 - 1 at every length, and uniform elements out of given bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_vec.h"

#include "common/base/bits.h"
#include "tests/golden/field.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LONGEST = 100, UNIFORM = 700, WORD = sizeof(uint32_t) };

#define CANARY UINT32_C(0xa5a5a5a5)

/* Elements, the ends of the range among them. */
static void fill(uint32_t *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = golden_field_mixed(seed, i);

        x[i] = (uint32_t)(r % 5 == 0 ? FP31_P - 1 : r % 7 == 0 ? 0 : r % FP31_P);
    }
}

static void test_vectors_add_subtract_and_scale_and_not_an_element_further(void **state)
{
    static const uint32_t factors[] = {0, 1, 2, FP31_HALF, FP31_P - 1, 1234567};

    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        const uint32_t s = factors[n % 6];
        uint32_t sum[LONGEST + 1], less[LONGEST + 1], scaled[LONGEST + 1];
        uint32_t x[LONGEST + 1], y[LONGEST + 1];

        fill(x, n, n + 1);
        fill(y, n, n + 2000);
        x[n] = CANARY;
        memcpy(sum, x, sizeof x);
        memcpy(less, x, sizeof x);
        memcpy(scaled, x, sizeof x);
        fp31_vec_add(sum, y, n);
        fp31_vec_sub(less, y, n);
        fp31_vec_axpy(scaled, s, y, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(sum[i], fp31_add(x[i], y[i]));
            assert_int_equal(less[i], fp31_sub(x[i], y[i]));
            assert_int_equal(scaled[i], fp31_add(x[i], fp31_mul(s, y[i])));
        }
        assert_int_equal(sum[n], CANARY);
        assert_int_equal(less[n], CANARY);
        assert_int_equal(scaled[n], CANARY);
    }
}

static void test_the_largest_sums_are_canonical(void **state)
{
    uint32_t x[LONGEST], y[LONGEST];

    (void)state;
    for (size_t i = 0; i < LONGEST; i++)
        x[i] = y[i] = FP31_P - 1;
    fp31_vec_axpy(x, FP31_P - 1, y, LONGEST); /* (-1) (-1) - 1 */
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 0);
    fp31_vec_sub(x, y, LONGEST);
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 1);
    fp31_vec_add(x, y, LONGEST);
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 0);
}

static void test_a_value_that_is_no_element_is_seen_wherever_it_stands(void **state)
{
    uint32_t x[LONGEST] = {0};

    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        fill(x, n, n);
        assert_true(fp31_vec_valid(x, n));
        for (size_t k = 0; k < n; k++) {
            const uint32_t kept = x[k];

            x[k] = FP31_P;
            assert_false(fp31_vec_valid(x, n));
            assert_true(fp31_vec_valid(x, k)); /* what follows does not count */
            x[k] = UINT32_MAX;
            assert_false(fp31_vec_valid(x, n));
            x[k] = kept;
        }
    }
}

/* Word by word as the header says. */
static size_t uniform(uint32_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    size_t made = 0;

    for (*used = 0; made < n && *used + WORD <= bytes; *used += WORD) {
        uint32_t word = 0;

        for (size_t k = WORD; k-- > 0;)
            word = word << 8 | random[*used + k];
        word %= FP31_P + 1;
        if (word != FP31_P)
            out[made++] = word;
    }
    return made;
}

/* Some words are p in their low bits: none, one in 7, all of some steps. */
static void words(uint8_t *random, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = golden_field_mixed(seed, i);
        const bool p = (seed % 3 == 1 && r % 7 == 0) || (seed % 3 == 2 && i % 300 < 270);

        for (size_t k = 0; k < WORD; k++)
            random[WORD * i + k] = p ? 0xff : (uint8_t)(r >> 8 * k);
        if (p && r % 2 == 0)
            random[WORD * i + WORD - 1] = FP31_P >> (8 * WORD - 8); /* the spare bits are 0 */
    }
}

static void test_uniform_takes_and_rejects_as_said(void **state)
{
    static uint8_t random[WORD * 2 * UNIFORM];
    static uint32_t out[UNIFORM + 1], want[UNIFORM + 1];

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        words(random, 2 * UNIFORM, seed);
        for (size_t n = 0; n <= UNIFORM; n += n < 10 ? 1 : 53)
            for (size_t bytes = 0; bytes <= sizeof random; bytes += 1 + bytes / 6) {
                size_t used, want_used, made;

                memset(out, 0xa5, sizeof out);
                made = fp31_vec_uniform(out, n, random, bytes, &used);
                assert_int_equal(made, uniform(want, n, random, bytes, &want_used));
                assert_int_equal(used, want_used);
                assert_memory_equal(out, want, made * sizeof *out);
                assert_int_equal(out[n], CANARY);
            }
    }
}

/* Fresh bytes for what is missing give the same as all bytes at once. */
static void test_uniform_goes_on_where_it_stopped(void **state)
{
    static uint8_t random[WORD * 2 * UNIFORM];
    static uint32_t out[UNIFORM], want[UNIFORM];
    size_t used, made = 0;

    (void)state;
    words(random, 2 * UNIFORM, 1);
    assert_int_equal(fp31_vec_uniform(want, UNIFORM, random, sizeof random, &used), UNIFORM);
    for (size_t at = 0; made < UNIFORM; at += used) {
        made += fp31_vec_uniform(out + made, UNIFORM - made, random + at, 10 * WORD + 3, &used);
        assert_true(used > 0);
    }
    assert_memory_equal(out, want, sizeof out);
}

/* Every bit of uniform elements is 1 about as often as 0: within 6 deviations. */
static void test_bits_of_uniform_elements_are_even(void **state)
{
    enum { N = 1 << 16 };
    static uint8_t random[WORD * N];
    static uint32_t out[N];
    size_t used;

    (void)state;
    words(random, N, 0);
    assert_int_equal(fp31_vec_uniform(out, N, random, sizeof random, &used), N);
    assert_true(fp31_vec_valid(out, N));
    for (uint32_t bit = 0; bit < FP31_BITS; bit++) {
        int ones = 0;

        for (size_t i = 0; i < N; i++)
            ones += (int)(out[i] >> bit & 1);
        assert_true(ones > N / 2 - 6 * 128 && ones < N / 2 + 6 * 128);
    }
}

/* Packed by bits_pack32(): this room's contract with common/base/bits.h. */
static void test_elements_pack_to_31_bits_and_come_back(void **state)
{
    enum { N = 21 };
    uint8_t run[sizeof golden_fp31_packed];
    uint32_t x[N], back[N];

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        x[i] = (uint32_t)(golden_field_mixed(99, i) % FP31_P);
    assert_int_equal(bits_bytes(N, FP31_BITS), sizeof run);
    bits_pack32(run, x, N, FP31_BITS);
    assert_memory_equal(run, golden_fp31_packed, sizeof run);
    bits_unpack32(back, run, N, FP31_BITS);
    assert_memory_equal(back, x, sizeof x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_add_subtract_and_scale_and_not_an_element_further),
        cmocka_unit_test(test_the_largest_sums_are_canonical),
        cmocka_unit_test(test_a_value_that_is_no_element_is_seen_wherever_it_stands),
        cmocka_unit_test(test_uniform_takes_and_rejects_as_said),
        cmocka_unit_test(test_uniform_goes_on_where_it_stopped),
        cmocka_unit_test(test_bits_of_uniform_elements_are_even),
        cmocka_unit_test(test_elements_pack_to_31_bits_and_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
