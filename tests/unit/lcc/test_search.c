/* test_search.c -- what surplus rows detect and locate, and whom they never blame: of both codes,
 * through lcc_check() and product_check().
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/search.h"

#include "common/lcc/lcc.h"
#include "common/lcc/product.h"
#include "tests/lib/aborts.h"
#include "tests/unit/lcc/dealt.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PARTIES = 12, LEN_MAX = 2 * LCC_CHUNK + 9 };

#define P31 ((UINT64_C(1) << 31) - 1)
#define P61 ((UINT64_C(1) << 61) - 1)

/* Right rows, all members there, in an order that is not theirs.  Of shares below 2^16, of products
 * above. */
struct bed {
    struct lcc lcc;
    struct product product;
    uint64_t prime;
    uint32_t needed, bytes, parties;
    uint64_t rows[PARTIES * LEN_MAX]; /* row j is member j's */
    const void *row[PARTIES];         /* in the order of `who` */
    uint32_t who[PARTIES];
    uint32_t n; /* of those there */
    size_t len;
    uint64_t seed;
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
};

static struct bed bed;

static const uint64_t primes[] = {641, P31, P61};

static uint64_t get(uint32_t member, size_t column)
{
    uint64_t x = 0; /* little-endian, as all that this runs on */

    memcpy(&x, (const uint8_t *)bed.rows + (member * bed.len + column) * bed.bytes, bed.bytes);
    return x;
}

static void set(uint32_t member, size_t column, uint64_t x)
{
    memcpy((uint8_t *)bed.rows + (member * bed.len + column) * bed.bytes, &x, bed.bytes);
}

static void right_shares(void)
{
    const struct lcc_shape shape = {bed.prime, bed.parties, bed.needed - 1, 1};
    static uint16_t rows[PARTIES * LEN_MAX];

    assert_int_equal(lcc_init(&bed.lcc, &shape, NULL), STATUS_OK);
    for (size_t i = 0; i < bed.needed * bed.len; i++)
        rows[i] = (uint16_t)(dealt_next(&bed.seed) % bed.prime);
    lcc_encode(&bed.lcc, (uint16_t *)bed.rows, rows, bed.len);
}

/* Of one element and another: column by column, a polynomial of degree `needed` - 1. */
static void right_products(void)
{
    const struct field *f = bed.prime == P31 ? &field_31 : &field_61;
    const struct product_shape shape = {f, bed.parties, (bed.needed - 1) / 2, 1};
    static uint64_t x[PARTIES * LEN_MAX], w[PARTIES * LEN_MAX];

    assert_int_equal(product_init(&bed.product, &shape, NULL), STATUS_OK);
    assert_int_equal(bed.product.results, bed.needed);
    dealt_fill(f, x, bed.product.threshold * bed.len, &bed.seed);
    product_encode(&bed.product, bed.rows, x, bed.len);
    dealt_fill(f, x, 2 * bed.len, &bed.seed);
    product_encode_same(&bed.product, w, x, bed.len);
    for (size_t i = 0; i < bed.parties * bed.len; i++)
        f->set(bed.rows, i, dealt_mul(f->get(bed.rows, i), f->get(w, i), f->p));
}

/* `needed` of the rows say what the others are. */
static void set_up(uint32_t parties, uint32_t needed, uint64_t prime, size_t len)
{
    bed.prime = prime;
    bed.parties = bed.n = parties;
    bed.needed = needed;
    bed.len = len;
    bed.bytes = prime < 1U << 16 ? 2 : prime == P31 ? 4 : 8;
    if (bed.bytes == 2)
        right_shares();
    else
        right_products();
    for (uint32_t i = 0; i < parties; i++) {
        bed.who[i] = (parties - 1 - i + 3) % parties;
        bed.row[i] = (const uint8_t *)bed.rows + bed.who[i] * len * bed.bytes;
    }
}

static void tear_down(void)
{
    lcc_deinit(&bed.lcc);
    product_deinit(&bed.product);
}

static enum lcc_verdict verdict(void)
{
    const struct product_results products = {bed.row, bed.who, bed.n, bed.len};
    const uint16_t *row[PARTIES];
    const struct lcc_shares shares = {row, bed.who, bed.n, bed.len};

