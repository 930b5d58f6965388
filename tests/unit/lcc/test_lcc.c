/* test_lcc.c -- shares, decoding, what T shares say, what is refused.  How wrong shares are found
 * has test_search.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/lcc.h"

#include "common/base/mem.h"
#include "common/field/fp16_vec.h"
#include "tests/golden/lcc.h"
#include "tests/lib/aborts.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PARTIES = 28, COLUMNS = 37 };

static uint32_t next(uint32_t *s)
{
    *s = *s * 1664525U + 1013904223U;
    return *s >> 8;
}

static void fill(uint16_t *x, size_t n, uint32_t p, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (uint16_t)(next(seed) % p);
}

static void init(struct lcc *c, uint32_t parties, uint32_t segments, uint32_t privacy,
                 uint32_t prime)
{
    struct lcc_shape s = {prime, parties, segments, privacy};
    struct error err = {0};

    if (lcc_init(c, &s, &err) != STATUS_OK)
        fail_msg("(%u, %u, %u) mod %u: %s", parties, segments, privacy, prime, err.text);
}

/* Pointers to the shares of the members in `who`. */
static struct lcc_shares of(const uint16_t **row, const uint16_t *shares, const uint32_t *who,
                            uint32_t n, size_t len)
{
    for (uint32_t i = 0; i < n; i++)
        row[i] = shares + who[i] * len;
    return (struct lcc_shares){row, who, n, len};
}

/* --- decoding --- */

/* From every subset of K+T members, and for every other one in falling order. */
static void decode_from_all_subsets(uint32_t parties, uint32_t segments, uint32_t privacy,
                                    uint32_t prime)
{
    uint16_t rows[PARTIES * COLUMNS], shares[PARTIES * COLUMNS], out[PARTIES * COLUMNS];
    const uint32_t threshold = segments + privacy;
    uint32_t seed = parties * 100 + segments * 10 + privacy;
    struct lcc c;

    init(&c, parties, segments, privacy, prime);
    fill(rows, threshold * COLUMNS, prime, &seed);
    lcc_encode(&c, shares, rows, COLUMNS);
    for (uint32_t set = 0; set < 1U << parties; set++) {
        const uint16_t *row[PARTIES];
        uint32_t who[PARTIES], n = 0;
        struct lcc_shares s;

        if ((uint32_t)__builtin_popcount(set) != threshold)
            continue;
        for (uint32_t k = 0; k < parties; k++) {
            const uint32_t j = set & 1 ? k : parties - 1 - k;

            if (set >> j & 1)
                who[n++] = j;
        }
        s = of(row, shares, who, n, COLUMNS);
        memset(out, 0xa5, sizeof out);
        lcc_decode(&c, out, &s);
        assert_memory_equal(out, rows, segments * COLUMNS * sizeof *rows);
        assert_int_equal(out[segments * COLUMNS], 0xa5a5);
    }
    lcc_deinit(&c);
}

static void test_decodes_from_any_k_plus_t(void **state)
{
    static const uint32_t large[] = {641, 16381, 32771, 65521};

    (void)state;
    for (uint32_t m = 2; m <= 7; m++)
        for (uint32_t k = 1; k < m; k++)
            for (uint32_t t = 1; k + t <= m; t++) {
                /* The smallest prime that these points allow, and one of each kind. */
                decode_from_all_subsets(m, k, t, fp16_prime_above(m + k + t));
                decode_from_all_subsets(m, k, t, large[(m + k + t) % 4]);
            }
}

static void test_the_ends_of_the_shapes(void **state)
{
    (void)state;
    decode_from_all_subsets(2, 1, 1, 5);     /* the smallest */
    decode_from_all_subsets(9, 1, 8, 19);    /* K = 1, T = M - 1 */
    decode_from_all_subsets(9, 8, 1, 19);    /* K = M - 1 */
    decode_from_all_subsets(9, 4, 5, 65521); /* K + T = M */
    decode_from_all_subsets(9, 1, 1, 13);    /* two of nine */
}

