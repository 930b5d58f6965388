/* test_lcc_check.c -- what surplus shares detect and locate, and whom they never blame.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/lcc.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PARTIES = 12, LEN_MAX = 2 * LCC_CHUNK + 9 };

static uint32_t next(uint32_t *s)
{
    *s = *s * 1664525U + 1013904223U;
    return *s >> 8;
}

/* Right shares of random rows, all members there, in an order that is not theirs. */
struct bed {
    struct lcc c;
    uint16_t shares[PARTIES * LEN_MAX];
    const uint16_t *row[PARTIES];
    uint32_t who[PARTIES];
    struct lcc_shares s;
    uint32_t seed;
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
};

static struct bed bed;

static void set_up(uint32_t parties, uint32_t segments, uint32_t privacy, uint32_t prime,
                   size_t len)
{
    static uint16_t rows[PARTIES * LEN_MAX];
    struct lcc_shape shape = {prime, parties, segments, privacy};

    assert_int_equal(lcc_init(&bed.c, &shape, NULL), STATUS_OK);
    for (size_t i = 0; i < (segments + privacy) * len; i++)
        rows[i] = (uint16_t)(next(&bed.seed) % prime);
    lcc_encode(&bed.c, bed.shares, rows, len);
    for (uint32_t i = 0; i < parties; i++) {
        bed.who[i] = (parties - 1 - i + 3) % parties;
        bed.row[i] = bed.shares + bed.who[i] * len;
    }
    bed.s = (struct lcc_shares){bed.row, bed.who, parties, len};
}

static void tear_down(void)
{
    lcc_deinit(&bed.c);
}

static enum lcc_verdict verdict(void)
{
    bed.faulty_n = 99;
    return lcc_check(&bed.c, bed.faulty, &bed.faulty_n, &bed.s);
}

/* Another value than it was. */
static void corrupt(uint32_t member, size_t column)
{
    uint16_t *x = &bed.shares[member * bed.s.len + column];

    *x = (uint16_t)((*x + 1 + next(&bed.seed) % (bed.c.field.p - 1)) % bed.c.field.p);
}

/* Exactly the members of the set are named, in rising order. */
static void assert_located(uint32_t set)
{
    uint32_t named = 0;

    assert_int_equal(verdict(), LCC_LOCATED);
    for (uint32_t i = 0; i < bed.faulty_n; i++) {
        assert_true(i == 0 || bed.faulty[i - 1] < bed.faulty[i]);
        named |= 1U << bed.faulty[i];
    }
    assert_int_equal(named, set);
}

static void assert_verdict(enum lcc_verdict want)
{
    assert_int_equal(verdict(), want);
    assert_int_equal(bed.faulty_n, 0);
}

static void test_right_shares_are_consistent_whoever_sent_them(void **state)
{
    (void)state;
    for (uint32_t t = 1; t < 6; t++)
        for (uint32_t k = 1; k + t <= 8; k++) {
            set_up(8, k, t, 641, 20);
            for (bed.s.n = k + t; bed.s.n <= 8; bed.s.n++)
                assert_verdict(bed.s.n == k + t ? LCC_UNVERIFIED : LCC_CONSISTENT);
            tear_down();
        }
}

static void test_without_surplus_nothing_can_be_said(void **state)
{
    (void)state;
    set_up(6, 2, 2, 641, 20);
    bed.s.n = 4;
    assert_verdict(LCC_UNVERIFIED);
    corrupt(bed.who[1], 7);
    assert_verdict(LCC_UNVERIFIED);
    tear_down();
}

static void test_no_columns_are_consistent(void **state)
{
    (void)state;
    set_up(6, 2, 1, 641, 0);
    assert_verdict(LCC_CONSISTENT);
    tear_down();
}

/* Each element of each row at lengths around the chunk; `surplus` of one only detects. */
static void every_element(uint32_t surplus, uint32_t prime, size_t len)
{
    set_up(7, 3, 2, prime, len);
    bed.s.n = 5 + surplus;
    for (uint32_t i = 0; i < bed.s.n; i++)
        for (size_t column = 0; column < len; column++) {
            uint16_t *x = &bed.shares[bed.who[i] * len + column];
            const uint16_t kept = *x;

            corrupt(bed.who[i], column);
            if (surplus == 1)
                assert_verdict(LCC_INCONSISTENT);
            else
                assert_located(1U << bed.who[i]);
            *x = kept;
        }
    assert_verdict(LCC_CONSISTENT);
    tear_down();
}

static void test_every_single_wrong_element_is_seen_and_with_two_to_spare_located(void **state)
{
    static const size_t lens[] = {1, 2, 31, 33, LCC_CHUNK - 1, LCC_CHUNK, LCC_CHUNK + 1, LEN_MAX};

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        every_element(1, 641, lens[i]);
        every_element(2, i % 2 ? 13 : 65521, lens[i]);
    }
}

/* Every set of members within the bound, wrong in one common column, in columns of their own, and
 * everywhere. */