    bed.faulty_n = 99;
    if (bed.bytes > 2)
        return product_check(&bed.product, bed.faulty, &bed.faulty_n, &products);
    for (uint32_t i = 0; i < bed.n; i++)
        row[i] = bed.row[i];
    return lcc_check(&bed.lcc, bed.faulty, &bed.faulty_n, &shares);
}

/* Another value than it was. */
static void corrupt(uint32_t member, size_t column)
{
    set(member, column,
        (get(member, column) + 1 + dealt_next(&bed.seed) % (bed.prime - 1)) % bed.prime);
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

static void test_right_rows_are_consistent_whoever_sent_them(void **state)
{
    (void)state;
    for (uint32_t needed = 2; needed <= 8; needed++)
        for (uint32_t i = 0; i < 3; i++) {
            if (i > 0 && needed % 2 == 0) /* the degree of a product is even */
                continue;
            set_up(8, needed, i == 0 ? 641 : i == 1 ? P31 : P61, 20);
            for (bed.n = needed; bed.n <= 8; bed.n++)
                assert_verdict(bed.n == needed ? LCC_UNVERIFIED : LCC_CONSISTENT);
            tear_down();
        }
}

static void test_without_surplus_nothing_can_be_said(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        set_up(7, 5, primes[i], 20);
        bed.n = 5;
        assert_verdict(LCC_UNVERIFIED);
        corrupt(bed.who[1], 7);
        assert_verdict(LCC_UNVERIFIED);
        tear_down();
    }
}

static void test_no_columns_are_consistent(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        set_up(6, 3, primes[i], 0);
        assert_verdict(LCC_CONSISTENT);
        tear_down();
    }
}

/* Each element of each row at lengths around the chunk; `surplus` of one only detects. */
static void every_element(uint32_t surplus, uint64_t prime, size_t len)
{
    set_up(7, 5, prime, len);
    bed.n = 5 + surplus;
    for (uint32_t i = 0; i < bed.n; i++)
        for (size_t column = 0; column < len; column++) {
            const uint64_t kept = get(bed.who[i], column);

            corrupt(bed.who[i], column);
            if (surplus == 1)
                assert_verdict(LCC_INCONSISTENT);
            else
                assert_located(1U << bed.who[i]);
            set(bed.who[i], column, kept);
        }
    assert_verdict(LCC_CONSISTENT);
    tear_down();
}

static void test_every_single_wrong_element_is_seen_and_with_two_to_spare_located(void **state)
{
    static const size_t lens[] = {1, 2, 31, 33, LCC_CHUNK - 1, LCC_CHUNK, LCC_CHUNK + 1, LEN_MAX};
    static const uint64_t with_two[] = {65521, 13, P31, P61};

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        every_element(1, primes[i % 3], lens[i]);
        every_element(2, with_two[i % 4], lens[i]);
    }
}

/* Every set of members within the bound, wrong in one common column, in columns of their own, and
 * everywhere. */
