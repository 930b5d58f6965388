/* test_dither.c -- a round's dither is a hash of seed and place alone: equal where they are,
 * changed by every one of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dither.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void make(uint8_t out[WIRE_DIGEST_BYTES], uint64_t seed, enum wire_purpose purpose,
                 uint64_t place, uint64_t sweep)
{
    struct plan p = {.training.seed = seed};
    struct digest d;

    dither_make(out, &d, &p, purpose, place, sweep);
    digest_deinit(&d);
}

/* printf 'vfl/round/1' and the four numbers, each as 8 bytes, the lowest first, into sha256sum. */
static void test_dither_is_the_hash_of_the_header(void **state)
{
    static const uint8_t want[] = {
        0x14, 0xdb, 0x9d, 0x33, 0x2c, 0x78, 0x4b, 0x7c, 0x28, 0xec, 0x41,
        0x41, 0x6e, 0x16, 0x6a, 0xaf, 0xf1, 0x40, 0xa2, 0x62, 0x16, 0x39,
        0xe7, 0x61, 0x9a, 0x95, 0x06, 0x82, 0x9e, 0x79, 0xa4, 0x97,
    };
    uint8_t got[WIRE_DIGEST_BYTES];

    (void)state;
    make(got, 0x0102030405060708, PURPOSE_EVALUATE_TEST, 300, 5);
    assert_memory_equal(got, want, sizeof want);
}

static void test_dither_depends_on_all_of_it_and_on_nothing_else(void **state)
{
    uint8_t dither[6][WIRE_DIGEST_BYTES];

    (void)state;
    make(dither[0], 1, PURPOSE_TRAIN, 7, 0);
    make(dither[1], 2, PURPOSE_TRAIN, 7, 0);
    make(dither[2], 1, PURPOSE_EVALUATE_TEST, 7, 0);
    make(dither[3], 1, PURPOSE_TRAIN, 8, 0);
    make(dither[4], 1, PURPOSE_TRAIN, 7, 1);
    make(dither[5], 1, PURPOSE_TRAIN, 0, 7);
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(dither[i], dither[k], WIRE_DIGEST_BYTES);
    make(dither[1], 1, PURPOSE_TRAIN, 7, 0);
    assert_memory_equal(dither[0], dither[1], WIRE_DIGEST_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dither_is_the_hash_of_the_header),
        cmocka_unit_test(test_dither_depends_on_all_of_it_and_on_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