static void test_the_largest_code(void **state)
{
    enum { M = LCC_PARTIES_MAX, K = 200, T = 56 };
    static uint16_t rows[M * 3], shares[M * 3], out[M * 3];
    static const uint16_t *row[M];
    uint32_t who[M], seed = 5;
    struct lcc_shares s;
    struct lcc c;

    (void)state;
    init(&c, M, K, T, 65521);
    fill(rows, (K + T) * 3, 65521, &seed);
    lcc_encode(&c, shares, rows, 3);
    for (uint32_t j = 0; j < M; j++)
        who[j] = (j * 7 + 3) % M;
    s = of(row, shares, who, M, 3);
    lcc_decode(&c, out, &s);
    assert_memory_equal(out, rows, K * 3 * sizeof *rows);
    lcc_deinit(&c);
}

/* The coefficients that are kept are those of the members in their order, not of their number. */
static void test_another_set_or_order_gets_its_own_coefficients(void **state)
{
    static const uint32_t sets[][3] = {{0, 1, 2}, {0, 1, 2}, {2, 1, 0}, {0, 1, 3},
                                       {3, 1, 0}, {4, 3, 2}, {0, 1, 2}, {0, 2, 1}};
    uint16_t rows[3 * COLUMNS], shares[5 * COLUMNS], out[2 * COLUMNS];
    uint32_t seed = 1;
    struct lcc c;

    (void)state;
    init(&c, 5, 2, 1, 641);
    fill(rows, 3 * COLUMNS, 641, &seed);
    lcc_encode(&c, shares, rows, COLUMNS);
    for (uint32_t i = 0; i < 8; i++) {
        const uint16_t *row[3];
        struct lcc_shares s = of(row, shares, sets[i], 3, COLUMNS);

        lcc_decode(&c, out, &s);
        assert_memory_equal(out, rows, sizeof out);
        assert_memory_equal(c.decodes, sets[i], sizeof sets[i]); /* kept */
    }
    lcc_deinit(&c);
}

static void test_sums_of_shares_decode_to_the_sum(void **state)
{
    enum { M = 10, K = 4, T = 2, TRIALS = 64 };
    uint16_t rows[(K + T) * COLUMNS], shares[M * COLUMNS], sums[M * COLUMNS] = {0};
    uint16_t want[K * COLUMNS] = {0}, out[K * COLUMNS];
    static const uint32_t who[] = {9, 3, 1, 7, 0, 4};
    const uint16_t *row[M];
    struct lcc_shares s;
    uint32_t seed = 3;
    struct lcc c;

    (void)state;
    init(&c, M, K, T, fp16_prime_above(M * TRIALS));
    for (uint32_t m = 0; m < M; m++) {
        fill(rows, K * COLUMNS, TRIALS + 1, &seed);
        fill(rows + K * COLUMNS, T * COLUMNS, c.field.p, &seed);
        lcc_encode(&c, shares, rows, COLUMNS);
        fp16_vec_add(sums, shares, M * COLUMNS, &c.field);
        for (uint32_t i = 0; i < K * COLUMNS; i++)
            want[i] = (uint16_t)(want[i] + rows[i]); /* of whole numbers: p is above them */
    }
    s = of(row, sums, who, K + T, COLUMNS);
    lcc_decode(&c, out, &s);
    assert_memory_equal(out, want, sizeof out);
    lcc_deinit(&c);
}

/* A share too many of one dealer, and the sum is another one. */
static void test_one_share_of_a_sum_missing_is_another_sum(void **state)
{
    uint16_t rows[3 * COLUMNS], shares[4 * COLUMNS], sums[4 * COLUMNS] = {0}, out[2 * COLUMNS];
    static const uint32_t who[] = {0, 1, 2};
    const uint16_t *row[3];
    struct lcc_shares s = of(row, sums, who, 3, COLUMNS);
    uint32_t seed = 4;
    struct lcc c;

    (void)state;
    init(&c, 4, 2, 1, 641);
    fill(rows, 3 * COLUMNS, 641, &seed);
    lcc_encode(&c, shares, rows, COLUMNS);
    fp16_vec_add(sums, shares, 3 * COLUMNS, &c.field);
    lcc_decode(&c, out, &s);
    assert_memory_equal(out, rows, sizeof out);
    fp16_vec_add(sums + COLUMNS, shares + COLUMNS, COLUMNS, &c.field);
    lcc_decode(&c, out, &s);
    for (uint32_t i = 0; i < 2 * COLUMNS; i++)
        assert_true(out[i] != rows[i] || shares[COLUMNS + i % COLUMNS] == 0);
    lcc_deinit(&c);
}

