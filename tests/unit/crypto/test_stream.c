/* test_stream.c -- AES-256 of a counter: blocks, sizes, and where the counter carries.
 *
 * rng and prg stand on this; their tests hold its longer runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/stream.h"

#include "common/crypto/digest.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void *fresh(void)
{
    uint8_t key[STREAM_KEY_BYTES];
    void *ctx;

    for (uint8_t i = 0; i < STREAM_KEY_BYTES; i++)
        key[i] = i;
    assert_int_equal(stream_new(&ctx, key), STATUS_OK);
    return ctx;
}

/* FIPS 197, C.3: its plaintext as the counter. */
static void test_block_is_aes_256_of_the_counter(void **state)
{
    uint8_t iv[STREAM_IV_BYTES], want[16], out[16];
    void *ctx = fresh();

    (void)state;
    assert_true(digest_from_hex(iv, sizeof iv, "00112233445566778899aabbccddeeff"));
    assert_true(digest_from_hex(want, sizeof want, "8ea2b7ca516745bfeafc49904b496089"));
    stream_start(ctx, NULL, iv);
    stream_fill(ctx, out, sizeof out);
    assert_memory_equal(out, want, sizeof out);
    stream_free(ctx);
}

static void test_new_stream_starts_at_counter_0(void **state)
{
    static const uint8_t zero[STREAM_IV_BYTES];
    uint8_t first[64], again[64];
    void *ctx = fresh();

    (void)state;
    stream_fill(ctx, first, sizeof first);
    stream_start(ctx, NULL, zero);
    stream_fill(ctx, again, sizeof again);
    assert_memory_equal(first, again, sizeof first);
    stream_free(ctx);
}

/* The second block of a stream is the first of the stream that starts one further on; a carry goes
 * through all 16 bytes. */
static void test_counter_is_big_endian_and_carries(void **state)
{
    static const char *const steps[][2] = {
        {"00000000000000000000000000000000", "00000000000000000000000000000001"},
        {"000000000000000000000000000000ff", "00000000000000000000000000000100"},
        {"000000000000000000000000ffffffff", "00000000000000000000000100000000"},
        {"00ffffffffffffffffffffffffffffff", "01000000000000000000000000000000"},
    };
    void *ctx = fresh();

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint8_t at[STREAM_IV_BYTES], next[STREAM_IV_BYTES], two[32], one[16];

        assert_true(digest_from_hex(at, sizeof at, steps[i][0]));
        assert_true(digest_from_hex(next, sizeof next, steps[i][1]));
        stream_start(ctx, NULL, at);
        stream_fill(ctx, two, sizeof two);
        stream_start(ctx, NULL, next);
        stream_fill(ctx, one, sizeof one);
        assert_memory_equal(two + 16, one, sizeof one);
        assert_memory_not_equal(two, one, sizeof one);
    }
    stream_free(ctx);
}

static void test_fill_writes_its_bytes_and_no_more(void **state)
{
    static const uint8_t zero[STREAM_IV_BYTES];
    static uint8_t whole[40000], out[sizeof whole + 1];
    static const size_t sizes[] = {0, 1, 15, 16, 17, 8191, 8192, 8193, 16384, 16385, 39999};
    void *ctx = fresh();

    (void)state;
    stream_fill(ctx, whole, sizeof whole);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stream_start(ctx, NULL, zero);
        memset(out, 0xee, sizeof out);
        stream_fill(ctx, out, sizes[i]);
        assert_memory_equal(out, whole, sizes[i]);
        assert_int_equal(out[sizes[i]], 0xee);
    }
    stream_free(ctx);
}

static void test_start_with_a_key_changes_it_and_without_keeps_it(void **state)
{
    static const uint8_t zero[STREAM_IV_BYTES], key[STREAM_KEY_BYTES] = {1};
    uint8_t old[32], out[32], again[32];
    void *ctx = fresh();

    (void)state;
    stream_fill(ctx, old, sizeof old);
    stream_start(ctx, key, zero);
    stream_fill(ctx, out, sizeof out);
    assert_memory_not_equal(out, old, sizeof out);
    stream_start(ctx, NULL, zero);
    stream_fill(ctx, again, sizeof again);
    assert_memory_equal(again, out, sizeof out);
    stream_free(ctx);
    stream_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_is_aes_256_of_the_counter),
        cmocka_unit_test(test_new_stream_starts_at_counter_0),
        cmocka_unit_test(test_counter_is_big_endian_and_carries),
        cmocka_unit_test(test_fill_writes_its_bytes_and_no_more),
        cmocka_unit_test(test_start_with_a_key_changes_it_and_without_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
