/* test_rng.c -- one stream, read in any sizes; what is drawn from it has the distribution it
 * claims. All draws are from fixed keys, so a test gives the same verdict every time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/rng.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/crypto/hex.h"

static const uint8_t ZERO[RNG_KEY_BYTES], ONE[RNG_KEY_BYTES] = {1};

/* The same blocks as in test_prg.c: a keyed generator is the AES-256-CTR stream of its key from IV
 * 0. */
static void test_a_keyed_stream_is_aes_256_in_counter_mode(void **state)
{
    struct rng r;
    uint8_t out[48];

    (void)state;
    assert_int_equal(rng_init_key(&r, ZERO), STATUS_OK);
    rng_fill(&r, out, sizeof out);
    assert_hex(out, sizeof out,
               "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b"
               "cea7403d4d606b6e074ec5d3baf39d18");
    rng_deinit(&r);
}

/* Small reads, reads of the buffer's size, large ones beside it, odd ones: the stream is the same.
 */
static void test_the_stream_does_not_depend_on_how_it_is_read(void **state)
{
    enum { N = 60000 };
    static uint8_t whole[N], parts[N];
    static const size_t sizes[] = {0, 1, 8, 4095, 4096, 4097, 2, 16389, 4096, 8191, 1, 13, 12288};
    struct rng r;
    size_t at = 0;

    (void)state;
    assert_int_equal(rng_init_key(&r, ONE), STATUS_OK);
    rng_fill(&r, whole, N);
    rng_rekey(&r, ONE);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; at += sizes[k++])
        rng_fill(&r, parts + at, sizes[k]);
    while (at < N)
        rng_fill(&r, parts + at++, 1);
    assert_memory_equal(whole, parts, N);
    rng_deinit(&r);
}

static void test_rekey_forgets_what_was_buffered(void **state)
{
    struct rng a, b;

    (void)state;
    assert_int_equal(rng_init_key(&a, ZERO), STATUS_OK);
    assert_int_equal(rng_init_key(&b, ONE), STATUS_OK);
    rng_u64(&a);
    rng_rekey(&a, ONE);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rng_u64(&a), rng_u64(&b));
    rng_deinit(&a);
    rng_deinit(&b);
}

/* Bytes that were handed out are gone from the generator's memory. */
static void test_read_bytes_are_wiped(void **state)
{
    struct rng r;
    uint8_t out[64];

    (void)state;
    assert_int_equal(rng_init_key(&r, ONE), STATUS_OK);
    rng_fill(&r, out, sizeof out);
    for (size_t i = 0; i + sizeof out <= sizeof r.buffer; i++)
        assert_memory_not_equal(r.buffer + i, out, sizeof out);
    rng_deinit(&r);
    for (size_t i = 0; i < sizeof r.buffer; i++)
        assert_int_equal(r.buffer[i], 0);
}

static void test_two_system_generators_differ(void **state)
{
    struct rng a, b;

    (void)state;
    assert_int_equal(rng_init_system(&a), STATUS_OK);
    assert_int_equal(rng_init_system(&b), STATUS_OK);
    assert_true(rng_u64(&a) != rng_u64(&b));
    rng_deinit(&a);
    rng_deinit(&b);
}

static void test_a_seed_key_depends_on_everything_it_names(void **state)
{
    uint8_t base[RNG_KEY_BYTES], other[RNG_KEY_BYTES];
    uint8_t text[10 + 8 + 4 + 5 + 8] = "vfl/seed/1";

    (void)state;
    rng_seed_key(base, 7, 2, "noise", 9);
    text[10] = 7;
    text[18] = 2;
    memcpy(text + 22, "noise", 5);
    text[27] = 9;
    digest_sha256(other, text, sizeof text);
    assert_memory_equal(base, other, sizeof base);
    rng_seed_key(other, 8, 2, "noise", 9);
    assert_memory_not_equal(base, other, sizeof base);
    rng_seed_key(other, 7, 3, "noise", 9);
    assert_memory_not_equal(base, other, sizeof base);
    rng_seed_key(other, 7, 2, "init", 9);
    assert_memory_not_equal(base, other, sizeof base);
    rng_seed_key(other, 7, 2, "noise", 10);
    assert_memory_not_equal(base, other, sizeof base);
}