/* What is found wrong is left out, and the rest decodes. */
static void test_what_is_left_decodes(void **state)
{
    uint16_t rows[3 * COLUMNS], shares[7 * COLUMNS], out[2 * COLUMNS];
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n, seed = 6;
    static const uint32_t who[] = {6, 3, 0, 2, 5};
    const uint16_t *row[5];
    struct lcc_shares s = of(row, shares, who, 5, COLUMNS);
    struct lcc c;

    (void)state;
    init(&c, 7, 2, 1, 641);
    fill(rows, 3 * COLUMNS, 641, &seed);
    lcc_encode(&c, shares, rows, COLUMNS);
    shares[6 * COLUMNS + 11] ^= 1;
    lcc_decode(&c, out, &s);
    assert_memory_not_equal(out, rows, sizeof out);
    assert_int_equal(lcc_check(&c, faulty, &faulty_n, &s), LCC_LOCATED);
    assert_int_equal(faulty_n, 1);
    assert_int_equal(faulty[0], 6);
    s = of(row, shares, who + 1, 4, COLUMNS);
    lcc_decode(&c, out, &s);
    assert_memory_equal(out, rows, sizeof out);
    lcc_deinit(&c);
}

/* --- by other means: tests/golden/gen_lcc.py --- */

static uint16_t golden_element(uint32_t dealer, uint32_t u, uint32_t column, uint32_t p)
{
    return (uint16_t)((7919 * dealer + 104729 * u + 1299709 * column +
                       31 * (dealer + 1) * (u + 2) * (column + 3) + 17) %
                      p);
}

static void check_golden(const struct golden_lcc *g)
{
    const uint32_t threshold = g->segments + g->privacy, columns = g->columns;
    uint16_t rows[PARTIES * COLUMNS], shares[PARTIES * COLUMNS], sums[PARTIES * COLUMNS] = {0};
    uint16_t out[PARTIES * COLUMNS];
    const uint16_t *row[PARTIES];
    struct lcc_shares s;
    struct lcc c;

    init(&c, g->parties, g->segments, g->privacy, g->prime);
    for (uint32_t m = 0; m < g->parties; m++) {
        for (uint32_t i = 0; i < threshold * columns; i++)
            rows[i] = golden_element(m, i / columns, i % columns, g->prime);
        lcc_encode(&c, shares, rows, columns);
        if (m == 0)
            assert_memory_equal(shares, g->first, g->parties * columns * sizeof *shares);
        fp16_vec_add(sums, shares, g->parties * columns, &c.field);
    }
    assert_memory_equal(sums, g->sums, g->parties * columns * sizeof *sums);
    s = of(row, sums, g->who, threshold, columns);
    lcc_decode(&c, out, &s);
    assert_memory_equal(out, g->out, g->segments * columns * sizeof *out);
    lcc_deinit(&c);
}

static void test_shares_and_sums_are_those_of_linear_algebra(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN_LCC / sizeof GOLDEN_LCC[0]; i++)
        check_golden(&GOLDEN_LCC[i]);
}

/* --- privacy --- */

enum { TUPLES = 1331 }; /* 11^3: of three shares mod 11 */

/* How often each tuple of the shares of `who` occurs, over all p^T masks of one input. */
static void distribution(uint32_t *count, const struct lcc *c, const uint16_t *input,
                         const uint32_t *who, uint32_t n)
{
    const uint32_t p = c->field.p, segments = c->shape.segments, masks = c->shape.privacy;
    uint16_t rows[8], shares[8];
    uint32_t all = 1;

    memset(count, 0, TUPLES * sizeof *count);
    for (uint32_t t = 0; t < masks; t++)
        all *= p;
    memcpy(rows, input, segments * sizeof *rows);
    for (uint32_t z = 0; z < all; z++) {
        uint32_t rest = z, tuple = 0;

        for (uint32_t t = 0; t < masks; t++, rest /= p)
            rows[segments + t] = (uint16_t)(rest % p);
        lcc_encode(c, shares, rows, 1);
        for (uint32_t i = 0; i < n; i++)
            tuple = tuple * p + shares[who[i]];
        count[tuple]++;
    }
}

