/* test_fp61_vec.c -- vectors of 2^61 - 1 at every length, and uniform elements out of given bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_vec.h"

#include "tests/golden/field.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LONGEST = 100, UNIFORM = 700, WORD = sizeof(uint64_t) };

#define CANARY UINT64_C(0xa5a5a5a5a5a5a5a5)

/* Elements, the ends of the range among them. */
static void fill(uint64_t *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = golden_field_mixed(seed, i);

        x[i] = r % 5 == 0 ? FP61_P - 1 : r % 7 == 0 ? 0 : r % FP61_P;
    }
}

static void test_vectors_add_subtract_and_scale_and_not_an_element_further(void **state)
{
    static const uint64_t factors[] = {0, 1, 2, FP61_HALF, FP61_P - 1, 1234567};

    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        const uint64_t s = factors[n % 6];
        uint64_t sum[LONGEST + 1], less[LONGEST + 1], scaled[LONGEST + 1];
        uint64_t x[LONGEST + 1], y[LONGEST + 1];

        fill(x, n, n + 1);
        fill(y, n, n + 2000);
        x[n] = CANARY;
        memcpy(sum, x, sizeof x);
        memcpy(less, x, sizeof x);
        memcpy(scaled, x, sizeof x);
        fp61_vec_add(sum, y, n);
        fp61_vec_sub(less, y, n);
        fp61_vec_axpy(scaled, s, y, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(sum[i], fp61_add(x[i], y[i]));
            assert_int_equal(less[i], fp61_sub(x[i], y[i]));
            assert_int_equal(scaled[i], fp61_add(x[i], fp61_mul(s, y[i])));
        }
        assert_int_equal(sum[n], CANARY);
        assert_int_equal(less[n], CANARY);
        assert_int_equal(scaled[n], CANARY);
    }
}

static void test_the_largest_sums_are_canonical(void **state)
{
    uint64_t x[LONGEST], y[LONGEST];

    (void)state;
    for (size_t i = 0; i < LONGEST; i++)
        x[i] = y[i] = FP61_P - 1;
    fp61_vec_axpy(x, FP61_P - 1, y, LONGEST); /* (-1) (-1) - 1 */
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 0);
    fp61_vec_sub(x, y, LONGEST);
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 1);
    fp61_vec_add(x, y, LONGEST);
    for (size_t i = 0; i < LONGEST; i++)
        assert_int_equal(x[i], 0);
}

static void test_a_value_that_is_no_element_is_seen_wherever_it_stands(void **state)
{
    uint64_t x[LONGEST] = {0};

    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        fill(x, n, n);
        assert_true(fp61_vec_valid(x, n));
        for (size_t k = 0; k < n; k++) {
            const uint64_t kept = x[k];

            x[k] = FP61_P;
            assert_false(fp61_vec_valid(x, n));
            assert_true(fp61_vec_valid(x, k)); /* what follows does not count */
            x[k] = UINT64_MAX;
            assert_false(fp61_vec_valid(x, n));
            x[k] = kept;
        }
    }
}

/* Word by word as the header says. */
static size_t uniform(uint64_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    size_t made = 0;

    for (*used = 0; made < n && *used + WORD <= bytes; *used += WORD) {
        uint64_t word = 0;

        for (size_t k = WORD; k-- > 0;)
            word = word << 8 | random[*used + k];
        word %= FP61_P + 1;
        if (word != FP61_P)
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
            random[WORD * i + WORD - 1] = FP61_P >> (8 * WORD - 8); /* the spare bits are 0 */
    }
}