static double chi_square(const uint32_t *seen, size_t bins, double expected)
{
    double sum = 0;

    for (size_t i = 0; i < bins; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    return sum;
}

static void test_below_is_uniform_and_below(void **state)
{
    enum { DRAWS = 120000 };
    static const uint64_t bounds[] = {1, 2, 3, 10, 97};
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, ONE), STATUS_OK);
    for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
        uint32_t seen[97] = {0};
        double df = (double)bounds[k] - 1;

        for (int i = 0; i < DRAWS; i++) {
            uint64_t v = rng_below(&r, bounds[k]);

            assert_true(v < bounds[k]);
            seen[v]++;
        }
        assert_true(chi_square(seen, bounds[k], (double)DRAWS / (double)bounds[k]) <=
                    df + 5 * sqrt(2 * df) + 1e-9);
    }
    /* Under a bound of 3/4 of the range, plain remainders would put half of all draws in the first
     * third. */
    {
        const uint64_t bound = UINT64_C(3) << 62;
        int low = 0;

        for (int i = 0; i < DRAWS; i++)
            low += rng_below(&r, bound) < bound / 3;
        assert_true(fabs(low - DRAWS / 3.0) < 5 * sqrt(DRAWS * 2.0 / 9));
    }
    rng_deinit(&r);
}

static void test_uniform_is_in_the_half_open_interval(void **state)
{
    enum { DRAWS = 200000 };
    struct rng r;
    uint32_t seen[100] = {0};

    (void)state;
    assert_int_equal(rng_init_key(&r, ONE), STATUS_OK);
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_uniform(&r);

        assert_true(u >= 0 && u < 1);
        seen[(int)(100 * u)]++;
    }
    assert_true(chi_square(seen, 100, DRAWS / 100.0) < 99 + 5 * sqrt(198));
    rng_deinit(&r);
}

/* Cells of equal probability under the normal law; a variance of 1.02 would show. */
static void test_normal_is_normal(void **state)
{
    enum { DRAWS = 400000, CELLS = 50 };
    struct rng r;
    uint32_t seen[CELLS] = {0}, wide[CELLS] = {0};

    (void)state;
    assert_int_equal(rng_init_key(&r, ONE), STATUS_OK);
    for (int i = 0; i < DRAWS; i++) {
        double z = rng_normal(&r);

        assert_true(fabs(z) < 9);
        seen[(int)(CELLS * 0.5 * erfc(-z / sqrt(2)))]++;
        wide[(int)(CELLS * 0.5 * erfc(-z * sqrt(1.02) / sqrt(2)))]++;
    }
    assert_true(chi_square(seen, CELLS, (double)DRAWS / CELLS) < 49 + 5 * sqrt(98));
    assert_true(chi_square(wide, CELLS, (double)DRAWS / CELLS) > 49 + 5 * sqrt(98));
    rng_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_keyed_stream_is_aes_256_in_counter_mode),
        cmocka_unit_test(test_the_stream_does_not_depend_on_how_it_is_read),
        cmocka_unit_test(test_rekey_forgets_what_was_buffered),
        cmocka_unit_test(test_read_bytes_are_wiped),
        cmocka_unit_test(test_two_system_generators_differ),
        cmocka_unit_test(test_a_seed_key_depends_on_everything_it_names),
        cmocka_unit_test(test_below_is_uniform_and_below),
        cmocka_unit_test(test_uniform_is_in_the_half_open_interval),
        cmocka_unit_test(test_normal_is_normal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