/* Do any n shares look the same whatever was shared? */
static bool says_nothing(const struct lcc *c, uint32_t n)
{
    static uint32_t first[TUPLES], other[TUPLES];
    const uint32_t p = c->field.p;
    uint32_t inputs = 1;

    for (uint32_t k = 0; k < c->shape.segments; k++)
        inputs *= p;
    for (uint32_t set = 0; set < 1U << c->shape.parties; set++) {
        uint32_t who[8], found = 0;

        if ((uint32_t)__builtin_popcount(set) != n)
            continue;
        for (uint32_t j = 0; j < c->shape.parties; j++)
            if (set >> j & 1)
                who[found++] = j;
        for (uint32_t x = 0; x < inputs; x++) {
            const uint16_t input[] = {(uint16_t)(x % p), (uint16_t)(x / p)};

            distribution(x == 0 ? first : other, c, input, who, n);
            if (x > 0 && memcmp(first, other, sizeof first) != 0)
                return false;
        }
    }
    return true;
}

/* Every input, every set of members, every mask: not an estimate. */
static void test_t_shares_are_distributed_alike_whatever_was_shared(void **state)
{
    static const struct {
        uint32_t parties, segments, privacy, prime;
    } shapes[] = {{2, 1, 1, 5}, {3, 1, 1, 7}, {3, 2, 1, 7}, {3, 1, 2, 7}, {4, 2, 2, 11}};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct lcc c;

        init(&c, shapes[i].parties, shapes[i].segments, shapes[i].privacy, shapes[i].prime);
        for (uint32_t n = 1; n <= c.shape.privacy; n++)
            assert_true(says_nothing(&c, n));
        assert_false(says_nothing(&c, c.shape.privacy + 1));
        lcc_deinit(&c);
    }
}

/* What points.h prevents: a member at beta_1 has the first segment, whatever the masks. */
static void test_a_member_at_beta_would_hold_a_segment(void **state)
{
    const uint64_t from[] = {points_beta(0), points_beta(1), points_beta(2)};
    const uint64_t to[] = {points_beta(0), points_alpha(3, 0)};
    uint64_t c[6];

    (void)state;
    points_lagrange(c, to, 2, from, 3, 641);
    assert_true(c[0] == 1 && c[1] == 0 && c[2] == 0);
    assert_true(c[3] != 0 && c[4] != 0 && c[5] != 0);
}

/* --- what is refused --- */