static void all_sets(uint32_t parties, uint32_t needed, uint64_t prime)
{
    const uint32_t most = (parties - needed) / 2;

    for (uint32_t set = 0; set < 1U << parties; set++) {
        const uint32_t wrong = (uint32_t)__builtin_popcount(set);

        if (wrong < 1 || wrong > most)
            continue;
        for (uint32_t how = 0; how < 3; how++) {
            set_up(parties, needed, prime, 40);
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
    all_sets(8, 3, 641); /* two of five to spare */
    all_sets(8, 3, P31);
    all_sets(9, 3, 13); /* three of six, in the smallest field: miscorrection is likely */
    all_sets(9, 3, P61);
    all_sets(9, 2, 65521); /* three of seven */
    all_sets(12, 2, 17);   /* five of ten */
    all_sets(12, 3, P31);  /* four of nine */
    all_sets(7, 5, 13);    /* one of two */
    all_sets(7, 5, P61);
}

/* Not all members are there. */
static void with_a_part(uint64_t prime)
{
    for (uint32_t n = 6; n <= 11; n++) {
        set_up(11, 5, prime, 30);
        bed.n = n;
        corrupt(bed.who[4], 12);
        if (n == 6)
            assert_verdict(LCC_INCONSISTENT);
        else
            assert_located(1U << bed.who[4]);
        corrupt(bed.who[0], 29);
        if (n < 9)
            assert_true(verdict() != LCC_CONSISTENT);
        else
            assert_located(1U << bed.who[4] | 1U << bed.who[0]);
        tear_down();
    }
}

static void test_a_part_of_the_members_locates_with_its_own_surplus(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        with_a_part(primes[i]);
}

/* From the bound to the whole surplus: seen always; located never, in a field where looking like
 * fewer by chance would be a wonder. */
static void test_more_than_half_the_surplus_is_seen_but_not_located(void **state)
{
    static const uint64_t large[] = {65521, P31, P61};

    (void)state;
    for (uint32_t wrong = 3; wrong <= 5; wrong++)
        for (uint32_t i = 0; i < 6; i++) {
            set_up(8, 3, large[i / 2], 50);
            for (uint32_t j = 0; j < wrong; j++)
                for (size_t column = 0; column < 50; column++)
                    if (i % 2 == 0 || column == 9)
                        corrupt(j, column);
            assert_verdict(LCC_INCONSISTENT);
            tear_down();
        }
}

/* One column each: every column could be corrected, their members together are too many. */
static void test_too_many_members_in_different_columns_are_not_located(void **state)
{
    static const uint64_t large[] = {65521, P31, P61};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        set_up(8, 3, large[i], 50);
        for (uint32_t j = 0; j < 3; j++)
            corrupt(j, 10 * j);
        assert_verdict(LCC_INCONSISTENT);
        tear_down();
    }
}

/* Even in the smallest field, where beyond the bound an honest one may be named. */
static void test_up_to_the_surplus_nothing_wrong_passes_as_consistent(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 3000; k++) {
        const uint32_t wrong = 1 + k % 5;

        set_up(8, 3, 13, 3);
        for (uint32_t j = 0; j < wrong; j++)
            corrupt((j + k) % 8, k % 3);
        assert_true(verdict() != LCC_CONSISTENT);
        tear_down();
    }
}

/* Where a wrong polynomial was shared there is nothing wrong to see: the bound is no accident. */
static void test_a_row_added_to_all_alike_cannot_be_seen(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        set_up(8, 3, primes[i], 30);
        for (uint32_t j = 0; j < 8; j++)
            for (size_t column = 0; column < 30; column++) /* a constant is a polynomial, too */
                set(j, column, (get(j, column) + 5) % bed.prime);
        assert_verdict(LCC_CONSISTENT);
        tear_down();
    }
}

/* --- who is asked about --- */

struct asked {
    const uint32_t *member;
    uint32_t n;
};

static void check_members(void *arg)
{
    const struct asked *a = arg;

    search_check_members(a->member, a->n, 3, 5);
}

static void test_members_are_known_distinct_and_enough(void **state)
{
    static const uint32_t five[] = {4, 0, 2, 1, 3}, twice[] = {4, 0, 4}, strange[] = {4, 0, 5};
    static const uint32_t six[] = {0, 1, 2, 3, 4, 4};

    (void)state;
    for (uint32_t n = 0; n <= 6; n++)
        assert_int_equal(aborts(check_members, &(struct asked){n < 6 ? five : six, n}),
                         n < 3 || n > 5);
    assert_true(aborts(check_members, &(struct asked){twice, 3}));
    assert_true(aborts(check_members, &(struct asked){strange, 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_rows_are_consistent_whoever_sent_them),
        cmocka_unit_test(test_without_surplus_nothing_can_be_said),
        cmocka_unit_test(test_no_columns_are_consistent),
        cmocka_unit_test(test_every_single_wrong_element_is_seen_and_with_two_to_spare_located),
        cmocka_unit_test(test_exactly_the_wrong_members_are_named),
        cmocka_unit_test(test_a_part_of_the_members_locates_with_its_own_surplus),
        cmocka_unit_test(test_more_than_half_the_surplus_is_seen_but_not_located),
        cmocka_unit_test(test_too_many_members_in_different_columns_are_not_located),
        cmocka_unit_test(test_up_to_the_surplus_nothing_wrong_passes_as_consistent),
        cmocka_unit_test(test_a_row_added_to_all_alike_cannot_be_seen),
        cmocka_unit_test(test_members_are_known_distinct_and_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