static void test_uniform_takes_and_rejects_as_said(void **state)
{
    static uint8_t random[WORD * 2 * UNIFORM];
    static uint64_t out[UNIFORM + 1], want[UNIFORM + 1];

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        words(random, 2 * UNIFORM, seed);
        for (size_t n = 0; n <= UNIFORM; n += n < 10 ? 1 : 53)
            for (size_t bytes = 0; bytes <= sizeof random; bytes += 1 + bytes / 6) {
                size_t used, want_used, made;

                memset(out, 0xa5, sizeof out);
                made = fp61_vec_uniform(out, n, random, bytes, &used);
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
    static uint64_t out[UNIFORM], want[UNIFORM];
    size_t used, made = 0;

    (void)state;
    words(random, 2 * UNIFORM, 1);
    assert_int_equal(fp61_vec_uniform(want, UNIFORM, random, sizeof random, &used), UNIFORM);
    for (size_t at = 0; made < UNIFORM; at += used) {
        made += fp61_vec_uniform(out + made, UNIFORM - made, random + at, 10 * WORD + 3, &used);
        assert_true(used > 0);
    }
    assert_memory_equal(out, want, sizeof out);
}

/* Every bit of uniform elements is 1 about as often as 0: within 6 deviations. */
static void test_bits_of_uniform_elements_are_even(void **state)
{
    enum { N = 1 << 16 };
    static uint8_t random[WORD * N];
    static uint64_t out[N];
    size_t used;

    (void)state;
    words(random, N, 0);
    assert_int_equal(fp61_vec_uniform(out, N, random, sizeof random, &used), N);
    assert_true(fp61_vec_valid(out, N));
    for (uint32_t bit = 0; bit < FP61_BITS; bit++) {
        int ones = 0;

        for (size_t i = 0; i < N; i++)
            ones += (int)(out[i] >> bit & 1);
        assert_true(ones > N / 2 - 6 * 128 && ones < N / 2 + 6 * 128);
    }
}

static void test_elements_pack_to_61_bits_as_one_long_number(void **state)
{
    enum { N = 21 };
    uint8_t run[sizeof golden_fp61_packed];
    uint64_t x[N], back[N];

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        x[i] = golden_field_mixed(99, i) % FP61_P;
    assert_int_equal(fp61_vec_bytes(N), sizeof run);
    fp61_vec_pack(run, x, N);
    assert_memory_equal(run, golden_fp61_packed, sizeof run);
    fp61_vec_unpack(back, run, N);
    assert_memory_equal(back, x, sizeof x);
}

/* Bit by bit as the header says. */
static void naive_pack(uint8_t *out, const uint64_t *x, size_t n)
{
    memset(out, 0, fp61_vec_bytes(n));
    for (size_t k = 0; k < n * FP61_BITS; k++)
        out[k / 8] |= (uint8_t)((x[k / FP61_BITS] >> k % FP61_BITS & 1) << k % 8);
}

static void test_runs_of_every_length_and_not_a_byte_further(void **state)
{
    uint8_t run[LONGEST * 8 + 1], want[LONGEST * 8 + 1];
    uint64_t x[LONGEST + 1], back[LONGEST + 1];

    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        const size_t bytes = fp61_vec_bytes(n);

        fill(x, n, n);
        memset(run, 0xa5, sizeof run);
        memset(back, 0xa5, sizeof back);
        naive_pack(want, x, n);
        fp61_vec_pack(run, x, n);
        assert_memory_equal(run, want, bytes);
        assert_int_equal(run[bytes], 0xa5);
        fp61_vec_unpack(back, run, n);
        assert_memory_equal(back, x, n * sizeof *x);
        assert_true(back[n] == CANARY);
    }
}

/* A peer may send 61 ones, which is p: it is unpacked as it is, and seen afterwards. */
static void test_a_packed_p_is_no_element(void **state)
{
    uint8_t run[LONGEST * 8];
    uint64_t x[LONGEST] = {0};

    (void)state;
    for (size_t n = 1; n <= 20; n++)
        for (size_t k = 0; k < n; k++) {
            fill(x, n, n);
            fp61_vec_pack(run, x, n);
            fp61_vec_unpack(x, run, n);
            assert_true(fp61_vec_valid(x, n));
            x[k] = FP61_P;
            fp61_vec_pack(run, x, n);
            fp61_vec_unpack(x, run, n);
            assert_true(x[k] == FP61_P);
            assert_false(fp61_vec_valid(x, n));
        }
}

/* The spare bits of the last byte belong to nobody. */
static void test_spare_bits_are_not_looked_at(void **state)
{
    uint64_t x[] = {FP61_P - 1}, back[1];
    uint8_t run[8];

    (void)state;
    fp61_vec_pack(run, x, 1);
    assert_int_equal(run[7], 0x1f);
    run[7] |= 0xe0;
    fp61_vec_unpack(back, run, 1);
    assert_true(back[0] == x[0]);
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
        cmocka_unit_test(test_elements_pack_to_61_bits_as_one_long_number),
        cmocka_unit_test(test_runs_of_every_length_and_not_a_byte_further),
        cmocka_unit_test(test_a_packed_p_is_no_element),
        cmocka_unit_test(test_spare_bits_are_not_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
