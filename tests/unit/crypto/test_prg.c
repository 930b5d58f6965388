/* test_prg.c -- the mask stream is AES-256-CTR from block 0 of its IV.
 *
 * The expected bytes are what `openssl enc -aes-256-ctr` makes of zeros.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/prg.h"

#include "common/crypto/digest.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t IV[PRG_IV_BYTES] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5,
                                         0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab};

static void start(struct prg *p)
{
    uint8_t key[PRG_KEY_BYTES];

    for (uint8_t i = 0; i < PRG_KEY_BYTES; i++)
        key[i] = i;
    assert_int_equal(prg_init(p, key), STATUS_OK);
    prg_seek(p, IV);
}

static void test_stream_is_aes_256_ctr_from_block_0(void **state)
{
    uint8_t want[48], out[48];
    struct prg p;

    (void)state;
    assert_true(digest_from_hex(want, sizeof want,
                                "b7a435ce454463b760dc82c838468a115c699625af4b93a0"
                                "f8220a2a6119c5d0e6187c2d45cb02bf626587d3077ac0de"));
    start(&p);
    prg_fill(&p, out, sizeof out);
    assert_memory_equal(out, want, sizeof out);
    prg_deinit(&p);
    prg_deinit(&p); /* safe twice */
}

static void test_pieces_continue_the_stream_whatever_their_sizes(void **state)
{
    static uint8_t whole[40000], pieces[sizeof whole];
    struct prg p;
    size_t at = 0, step = 1;

    (void)state;
    start(&p);
    prg_fill(&p, whole, sizeof whole);
    prg_seek(&p, IV);
    for (; at < sizeof whole; at += step, step = (step * 7 + 3) % 9001) {
        step = step < sizeof whole - at ? step : sizeof whole - at;
        prg_fill(&p, pieces + at, step);
    }
    assert_memory_equal(pieces, whole, sizeof whole);
    prg_deinit(&p);
}

static void test_seek_returns_and_another_iv_or_key_is_another_stream(void **state)
{
    uint8_t first[32], again[32], key[PRG_KEY_BYTES] = {1}, iv[PRG_IV_BYTES];
    struct prg p;

    (void)state;
    start(&p);
    prg_fill(&p, first, sizeof first);
    prg_seek(&p, IV);
    prg_fill(&p, again, sizeof again);
    assert_memory_equal(first, again, sizeof first);
    memcpy(iv, IV, sizeof iv);
    iv[PRG_IV_BYTES - 1] ^= 1;
    prg_seek(&p, iv);
    prg_fill(&p, again, sizeof again);
    assert_memory_not_equal(first, again, sizeof first);
    prg_rekey(&p, key);
    prg_seek(&p, IV);
    prg_fill(&p, again, sizeof again);
    assert_memory_not_equal(first, again, sizeof first);
    prg_deinit(&p);
    /* A rekeyed stream is that of a new one. */
    assert_int_equal(prg_init(&p, key), STATUS_OK);
    prg_seek(&p, IV);
    prg_fill(&p, first, sizeof first);
    assert_memory_equal(first, again, sizeof first);
    prg_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_is_aes_256_ctr_from_block_0),
        cmocka_unit_test(test_pieces_continue_the_stream_whatever_their_sizes),
        cmocka_unit_test(test_seek_returns_and_another_iv_or_key_is_another_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
