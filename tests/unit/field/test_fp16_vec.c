/* test_fp16_vec.c -- vectors of elements at every length, and uniform elements out of given bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_vec.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LONGEST = 200, CANARY = 0xa5a5 };

static const uint32_t PRIMES[] = {3, 5, 251, 257, 641, 8191, 32749, 32771, 65519, 65521};

enum { PRIMES_N = sizeof PRIMES / sizeof PRIMES[0] };

static uint32_t next(uint32_t *s)
{
    *s = *s * 1664525U + 1013904223U;
    return *s >> 8;
}

/* Elements, the ends of the range among them. */
static void fill(uint16_t *x, size_t n, uint32_t seed, const struct fp16 *f)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = next(&seed);

        x[i] = (uint16_t)(r % 5 == 0 ? f->p - 1 : r % 7 == 0 ? 0 : r % f->p);
    }
}

static void test_vectors_add_modulo_p_and_not_an_element_further(void **state)
{
    struct fp16 f;

    (void)state;
    for (uint32_t i = 0; i < PRIMES_N; i++)
        for (size_t n = 0; n <= LONGEST; n++) {
            uint16_t sum[LONGEST + 1], x[LONGEST + 1], before[LONGEST + 1];

            assert_true(fp16_init(&f, PRIMES[i]));
            fill(sum, n, (uint32_t)n + 1, &f);
            fill(x, n, (uint32_t)n + 2000, &f);
            sum[n] = CANARY;
            memcpy(before, sum, sizeof sum);
            fp16_vec_add(sum, x, n, &f);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(sum[k], fp16_add(before[k], x[k], &f));
            assert_int_equal(sum[n], CANARY);
        }
}

static void test_a_value_that_is_no_element_is_seen_wherever_it_stands(void **state)
{
    uint16_t x[LONGEST];
    struct fp16 f;

    (void)state;
    for (uint32_t i = 0; i < PRIMES_N; i++) {
        assert_true(fp16_init(&f, PRIMES[i]));
        for (size_t n = 0; n <= LONGEST; n += n < 70 ? 1 : 13) {
            fill(x, n, (uint32_t)n, &f);
            assert_true(fp16_vec_valid(x, n, &f));
            for (size_t k = 0; k < n; k++) {
                const uint16_t kept = x[k];

                x[k] = (uint16_t)f.p;
                assert_false(fp16_vec_valid(x, n, &f));
                assert_true(fp16_vec_valid(x, k, &f)); /* what follows does not count */
                x[k] = UINT16_MAX;
                assert_false(fp16_vec_valid(x, n, &f));
                x[k] = kept;
            }
        }
    }
}

/* Word by word as the header says, by division and not by shifts. */
static size_t uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used,
                      const struct fp16 *f)
{
    size_t made = 0;

    for (*used = 0; made < n && *used + 2 <= bytes; *used += 2) {
        uint32_t power = 1, word = random[*used] + 256U * random[*used + 1];

        while (power < f->p)
            power *= 2;
        if (word % power < f->p)
            out[made++] = (uint16_t)(word % power);
    }
    return made;
}

static void test_uniform_takes_and_rejects_as_said(void **state)
{
    uint8_t random[4 * LONGEST];
    uint32_t seed = 7;
    struct fp16 f;

    (void)state;
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)next(&seed);
    for (uint32_t i = 0; i < PRIMES_N; i++) {
        assert_true(fp16_init(&f, PRIMES[i]));
        for (size_t n = 0; n <= LONGEST; n += 9)
            for (size_t bytes = 0; bytes <= sizeof random; bytes += 1 + bytes / 8) {
                uint16_t out[LONGEST + 1], want[LONGEST + 1];
                size_t used, want_used, made;

                memset(out, 0xa5, sizeof out);
                made = fp16_vec_uniform(out, n, random, bytes, &used, &f);
                assert_int_equal(made, uniform(want, n, random, bytes, &want_used, &f));
                assert_int_equal(used, want_used);
                assert_memory_equal(out, want, made * sizeof *out);
                assert_int_equal(out[n], CANARY);
            }
    }
}

/* All 2^16 words once: every element as often as every other. */
static void test_every_element_comes_equally_often(void **state)
{
    static uint8_t random[2 << 16];
    static uint16_t out[1 << 16];
    static uint32_t count[1 << 16];
    struct fp16 f;
    size_t used;

    (void)state;
    for (uint32_t w = 0; w < 1 << 16; w++) {
        random[2 * w] = (uint8_t)w;
        random[2 * w + 1] = (uint8_t)(w >> 8);
    }
    for (uint32_t i = 0; i < PRIMES_N; i++) {
        size_t made, times;

        assert_true(fp16_init(&f, PRIMES[i]));
        times = (size_t)(1 << 16 >> f.bits);
        memset(count, 0, sizeof count);
        made = fp16_vec_uniform(out, 1 << 16, random, sizeof random, &used, &f);
        assert_int_equal(made, f.p * times);
        assert_int_equal(used, sizeof random);
        for (size_t k = 0; k < made; k++)
            count[out[k]]++;
        for (uint32_t x = 0; x < f.p; x++)
            assert_int_equal(count[x], times);
    }
}

/* Calls that go on where the last one stopped make what one call makes. */
static void test_uniform_goes_on_with_fresh_bytes(void **state)
{
    enum { N = 100, BYTES = 400, PIECE = 26 };
    uint8_t random[BYTES];
    uint16_t whole[N], pieces[N];
    uint32_t seed = 11;
    size_t used, at = 0, made = 0;
    struct fp16 f;

    (void)state;
    assert_true(fp16_init(&f, 641));
    for (size_t i = 0; i < BYTES; i++)
        random[i] = (uint8_t)next(&seed);
    assert_int_equal(fp16_vec_uniform(whole, N, random, BYTES, &used, &f), N);
    for (; made < N; at += PIECE)
        made += fp16_vec_uniform(pieces + made, N - made, random + at, PIECE, &used, &f);
    assert_memory_equal(whole, pieces, sizeof whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_add_modulo_p_and_not_an_element_further),
        cmocka_unit_test(test_a_value_that_is_no_element_is_seen_wherever_it_stands),
        cmocka_unit_test(test_uniform_takes_and_rejects_as_said),
        cmocka_unit_test(test_every_element_comes_equally_often),
        cmocka_unit_test(test_uniform_goes_on_with_fresh_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
