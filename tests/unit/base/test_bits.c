/* test_bits.c -- packed runs against the twin that works one bit at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/base/bits_avx512.h"
#include "common/base/bits_portable.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES_MAX = 333, BYTES_MAX = 4 * VALUES_MAX + 8, CANARY = 0xa5 };

/* Every length up to 140 meets each tail of each kernel; the rest has whole blocks before the tail.
 */
static const size_t LONGER[] = {191, 192, 193, 256, 320, 333};

struct form {
    const char *name;
    void (*pack)(uint8_t *out, const uint16_t *in, size_t n, uint32_t w);
    void (*add)(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w);
};

static const struct form FORMS[] = {
    {"chosen", bits_pack16, bits_add16},
    {"portable", bits_portable_pack16, bits_portable_add16},
    {"avx512", bits_avx512_pack16, bits_avx512_add16},
};

static uint32_t state_of(uint32_t *s)
{
    *s = *s * 1664525U + 1013904223U;
    return *s ^ *s >> 15;
}

/* Lanes with all bits random: what lies above the width must not be packed. */
static void fill(uint32_t *in, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        in[i] = state_of(&seed);
}

static size_t length_at(size_t k)
{
    return k < 140 ? k : LONGER[k - 140];
}

enum { LENGTHS = 140 + sizeof LONGER / sizeof LONGER[0] };

static void check_pack16(const struct form *f, size_t n, uint32_t w)
{
    uint32_t in[VALUES_MAX];
    uint16_t lanes[VALUES_MAX];
    uint8_t want[BYTES_MAX], got[BYTES_MAX];
    size_t bytes = bits_bytes(n, w);

    fill(in, n, (uint32_t)(n * 40 + w));
    for (size_t i = 0; i < n; i++)
        lanes[i] = (uint16_t)in[i];
    memset(got, CANARY, sizeof got);
    f->pack(got, lanes, n, w);
    bits_naive_pack(want, in, n, w);
    if (memcmp(got, want, bytes) != 0)
        fail_msg("%s: n = %zu, w = %u: not the twin's bytes", f->name, n, w);
    for (size_t i = bytes; i < sizeof got; i++)
        if (got[i] != CANARY)
            fail_msg("%s: n = %zu, w = %u: wrote past the run", f->name, n, w);
}

static void test_16_bit_lanes_pack_as_the_twin_does_and_not_a_byte_further(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        if (FORMS[f].pack == bits_avx512_pack16 && !bits_avx512_runs_here())
            continue;
        for (uint32_t w = 1; w <= 16; w++)
            for (size_t k = 0; k < LENGTHS; k++)
                check_pack16(&FORMS[f], length_at(k), w);
    }
}

static void check_add16(const struct form *f, size_t n, uint32_t w)
{
    uint32_t in[VALUES_MAX], before[VALUES_MAX];
    uint16_t sum[VALUES_MAX + 64];
    uint8_t run[BYTES_MAX];
    const uint32_t low = (1U << w) - 1;

    fill(in, n, (uint32_t)(n * 41 + w));
    fill(before, n, (uint32_t)(n * 43 + w));
    memset(run, 0xff, sizeof run); /* what follows the run must not matter */
    bits_naive_pack(run, in, n, w);
    for (size_t i = 0; i < VALUES_MAX + 64; i++)
        sum[i] = i < n ? (uint16_t)(before[i] & low) : CANARY;
    f->add(sum, run, n, w);
    for (size_t i = 0; i < VALUES_MAX + 64; i++) {
        uint32_t want = i < n ? ((before[i] & low) + (in[i] & low)) & low : CANARY;

        if (sum[i] != want)
            fail_msg("%s: n = %zu, w = %u: element %zu is %u, not %u", f->name, n, w, i, sum[i],
                     want);
    }
}

static void test_16_bit_lanes_add_modulo_the_width(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        if (FORMS[f].add == bits_avx512_add16 && !bits_avx512_runs_here())
            continue;
        for (uint32_t w = 1; w <= 16; w++)
            for (size_t k = 0; k < LENGTHS; k++)
                check_add16(&FORMS[f], length_at(k), w);
    }
}

