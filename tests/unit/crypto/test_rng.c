/* test_rng.c -- the stream, and that what is drawn from it has the law it claims.
 *
 * Statistics are of fixed keys, so they are the same in every run; beside each stands a wrong way
 * of drawing that the same statistic rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/rng.h"

#include "common/crypto/digest.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { DRAWS = 60000, CELLS_MAX = 100 };

static void start(struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    for (uint8_t i = 0; i < RNG_KEY_BYTES; i++)
        key[i] = i;
    assert_int_equal(rng_init_key(r, key), STATUS_OK);
}

/* --- the stream
 * ------------------------------------------------------------------------------------ */

/* The expected bytes are what `openssl enc -aes-256-ctr` makes of zeros. */
static void test_keyed_stream_is_aes_256_ctr_from_zero(void **state)
{
    uint8_t want[48], out[48];
    struct rng r;

    (void)state;
    assert_true(digest_from_hex(want, sizeof want,
                                "f29000b62a499fd0a9f39a6add2e7780f05d76ae4ab99fe5"
                                "a6f69b3148c2363d0ebcb5deb52c83bd08a8a935182c9199"));
    start(&r);
    rng_fill(&r, out, sizeof out);
    assert_memory_equal(out, want, sizeof out);
    rng_deinit(&r);
    start(&r);
    assert_true(rng_u64(&r) == UINT64_C(0xd09f492ab60090f2)); /* little-endian */
    rng_deinit(&r);
}

static void test_stream_does_not_depend_on_the_sizes_of_requests(void **state)
{
    static const size_t steps[] = {1, 7, 32, 4095, 4096, 4097, 8192, 12289, 30001};
    static uint8_t whole[100000], pieces[sizeof whole];
    struct rng r;

    (void)state;
    start(&r);
    rng_fill(&r, whole, sizeof whole);
    rng_deinit(&r);
    for (size_t first = 0; first < sizeof steps / sizeof steps[0]; first++) {
        size_t k = first;

        start(&r);
        memset(pieces, 0, sizeof pieces);
        for (size_t at = 0, step; at < sizeof pieces; at += step, k += 1 + first % 3) {
            step = steps[k % (sizeof steps / sizeof steps[0])];
            step = step < sizeof pieces - at ? step : sizeof pieces - at;
            rng_fill(&r, pieces + at, step);
        }
        assert_memory_equal(pieces, whole, sizeof whole);
        rng_deinit(&r);
    }
}

static void test_what_was_read_is_no_longer_in_the_buffer(void **state)
{
    uint8_t out[1000];
    struct rng r;

    (void)state;
    start(&r);
    rng_fill(&r, out, sizeof out);
    rng_fill(&r, out, 500); /* the first fills the buffer, the second takes from it */
    for (size_t i = 0; i < sizeof out + 500; i++)
        assert_int_equal(r.buffer[i], 0);
    rng_deinit(&r);
    for (size_t i = 0; i < sizeof r.buffer; i++)
        assert_int_equal(r.buffer[i], 0);
    rng_deinit(&r); /* safe twice */
}

static void test_rekey_starts_the_stream_of_the_new_key(void **state)
{
    uint8_t key[RNG_KEY_BYTES] = {5}, first[100], second[100];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    rng_fill(&r, first, sizeof first);
    rng_deinit(&r);
    start(&r);
    rng_fill(&r, second, sizeof second);
    assert_memory_not_equal(first, second, sizeof first);
    rng_rekey(&r, key);
    rng_fill(&r, second, sizeof second);
    assert_memory_equal(first, second, sizeof first);
    rng_deinit(&r);
}

static void test_system_streams_differ(void **state)
{
    uint8_t out[3][64];
    struct rng r;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rng_init_system(&r), STATUS_OK);
        rng_fill(&r, out[i], sizeof out[i]);
        rng_deinit(&r);
    }
    start(&r);
    rng_fill(&r, out[2], sizeof out[2]);
    rng_deinit(&r);
    assert_memory_not_equal(out[0], out[1], sizeof out[0]);
    assert_memory_not_equal(out[0], out[2], sizeof out[0]);
}

static void test_seed_key_is_a_digest_of_seed_party_purpose_and_place(void **state)
{
    /* "vfl/seed/1" || seed (8 bytes LE) || party (4) || purpose || place (8) */
    static const uint8_t text[] = "vfl/seed/1\x08\x07\x06\x05\x04\x03\x02\x01\x0d\x0c\x0b\x0anoise"
                                  "\x28\x27\x26\x25\x24\x23\x22\x21";
    uint8_t want[RNG_KEY_BYTES], key[RNG_KEY_BYTES], other[RNG_KEY_BYTES];

    (void)state;
    digest_sha256(want, text, sizeof text - 1);
    rng_seed_key(key, UINT64_C(0x0102030405060708), 0x0a0b0c0d, "noise",
                 UINT64_C(0x2122232425262728));
    assert_memory_equal(key, want, sizeof key);
    rng_seed_key(key, 1, 2, "noise", 3);
    rng_seed_key(other, 2, 2, "noise", 3);
    assert_memory_not_equal(key, other, sizeof key);
    rng_seed_key(other, 1, 3, "noise", 3);
    assert_memory_not_equal(key, other, sizeof key);
    rng_seed_key(other, 1, 2, "init", 3);
    assert_memory_not_equal(key, other, sizeof key);
    rng_seed_key(other, 1, 2, "noise", 4);
    assert_memory_not_equal(key, other, sizeof key);
}

/* --- laws
 * ------------------------------------------------------------------------------------------ */

