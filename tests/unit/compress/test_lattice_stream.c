/* test_lattice_stream.c -- the stream is AES-256-CTR's from its first block, in any pieces.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_stream.h"

#include "tests/lib/openssl_mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5000 };

static void make_key(uint8_t key[PRG_KEY_BYTES])
{
    for (size_t i = 0; i < PRG_KEY_BYTES; i++)
        key[i] = (uint8_t)(37 * i + 5);
}

static void fill(uint16_t *t, size_t n, const uint8_t *key)
{
    struct prg stream;

    lattice_stream_begin(&stream, key);
    lattice_stream_fill(&stream, t, n);
    lattice_stream_end(&stream);
}

/* head -c 32 /dev/zero | openssl enc -aes-256-ctr -K 052a4f74... -iv 0 */
static const uint8_t first[32] = {
    0x8a, 0x79, 0xc5, 0x01, 0x5d, 0x12, 0x6d, 0x23, 0xcb, 0xf3, 0xfd, 0x03, 0x11, 0x84, 0x80, 0x0b,
    0x2b, 0x03, 0xf9, 0x88, 0x12, 0x0c, 0x8d, 0xd2, 0xeb, 0xd4, 0x5c, 0xbe, 0xb5, 0x65, 0x3d, 0x29,
};

static void test_the_stream_is_that_of_the_cipher(void **state)
{
    uint8_t key[PRG_KEY_BYTES];
    uint16_t t[16];

    (void)state;
    make_key(key);
    fill(t, 16, key);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(t[i], first[2 * i] | first[2 * i + 1] << 8);
}

static void test_pieces_follow_each_other(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 512, 3, 4096, 7};
    static uint16_t all[N], some[N];
    uint8_t key[PRG_KEY_BYTES];
    struct prg stream;
    size_t at = 0;

    (void)state;
    make_key(key);
    fill(all, N, key);
    lattice_stream_begin(&stream, key);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        lattice_stream_fill(&stream, some + at, lengths[k]);
        at += lengths[k];
    }
    lattice_stream_end(&stream);
    assert_memory_equal(some, all, at * sizeof *some);
}

static void test_every_bit_of_the_key_changes_the_stream(void **state)
{
    uint8_t key[PRG_KEY_BYTES] = {0};
    uint16_t t[8], other[8];

    (void)state;
    fill(t, 8, key);
    for (int bit = 0; bit < 8 * PRG_KEY_BYTES; bit++) {
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        fill(other, 8, key);
        assert_memory_not_equal(t, other, sizeof t);
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* In the middle of a round there is no way out: what was made ready is enough for two at once. */
static void test_what_is_ready_takes_no_memory_for_two(void **state)
{
    uint8_t key[PRG_KEY_BYTES], other[PRG_KEY_BYTES] = {9};
    struct prg one, two;
    uint16_t a[16], b[16], again[16];
    int64_t live;

    (void)state;
    make_key(key);
    assert_int_equal(lattice_stream_ready(), STATUS_OK);
    live = openssl_mem_live();
    openssl_mem_fail_at(1);
    lattice_stream_begin(&one, key);
    lattice_stream_begin(&two, other);
    lattice_stream_fill(&one, a, 16);
    lattice_stream_fill(&two, b, 16);
    assert_memory_equal(a, first, sizeof first);
    assert_memory_not_equal(b, first, sizeof first);
    lattice_stream_end(&one);
    lattice_stream_begin(&one, key); /* from its beginning, whatever it was used for before */
    lattice_stream_fill(&one, again, 16);
    assert_memory_equal(a, again, sizeof a);
    lattice_stream_end(&one);
    lattice_stream_end(&two);
    assert_int_equal(lattice_stream_ready(), STATUS_OK);
    assert_int_equal(openssl_mem_fail_left(), 1); /* none was asked for */
    openssl_mem_fail_at(0);
    assert_int_equal(openssl_mem_live(), live);
}

static void test_a_third_has_one_of_its_own(void **state)
{
    uint8_t key[PRG_KEY_BYTES];
    struct prg s[3];
    uint16_t t[16];
    int64_t live = openssl_mem_live();

    (void)state;
    make_key(key);
    for (size_t i = 0; i < 3; i++)
        lattice_stream_begin(&s[i], key);
    for (size_t i = 0; i < 3; i++) {
        lattice_stream_fill(&s[i], t, 16);
        assert_memory_equal(t, first, sizeof first);
    }
    for (size_t i = 0; i < 3; i++)
        lattice_stream_end(&s[i]);
    assert_int_equal(openssl_mem_live(), live);
}

/* First of all: nothing is ready yet. */
static void test_short_memory_is_told_beforehand(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n++) {
        enum status s;

        openssl_mem_fail_at(n);
        s = lattice_stream_ready();
        openssl_mem_fail_at(0);
        if (s == STATUS_OK) {
            assert_true(n > 1);
            return;
        }
        assert_int_equal(status_kind(s), STATUS_KIND_LOCAL);
        assert_true(n < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_memory_is_told_beforehand),
        cmocka_unit_test(test_what_is_ready_takes_no_memory_for_two),
        cmocka_unit_test(test_a_third_has_one_of_its_own),
        cmocka_unit_test(test_the_stream_is_that_of_the_cipher),
        cmocka_unit_test(test_pieces_follow_each_other),
        cmocka_unit_test(test_every_bit_of_the_key_changes_the_stream),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