static void check_32(size_t n, uint32_t w)
{
    const uint32_t low = w == 32 ? UINT32_MAX : (1U << w) - 1;
    uint32_t in[VALUES_MAX], sum[VALUES_MAX], back[VALUES_MAX];
    uint8_t want[BYTES_MAX], got[BYTES_MAX];
    size_t bytes = bits_bytes(n, w);

    fill(in, n, (uint32_t)(n * 47 + w));
    fill(sum, n, (uint32_t)(n * 53 + w));
    memset(got, CANARY, sizeof got);
    bits_pack32(got, in, n, w);
    bits_naive_pack(want, in, n, w);
    assert_memory_equal(got, want, bytes);
    for (size_t i = bytes; i < sizeof got; i++)
        assert_int_equal(got[i], CANARY);
    bits_unpack32(back, got, n, w);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(back[i], in[i] & low);
        back[i] = (sum[i] + in[i]) & low;
    }
    bits_add32(sum, want, n, w);
    assert_memory_equal(sum, back, n * sizeof *sum);
}

static void test_32_bit_lanes_pack_and_come_back_at_every_width(void **state)
{
    (void)state;
    for (uint32_t w = 1; w <= 32; w++)
        for (size_t k = 0; k < LENGTHS; k++)
            check_32(length_at(k), w);
}

/* The twin itself, by hand: 5, 2, 7, 1 at three bits are 101 010 111 001, lowest bit first. */
static void test_the_first_value_is_in_the_lowest_bits(void **state)
{
    const uint32_t in[] = {5, 2, 7, 1};
    const uint16_t lanes[] = {5, 2, 7, 1};
    uint8_t run[2];
    uint32_t back[4];

    (void)state;
    bits_naive_pack(run, in, 4, 3);
    assert_int_equal(run[0], (5 | 2 << 3 | 7 << 6) & 0xff);
    assert_int_equal(run[1], 7 >> 2 | 1 << 1);
    bits_pack16(run, lanes, 4, 3);
    assert_int_equal(run[0], 0xd5);
    bits_naive_unpack(back, run, 4, 3);
    assert_memory_equal(back, in, sizeof in);
}

/* A value of another width is another value: the comparison above is able to fail. */
static void test_another_width_reads_other_values(void **state)
{
    uint32_t in[VALUES_MAX], back[VALUES_MAX];
    uint8_t run[BYTES_MAX] = {0};
    size_t same = 0;

    (void)state;
    fill(in, VALUES_MAX, 9);
    for (size_t i = 0; i < VALUES_MAX; i++)
        in[i] &= 0x7ff;
    bits_pack32(run, in, VALUES_MAX, 11);
    bits_unpack32(back, run, VALUES_MAX, 12);
    for (size_t i = 0; i < VALUES_MAX; i++)
        same += back[i] == in[i];
    assert_true(same < VALUES_MAX / 10);
}

static void test_spare_bits_are_told_from_those_of_values(void **state)
{
    (void)state;
    for (uint32_t w = 1; w <= 32; w++) {
        for (size_t n = 1; n <= 9; n++) {
            uint8_t run[40] = {0};
            const size_t bits = n * w;

            memset(run, 0xff, bits / 8);
            if (bits % 8 > 0)
                run[bits / 8] = (uint8_t)((1u << bits % 8) - 1);
            assert_true(bits_clean(run, n, w));
            for (size_t bit = bits; bit < 8 * bits_bytes(n, w); bit++) {
                run[bit / 8] ^= (uint8_t)(1u << bit % 8);
                assert_false(bits_clean(run, n, w));
                run[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
    }
}

static void test_widths_and_sizes(void **state)
{
    (void)state;
    assert_int_equal(bits_width(1), 0);
    assert_int_equal(bits_width(2), 1);
    assert_int_equal(bits_width(1024), 10);
    assert_int_equal(bits_width(1025), 11);
    assert_int_equal(bits_width(UINT64_C(1) << 32), 32);
    assert_int_equal(bits_bytes(0, 9), 0);
    assert_int_equal(bits_bytes(1, 9), 2);
    assert_int_equal(bits_bytes(1600, 9), 1800);
    assert_int_equal(bits_bytes(1601, 9), 1802);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_16_bit_lanes_pack_as_the_twin_does_and_not_a_byte_further),
        cmocka_unit_test(test_16_bit_lanes_add_modulo_the_width),
        cmocka_unit_test(test_32_bit_lanes_pack_and_come_back_at_every_width),
        cmocka_unit_test(test_the_first_value_is_in_the_lowest_bits),
        cmocka_unit_test(test_another_width_reads_other_values),
        cmocka_unit_test(test_spare_bits_are_told_from_those_of_values),
        cmocka_unit_test(test_widths_and_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
