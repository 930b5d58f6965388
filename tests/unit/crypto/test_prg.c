/* test_prg.c -- AES-256-CTR streams.  Under key 0 and IV 0 the first three blocks are those that
 * the specification of GCM prints in its test cases 13 and 14 (H, E(K, Y0) and the encryption of
 * zeros).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/prg.h"

#include "common/base/mem.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/crypto/hex.h"

static const char BLOCKS[] = "dc95c078a2408989ad48a21492842087"
                             "530f8afbc74536b9a963b4f1c4cb738b"
                             "cea7403d4d606b6e074ec5d3baf39d18";
static const uint8_t ZERO[32], ONE[32] = {1};

static void test_the_stream_is_aes_256_in_counter_mode_from_block_0(void **state)
{
    struct prg p;
    uint8_t out[48];

    (void)state;
    assert_int_equal(prg_init(&p, ZERO), STATUS_OK);
    prg_seek(&p, ZERO);
    prg_fill(&p, out, sizeof out);
    assert_hex(out, sizeof out, BLOCKS);
    prg_seek(&p, ZERO);
    for (size_t i = 0; i < sizeof out; i++)
        prg_fill(&p, out + i, 1);
    assert_hex(out, sizeof out, BLOCKS);
    prg_deinit(&p);
    prg_deinit(&p);
}

/* 20000 bytes are more than one run of the implementation. */
static void test_a_stream_has_no_seams(void **state)
{
    enum { N = 20000 };
    static uint8_t whole[N], parts[N];
    static const size_t sizes[] = {1, 15, 16, 17, 4095, 8192, 7664};
    struct prg p;
    size_t at = 0;

    (void)state;
    assert_int_equal(prg_init(&p, ONE), STATUS_OK);
    prg_seek(&p, ONE);
    prg_fill(&p, whole, N);
    prg_seek(&p, ONE);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; at += sizes[k++])
        prg_fill(&p, parts + at, sizes[k]);
    assert_int_equal(at, N);
    assert_memory_equal(whole, parts, N);
    prg_deinit(&p);
}

static void test_another_iv_or_key_is_another_stream(void **state)
{
    struct prg p;
    uint8_t a[32], b[32];

    (void)state;
    assert_int_equal(prg_init(&p, ZERO), STATUS_OK);
    prg_seek(&p, ZERO);
    prg_fill(&p, a, sizeof a);
    prg_seek(&p, ONE);
    prg_fill(&p, b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    prg_rekey(&p, ONE);
    prg_seek(&p, ZERO);
    prg_fill(&p, b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    prg_rekey(&p, ZERO);
    prg_seek(&p, ZERO);
    prg_fill(&p, b, sizeof b);
    assert_memory_equal(a, b, sizeof a);
    prg_deinit(&p);
}

static void test_seek_rekey_and_fill_allocate_nothing_of_ours(void **state)
{
    struct prg p;
    uint8_t out[100];
    uint64_t before;

    (void)state;
    assert_int_equal(prg_init(&p, ZERO), STATUS_OK);
    before = mem_count();
    for (int i = 0; i < 100; i++) {
        prg_rekey(&p, ONE);
        prg_seek(&p, ONE);
        prg_fill(&p, out, sizeof out);
    }
    assert_int_equal(mem_count(), before);
    prg_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_stream_is_aes_256_in_counter_mode_from_block_0),
        cmocka_unit_test(test_a_stream_has_no_seams),
        cmocka_unit_test(test_another_iv_or_key_is_another_stream),
        cmocka_unit_test(test_seek_rekey_and_fill_allocate_nothing_of_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