static void all_sets(uint32_t parties, uint32_t segments, uint32_t privacy, uint32_t prime)
{
    const uint32_t most = (parties - segments - privacy) / 2;

    for (uint32_t set = 0; set < 1U << parties; set++) {
        const uint32_t wrong = (uint32_t)__builtin_popcount(set);

        if (wrong < 1 || wrong > most)
            continue;
        for (uint32_t how = 0; how < 3; how++) {
            set_up(parties, segments, privacy, prime, 40);
            for (uint32_t j = 0; j < parties; j++)
                for (size_t column = 0; column < 40 && set >> j & 1; column++)
                    if (how == 2 || column == (how == 0 ? 17 : (5 * j + 3) % 40))
                        corrupt(j, column);
            assert_located(set);
            tear_down();
        }
    }
}

static void test_exactly_the_wrong_members_are_named(void **state)
{
    (void)state;
    all_sets(8, 2, 1, 641);   /* two of five to spare */
    all_sets(9, 2, 1, 13);    /* three of six, in the smallest field: miscorrection is likely */
    all_sets(9, 1, 1, 65521); /* three of seven */
    all_sets(12, 1, 1, 17);   /* five of ten */
    all_sets(7, 3, 2, 13);    /* one of two */
}

/* Not all members are there. */
static void test_a_part_of_the_members_locates_with_its_own_surplus(void **state)
{
    (void)state;
    for (uint32_t n = 5; n <= 10; n++) {
        set_up(10, 3, 1, 641, 30);
        bed.s.n = n;
        corrupt(bed.who[4], 12);
        if (n == 5)
            assert_verdict(LCC_INCONSISTENT);
        else
            assert_located(1U << bed.who[4]);
        corrupt(bed.who[0], 29);
        if (n < 8)
            assert_true(verdict() != LCC_CONSISTENT);
        else
            assert_located(1U << bed.who[4] | 1U << bed.who[0]);
        tear_down();
    }
}

/* From the bound to the whole surplus: seen always; located never, in a field where looking like
 * fewer by chance would be a wonder. */
static void test_more_than_half_the_surplus_is_seen_but_not_located(void **state)
{
    (void)state;
    for (uint32_t wrong = 3; wrong <= 5; wrong++)
        for (uint32_t how = 0; how < 2; how++) {
            set_up(8, 2, 1, 65521, 50);
            for (uint32_t j = 0; j < wrong; j++)
                for (size_t column = 0; column < 50; column++)
                    if (how == 0 || column == 9)
                        corrupt(j, column);
            assert_verdict(LCC_INCONSISTENT);
            tear_down();
        }
}

/* One column each: every column could be corrected, their members together are too many. */
static void test_too_many_members_in_different_columns_are_not_located(void **state)
{
    (void)state;
    set_up(8, 2, 1, 65521, 50);
    for (uint32_t j = 0; j < 3; j++)
        corrupt(j, 10 * j);
    assert_verdict(LCC_INCONSISTENT);
    tear_down();
}

/* Even in the smallest field, where beyond the bound an honest one may be named. */
static void test_up_to_the_surplus_nothing_wrong_passes_as_consistent(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 3000; k++) {
        const uint32_t wrong = 1 + k % 5;

        set_up(8, 2, 1, 13, 3);
        for (uint32_t j = 0; j < wrong; j++)
            corrupt((j + k) % 8, k % 3);
        assert_true(verdict() != LCC_CONSISTENT);
        tear_down();
    }
}

/* After K + T from a wrong polynomial there is nothing wrong to see: the bound is no accident. */
static void test_a_row_added_to_all_shares_alike_cannot_be_seen(void **state)
{
    (void)state;
    set_up(8, 2, 1, 641, 30);
    for (size_t i = 0; i < 8 * 30; i++)
        bed.shares[i] = (uint16_t)((bed.shares[i] + 5) % 641); /* a constant is a polynomial, too */
    assert_verdict(LCC_CONSISTENT);
    tear_down();
}

static void test_what_is_left_decodes(void **state)
{
    uint16_t want[2 * 30], got[2 * 30];
    const uint16_t *row[3];
    uint32_t who[3], n = 0;

    (void)state;
    set_up(8, 2, 1, 641, 30);
    lcc_decode(&bed.c, want, &bed.s);
    for (size_t column = 0; column < 30; column++)
        corrupt(bed.who[1], column);
    lcc_decode(&bed.c, got, &bed.s);
    assert_memory_not_equal(got, want, sizeof got);
    assert_located(1U << bed.who[1]);
    for (uint32_t i = 0; n < 3; i++)
        if (bed.who[i] != bed.faulty[0]) {
            who[n] = bed.who[i];
            row[n++] = bed.row[i];
        }
    lcc_decode(&bed.c, got, &(struct lcc_shares){row, who, 3, 30});
    assert_memory_equal(got, want, sizeof got);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_shares_are_consistent_whoever_sent_them),
        cmocka_unit_test(test_without_surplus_nothing_can_be_said),
        cmocka_unit_test(test_no_columns_are_consistent),
        cmocka_unit_test(test_every_single_wrong_element_is_seen_and_with_two_to_spare_located),
        cmocka_unit_test(test_exactly_the_wrong_members_are_named),
        cmocka_unit_test(test_a_part_of_the_members_locates_with_its_own_surplus),
        cmocka_unit_test(test_more_than_half_the_surplus_is_seen_but_not_located),
        cmocka_unit_test(test_too_many_members_in_different_columns_are_not_located),
        cmocka_unit_test(test_up_to_the_surplus_nothing_wrong_passes_as_consistent),
        cmocka_unit_test(test_a_row_added_to_all_shares_alike_cannot_be_seen),
        cmocka_unit_test(test_what_is_left_decodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