static void refused(struct lcc_shape s, const char *why)
{
    struct lcc c, zero = {0};
    struct error err = {0};

    assert_int_equal(lcc_init(&c, &s, &err), STATUS_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_memory_equal(&c, &zero, sizeof c);
    assert_int_equal(lcc_init(&c, &s, NULL), STATUS_CONFIG);
    lcc_deinit(&c);
}

static void test_bad_shapes_are_refused(void **state)
{
    struct lcc c;

    (void)state;
    init(&c, 5, 3, 2, 11);
    lcc_deinit(&c);
    refused((struct lcc_shape){11, 5, 3, 3}, "more than there are parties (5)");
    refused((struct lcc_shape){11, 5, UINT32_MAX, 1}, "4294967296, more than there are parties");
    refused((struct lcc_shape){11, 5, 3, 0}, "at least 1");
    refused((struct lcc_shape){11, 5, 0, 3}, "at least 1");
    refused((struct lcc_shape){11, 0, 1, 1}, "more than there are parties (0)");
    refused((struct lcc_shape){7, 5, 3, 2}, "the prime 7 is not above");
    refused((struct lcc_shape){7, 4, 2, 1}, "the prime 7 is not above"); /* 7 = M + K + T */
    refused((struct lcc_shape){15, 5, 3, 2}, "15 is not an odd prime");
    refused((struct lcc_shape){0, 5, 3, 2}, "0 is not an odd prime");
    refused((struct lcc_shape){2, 2, 1, 1}, "2 is not an odd prime");
    refused((struct lcc_shape){65537, 5, 3, 2}, "65537 is not an odd prime of at most 65521");
    refused((struct lcc_shape){(UINT64_C(1) << 32) + 11, 5, 3, 2}, "4294967307 is not");
    refused((struct lcc_shape){65521, 257, 3, 2}, "257 parties, more than 256");
}

static void decode(void *arg)
{
    static const uint16_t shares[8 * 4];
    const struct lcc_shares *want = arg;
    const uint16_t *row[8];
    uint16_t out[2 * 4];
    struct lcc_shares s = of(row, shares, want->member, want->n, 4);
    struct lcc c;

    init(&c, 5, 2, 1, 11);
    lcc_decode(&c, out, &s);
    lcc_deinit(&c);
}

static void check(void *arg)
{
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
    static const uint16_t shares[8 * 4];
    const struct lcc_shares *want = arg;
    const uint16_t *row[8];
    struct lcc_shares s = of(row, shares, want->member, want->n, 4);
    struct lcc c;

    init(&c, 5, 2, 1, 11);
    lcc_check(&c, faulty, &faulty_n, &s);
    lcc_deinit(&c);
}

static void test_one_share_below_the_threshold_aborts(void **state)
{
    static const uint32_t three[] = {0, 4, 2}, twice[] = {0, 4, 0}, strange[] = {0, 4, 5};
    static const uint32_t again[] = {0, 4, 2, 0}, six[] = {0, 1, 2, 3, 4, 4};
    struct lcc_shares good = {.member = three, .n = 3};
    struct lcc_shares bad[] = {{.member = three, .n = 2},
                               {.member = twice, .n = 3},
                               {.member = strange, .n = 3},
                               {.member = again, .n = 4},
                               {.member = six, .n = 6}};

    (void)state;
    assert_false(aborts(decode, &good));
    assert_false(aborts(check, &good));
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(aborts(decode, &bad[i]));
        assert_true(aborts(check, &bad[i]));
    }
}

/* --- memory --- */

static void test_only_init_allocates_and_it_may_fail(void **state)
{
    uint16_t rows[3 * 8] = {0}, shares[5 * 8], out[2 * 8];
    static const uint32_t who[] = {0, 1, 2, 3, 4};
    struct lcc_shape s = {641, 5, 2, 1};
    const uint16_t *row[5];
    struct lcc_shares all = of(row, shares, who, 5, 8);
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
    struct lcc c, zero = {0};
    uint64_t before;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(lcc_init(&c, &s, NULL), STATUS_MEMORY);
    mem_fail_at(0);
    assert_memory_equal(&c, &zero, sizeof c);
    init(&c, 5, 2, 1, 641);
    before = mem_count();
    lcc_encode(&c, shares, rows, 8);
    lcc_decode(&c, out, &all);
    shares[3]++;
    assert_int_equal(lcc_check(&c, faulty, &faulty_n, &all), LCC_LOCATED);
    assert_int_equal(mem_count(), before);
    lcc_deinit(&c);
    lcc_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes_from_any_k_plus_t),
        cmocka_unit_test(test_the_ends_of_the_shapes),
        cmocka_unit_test(test_the_largest_code),
        cmocka_unit_test(test_another_set_or_order_gets_its_own_coefficients),
        cmocka_unit_test(test_sums_of_shares_decode_to_the_sum),
        cmocka_unit_test(test_one_share_of_a_sum_missing_is_another_sum),
        cmocka_unit_test(test_what_is_left_decodes),
        cmocka_unit_test(test_shares_and_sums_are_those_of_linear_algebra),
        cmocka_unit_test(test_t_shares_are_distributed_alike_whatever_was_shared),
        cmocka_unit_test(test_a_member_at_beta_would_hold_a_segment),
        cmocka_unit_test(test_bad_shapes_are_refused),
        cmocka_unit_test(test_one_share_below_the_threshold_aborts),
        cmocka_unit_test(test_only_init_allocates_and_it_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
