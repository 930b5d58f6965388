/* test_fp16.c -- which numbers are primes of ours, and the arithmetic of single elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { NUMBERS = 70000 };

static bool composite[NUMBERS]; /* by the sieve: shares nothing with trial division */

static int sieve(void **state)
{
    (void)state;
    composite[0] = composite[1] = true;
    for (uint32_t d = 2; d < NUMBERS; d++)
        for (uint32_t k = 2 * d; k < NUMBERS; k += d)
            composite[k] = true;
    return 0;
}

static void test_the_prime_above_is_the_next_in_the_sieve(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < FP16_PRIME_MAX; n++) {
        uint32_t next = n + 1;

        while (composite[next])
            next++;
        assert_int_equal(fp16_prime_above(n), next);
    }
}

static void test_above_the_largest_16_bit_prime_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(fp16_prime_above(FP16_PRIME_MAX - 1), FP16_PRIME_MAX);
    assert_int_equal(fp16_prime_above(FP16_PRIME_MAX), 0);
    assert_int_equal(fp16_prime_above(65536), 0);
    assert_int_equal(fp16_prime_above(UINT32_MAX), 0);
}

static void test_exactly_the_odd_primes_of_16_bits_are_taken(void **state)
{
    const struct fp16 untouched = {1, 2, 3, 4};

    (void)state;
    for (uint32_t n = 0; n < NUMBERS; n++) {
        const bool good = !composite[n] && n != 2 && n <= FP16_PRIME_MAX;
        struct fp16 f = untouched;

        assert_int_equal(fp16_init(&f, n), good);
        if (!good) {
            assert_memory_equal(&f, &untouched, sizeof f);
            continue;
        }
        assert_int_equal(f.p, n);
        assert_int_equal(2 * f.half + 1, n);
        assert_true(n <= 1U << f.bits && n > 1U << (f.bits - 1));
    }
}

static void check_pair(uint16_t a, uint16_t b, const struct fp16 *f)
{
    if (fp16_add(a, b, f) != ((uint32_t)a + b) % f->p ||
        fp16_sub(a, b, f) != ((uint32_t)a + f->p - b) % f->p ||
        fp16_mul(a, b, f) != (uint32_t)a * b % f->p)
        fail_msg("p = %u: %u and %u", f->p, a, b);
}

static void test_all_pairs_of_small_primes(void **state)
{
    struct fp16 f;

    (void)state;
    for (uint32_t p = 3; p < 300; p = fp16_prime_above(p)) {
        assert_true(fp16_init(&f, p));
        for (uint32_t a = 0; a < p; a++)
            for (uint32_t b = 0; b < p; b++)
                check_pair((uint16_t)a, (uint16_t)b, &f);
    }
}

/* Every prime, at the ends of its range, where a quotient that is wrong by one shows. */
static void test_the_ends_of_every_prime(void **state)
{
    struct fp16 f;

    (void)state;
    for (uint32_t p = 5; p != 0; p = fp16_prime_above(p)) {
        const uint32_t ends[] = {0, 1, 2, (p - 1) / 2, (p + 1) / 2, p - 2, p - 1};

        assert_true(fp16_init(&f, p));
        for (uint32_t i = 0; i < 49; i++)
            check_pair((uint16_t)ends[i / 7], (uint16_t)ends[i % 7], &f);
        for (uint32_t k = 0; k < 30; k++)
            check_pair((uint16_t)((k * 2654435761U >> 8) % p),
                       (uint16_t)((k * 40503U + 77777U) % p), &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_prime_above_is_the_next_in_the_sieve),
        cmocka_unit_test(test_above_the_largest_16_bit_prime_there_is_none),
        cmocka_unit_test(test_exactly_the_odd_primes_of_16_bits_are_taken),
        cmocka_unit_test(test_all_pairs_of_small_primes),
        cmocka_unit_test(test_the_ends_of_every_prime),
    };

    return cmocka_run_group_tests(tests, sieve, NULL);
}