/* Distance of Pearson's statistic from its mean under the uniform law, in standard deviations. */
static double uniform_deviation(const uint32_t *count, size_t cells)
{
    double expected = (double)DRAWS / (double)cells, freedom = (double)cells - 1, chi = 0;

    for (size_t i = 0; i < cells; i++)
        chi += pow(count[i] - expected, 2) / expected;
    return (chi - freedom) / sqrt(2 * freedom);
}

/* DRAWS numbers below `bound`, counted in `cells` equal parts of [0, bound). */
static double below_deviation(uint64_t bound, size_t cells, int rejecting)
{
    const uint64_t part = bound / cells;
    uint32_t count[CELLS_MAX] = {0};
    struct rng r;

    assert_true(bound % cells == 0);
    start(&r);
    for (size_t i = 0; i < DRAWS; i++) {
        uint64_t v = rejecting ? rng_below(&r, bound) : rng_u64(&r) % bound;

        assert_true(v < bound);
        count[v / part]++;
    }
    rng_deinit(&r);
    return uniform_deviation(count, cells);
}

static void test_below_is_uniform(void **state)
{
    (void)state;
    assert_true(below_deviation(2, 2, 1) < 4);
    assert_true(below_deviation(3, 3, 1) < 4);
    assert_true(below_deviation(100, 100, 1) < 4);
    assert_true(below_deviation(UINT64_C(1) << 63, 64, 1) < 4);
    assert_true(below_deviation(UINT64_C(3) << 62, 3, 1) < 4); /* every fourth draw is rejected */
}

static void test_the_statistic_sees_a_plain_remainder(void **state)
{
    (void)state;
    assert_true(below_deviation(UINT64_C(3) << 62, 3, 0) > 1000);
}

static void test_below_one_is_zero(void **state)
{
    struct rng r;

    (void)state;
    start(&r);
    assert_true(rng_below(&r, 1) == 0);
    rng_deinit(&r);
}

static void test_uniform_fills_the_unit_interval_evenly(void **state)
{
    uint32_t count[CELLS_MAX] = {0}, halves[2] = {0};
    struct rng r;

    (void)state;
    start(&r);
    for (size_t i = 0; i < DRAWS; i++) {
        double u = rng_uniform(&r);

        assert_true(u >= 0 && u < 1);
        count[(size_t)(u * CELLS_MAX)]++;
        halves[(uint64_t)(u * 0x1p53) & 1]++; /* the last of 53 bits is random too */
    }
    rng_deinit(&r);
    assert_true(uniform_deviation(count, CELLS_MAX) < 4);
    assert_true(uniform_deviation(halves, 2) < 4);
}

/* Normals by their distribution function: equal cells of probability. */
static double normal_deviation(double scale, double shift)
{
    uint32_t count[CELLS_MAX] = {0};
    struct rng r;

    start(&r);
    for (size_t i = 0; i < DRAWS; i++) {
        double p = 0.5 * erfc(-(scale * rng_normal(&r) + shift) / sqrt(2.0));

        count[p < 1 ? (size_t)(p * CELLS_MAX) : CELLS_MAX - 1]++;
    }
    rng_deinit(&r);
    return uniform_deviation(count, CELLS_MAX);
}

/* A seeded run must draw the same on every machine, so the way of drawing is fixed too. */
static void test_normal_is_the_cosine_branch_of_two_uniforms(void **state)
{
    struct rng r, s;

    (void)state;
    start(&r);
    start(&s);
    for (int i = 0; i < 1000; i++) {
        double u = rng_uniform(&s), v = rng_uniform(&s);
        double want = sqrt(-2 * log(1 - u)) * cos(2 * 3.14159265358979323846 * v);

        assert_true(fabs(rng_normal(&r) - want) < 1e-12);
    }
    rng_deinit(&r);
    rng_deinit(&s);
}

static void test_normal_has_mean_0_and_variance_1(void **state)
{
    (void)state;
    assert_true(normal_deviation(1, 0) < 4);
    assert_true(normal_deviation(1.1, 0) > 20);
    assert_true(normal_deviation(1, 0.1) > 20);
}

static void test_renewed_streams_of_one_key_differ(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {3};
    struct rng a = {0}, b = {0};

    (void)state;
    assert_int_equal(rng_init_key(&a, key), STATUS_OK);
    assert_int_equal(rng_init_key(&b, key), STATUS_OK);
    assert_true(rng_u64(&a) == rng_u64(&b));
    assert_int_equal(rng_renew(&a), STATUS_OK);
    assert_int_equal(a.left, 0);
    assert_true(rng_u64(&a) != rng_u64(&b));
    assert_int_equal(rng_renew(&b), STATUS_OK);
    assert_true(rng_u64(&a) != rng_u64(&b));
    rng_deinit(&a);
    rng_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keyed_stream_is_aes_256_ctr_from_zero),
        cmocka_unit_test(test_stream_does_not_depend_on_the_sizes_of_requests),
        cmocka_unit_test(test_what_was_read_is_no_longer_in_the_buffer),
        cmocka_unit_test(test_rekey_starts_the_stream_of_the_new_key),
        cmocka_unit_test(test_system_streams_differ),
        cmocka_unit_test(test_renewed_streams_of_one_key_differ),
        cmocka_unit_test(test_seed_key_is_a_digest_of_seed_party_purpose_and_place),
        cmocka_unit_test(test_below_is_uniform),
        cmocka_unit_test(test_the_statistic_sees_a_plain_remainder),
        cmocka_unit_test(test_below_one_is_zero),
        cmocka_unit_test(test_uniform_fills_the_unit_interval_evenly),
        cmocka_unit_test(test_normal_is_the_cosine_branch_of_two_uniforms),
        cmocka_unit_test(test_normal_has_mean_0_and_variance_1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
