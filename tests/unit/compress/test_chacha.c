/* test_chacha.c -- the stream is ChaCha20's, wherever one begins and ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/chacha.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* RFC 8439, A.1: key and nonce 0, counters 0 and 1. */
static const uint8_t first[128] = {
    0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28,
    0xbd, 0xd2, 0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36, 0xef, 0xcc, 0x8b, 0x77, 0x0d, 0xc7,
    0xda, 0x41, 0x59, 0x7c, 0x51, 0x57, 0x48, 0x8d, 0x77, 0x24, 0xe0, 0x3f, 0xb8, 0xd8, 0x4a, 0x37,
    0x6a, 0x43, 0xb8, 0xf4, 0x15, 0x18, 0xa1, 0x1c, 0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86,
    0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a, 0x98, 0xba, 0x97, 0x7c, 0x73, 0x2d, 0x08, 0x0d,
    0xcb, 0x0f, 0x29, 0xa0, 0x48, 0xe3, 0x65, 0x69, 0x12, 0xc6, 0x53, 0x3e, 0x32, 0xee, 0x7a, 0xed,
    0x29, 0xb7, 0x21, 0x76, 0x9c, 0xe6, 0x4e, 0x43, 0xd5, 0x71, 0x33, 0xb0, 0x74, 0xd8, 0x39, 0xd5,
    0x31, 0xed, 0x1f, 0x28, 0x51, 0x0a, 0xfb, 0x45, 0xac, 0xe1, 0x0a, 0x1f, 0x4b, 0x79, 0x4d, 0x6f,
};

static void test_the_stream_is_that_of_the_standard(void **state)
{
    static const uint8_t key[CHACHA_KEY_BYTES];
    uint16_t t[64];

    (void)state;
    chacha_fill(t, 64, key, 0);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(t[i], first[2 * i] | first[2 * i + 1] << 8);
}

static void test_runs_follow_each_other_and_lengths_cut_the_same_stream(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 1535};
    static uint16_t all[4 * CHACHA_RUN], some[4 * CHACHA_RUN + 1];
    uint8_t key[CHACHA_KEY_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(37 * i + 5);
    chacha_fill(all, 4 * CHACHA_RUN, key, 0);
    for (uint32_t run = 0; run < 2; run++)
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            some[lengths[k]] = 0x5aa5;
            chacha_fill(some, lengths[k], key, run);
            assert_memory_equal(some, all + run * CHACHA_RUN, lengths[k] * sizeof *some);
            assert_int_equal(some[lengths[k]], 0x5aa5);
        }
}

static void test_every_bit_of_the_key_changes_the_stream(void **state)
{
    uint8_t key[CHACHA_KEY_BYTES] = {0};
    uint16_t t[8], other[8];

    (void)state;
    chacha_fill(t, 8, key, 0);
    for (size_t i = 0; i < 8 * sizeof key; i++) {
        key[i / 8] ^= (uint8_t)(1U << i % 8);
        chacha_fill(other, 8, key, 0);
        assert_memory_not_equal(other, t, sizeof t);
        key[i / 8] ^= (uint8_t)(1U << i % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_stream_is_that_of_the_standard),
        cmocka_unit_test(test_runs_follow_each_other_and_lengths_cut_the_same_stream),
        cmocka_unit_test(test_every_bit_of_the_key_changes_the_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
