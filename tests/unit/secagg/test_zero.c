/* test_zero.c -- shares of zero are values of one polynomial, which vanishes where the sums are,
 * and a set's key is its members' alone.
 *
 * That these polynomials hide everything else is test_fedvs_view.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/zero.h"

#include "common/base/mem.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "tests/unit/secagg/golden_fedvs.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { MEMBERS = 9, PARTS_MAX = 64 * 1024, N = 2 * ZERO_CHUNK + 7 };

static const uint8_t SEED[32] = "zero", SID[32] = "sid", VIEW[32] = "view", OTHER[32] = "other";

struct group {
    struct zero_shape shape;
    struct zero member[MEMBERS];
    uint8_t part[MEMBERS][MEMBERS][PARTS_MAX / MEMBERS]; /* from, to */
    uint64_t share[MEMBERS][N];
};

static struct group g;

static struct secagg_round round_of(uint8_t purpose, uint64_t number)
{
    return (struct secagg_round){
        .purpose = purpose, .round = number, .sid = SID, .broadcast = VIEW};
}

static void deal(const struct zero_shape *s)
{
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    g.shape = *s;
    for (uint32_t m = 0; m < s->parties; m++) {
        g.shape.self = m;
        assert_int_equal(zero_init(&g.member[m], &g.shape), STATUS_OK);
        zero_draw(&g.member[m], &r);
        assert_true(zero_part_bytes(s->parties, s->privacy, m) <= sizeof g.part[m][0]);
        for (uint32_t to = 0; to < s->parties; to++)
            if (to != m)
                zero_part(&g.member[m], g.part[m][to], to);
    }
    for (uint32_t m = 0; m < s->parties; m++)
        for (uint32_t from = 0; from < s->parties; from++)
            if (from != m)
                assert_true(zero_take(&g.member[m], from, g.part[from][m]));
    rng_deinit(&r);
}

static void drop(void)
{
    for (uint32_t m = 0; m < g.shape.parties; m++)
        zero_deinit(&g.member[m]);
}

/* Member m's share of a round of n elements, added to x[n]. */
static void add_share(uint32_t m, uint64_t *x, size_t n, const struct secagg_round *r)
{
    const struct field *f = g.shape.field;
    uint8_t *elements = mem_alloc(n, f->bytes);

    for (size_t i = 0; i < n; i++)
        f->set(elements, i, x[i]);
    assert_int_equal(zero_begin(&g.member[m], r), STATUS_OK);
    zero_add(&g.member[m], elements, n);
    for (size_t i = 0; i < n; i++)
        x[i] = f->get(elements, i);
    mem_free(elements);
}

static void all_shares(size_t n, const struct secagg_round *r)
{
    memset(g.share, 0, sizeof g.share);
    for (uint32_t m = 0; m < g.shape.parties; m++)
        add_share(m, g.share[m], n, r);
}

/* Element i of the polynomial that the first R members' shares are on, at a point. */
static uint64_t value_at(uint64_t point, size_t i)
{
    const uint32_t threshold = g.shape.segments + g.shape.privacy, results = 2 * threshold - 1;
    const uint64_t p = g.shape.field->p;
    uint64_t from[MEMBERS], c[MEMBERS], v = 0;

    for (uint32_t m = 0; m < results; m++)
        from[m] = points_alpha(threshold, m);
    points_lagrange(c, &point, 1, from, results, p);
    for (uint32_t m = 0; m < results; m++)
        v = mod_add(v, mod_mul(c[m], g.share[m][i], p), p);
    return v;
}

/* How many of the n elements are 0 at all of beta_1 .. beta_K, with all members on the polynomial.
 */
static size_t vanishing(size_t n)
{
    const uint32_t threshold = g.shape.segments + g.shape.privacy;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        bool well = true;

        for (uint32_t k = 0; k < g.shape.segments; k++)
            well = well && value_at(points_beta(k), i) == 0;
        for (uint32_t m = 2 * threshold - 1; m < g.shape.parties; m++)
            well = well && value_at(points_alpha(threshold, m), i) == g.share[m][i];
        count += well;
    }
    return count;
}

/* f is called with every shape of up to MEMBERS members. */
static size_t for_all_shapes(void (*f)(void))
{
    static const struct field *const fields[] = {&field_31, &field_61};
    size_t shapes = 0;

    for (uint32_t i = 0; i < 2 * (MEMBERS + 1); i++)
        for (uint32_t k = 1; k <= MEMBERS; k++)
            for (uint32_t t = 1; 2 * (k + t - 1) + 1 <= i / 2; t++, shapes++) {
                const struct zero_shape s = {fields[i % 2], i / 2, 0, k, t};

                deal(&s);
                f();
                drop();
            }
    return shapes;
}

/* --- keys --- */

static uint32_t bits_of(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* The key of a set at a member, found by what is missing; NULL: it has none. */
static const uint8_t *key_of(uint32_t m, uint32_t set)
{
    const struct zero *z = &g.member[m];
    const uint32_t all = (1U << g.shape.parties) - 1;

    for (uint32_t i = 0; i < z->first[g.shape.parties]; i++)
        if (z->subset[i].missing[0] == (all & ~set))
            return z->subset[i].key == ZERO_KEYS_MAX ? NULL : z->keys.key[z->subset[i].key];
    return NULL;
}

static bool knows(uint32_t m, const uint8_t *key)
{
    const struct zero *z = &g.member[m];
    bool found = false;

    for (uint32_t i = 0; i < z->keys_n; i++)
        found = found || memcmp(z->keys.key[i], key, 32) == 0;
    for (uint32_t from = 0; from < g.shape.parties; from++) {
        const size_t bytes = zero_part_bytes(g.shape.parties, g.shape.privacy, from);

        for (size_t at = 0; at < bytes && from != m; at += 32)
            found = found || memcmp(g.part[from][m] + at, key, 32) == 0;
    }
    return found;
}

static void check_keys(void)
{
    const uint32_t parties = g.shape.parties;
    uint32_t sets = 0;

    for (uint32_t set = 0; set < 1U << parties; set++) {
        const uint8_t *key;

        if (bits_of(set) != parties - g.shape.privacy)
            continue;
        sets++;
        key = key_of((uint32_t)__builtin_ctz(set), set);
        assert_non_null(key);
        for (uint32_t m = 0; m < parties; m++) {
            const uint8_t *own = key_of(m, set);

            if ((set >> m & 1) != 0) {
                assert_non_null(own);
                assert_memory_equal(own, key, 32);
            } else {
                assert_null(own);
                assert_false(knows(m, key));
            }
        }
    }
    assert_int_equal(g.member[0].first[parties], sets);
    for (uint32_t m = 0; m < parties; m++)
        assert_int_equal(g.member[m].keys_n, zero_keys_n(parties, g.shape.privacy));
}

static void test_a_key_is_the_same_for_all_of_its_set_and_nobody_elses(void **state)
{
    (void)state;
    assert_int_equal(for_all_shapes(check_keys), 2 * (1 + 1 + 3 + 3 + 6 + 6 + 10));
}

static void test_all_keys_differ(void **state)
{
    const struct zero_shape s = {&field_61, 9, 0, 2, 3};

    (void)state;
    deal(&s);
    assert_int_equal(g.member[4].keys_n, 56); /* C(8, 3) */
    for (uint32_t i = 0; i < 56; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_memory_not_equal(g.member[4].keys.key[i], g.member[4].keys.key[j], 32);
    drop();
}

static void test_numbers_of_keys_and_sizes_of_parts(void **state)
{
    (void)state;
    assert_int_equal(zero_keys_n(10, 2), 36);
    assert_int_equal(zero_keys_n(28, 1), 27);
    assert_int_equal(zero_keys_n(12, 5), 462);
    assert_int_equal(zero_keys_n(256, 1), 255);
    assert_true(zero_keys_n(13, 5) > ZERO_KEYS_MAX);
    assert_true(zero_keys_n(256, 127) > ZERO_KEYS_MAX);
    /* Five members, two missing: {0..4} without two of them, by the lowest that is left. */
    assert_int_equal(zero_part_bytes(5, 2, 0), 6 * 32);
    assert_int_equal(zero_part_bytes(5, 2, 1), 3 * 32);
    assert_int_equal(zero_part_bytes(5, 2, 2), 1 * 32);
    assert_int_equal(zero_part_bytes(5, 2, 3), 0);
}

/* Sets come in the order of what they miss, and a part has zeros for those without the receiver. */
static void test_a_part_has_its_sets_in_order(void **state)
{
    const struct zero_shape s = {&field_31, 5, 0, 1, 2};
    static const uint8_t none[32];
    /* Of dealer 1: without {0, 2}, {0, 3}, {0, 4}. */
    static const uint32_t sets[] = {0x1a, 0x16, 0x0e};

    (void)state;
    deal(&s);
    for (uint32_t i = 0; i < 3; i++) {
        assert_memory_equal(g.part[1][0] + 32 * i, none, 32);
        for (uint32_t to = 2; to < 5; to++)
            assert_memory_equal(g.part[1][to] + 32 * i, to == i + 2 ? none : key_of(1, sets[i]),
                                32);
    }
    drop();
}

static void test_a_part_with_other_keys_than_were_due_is_refused(void **state)
{
    const struct zero_shape s = {&field_31, 5, 0, 1, 2};
    static const uint8_t some[32] = {1};

    (void)state;
    deal(&s);
    for (uint32_t to = 0; to < 5; to++)
        for (uint32_t i = 0; i < 3 && to != 1; i++) {
            uint8_t *key = g.part[1][to] + 32 * i, kept[32];
            const bool due = to != 0 && to != i + 2;

            assert_true(zero_take(&g.member[to], 1, g.part[1][to]));
            memcpy(kept, key, 32);
            memcpy(key, some, 32); /* another key where one is due is a dealer's own affair */
            assert_true(zero_take(&g.member[to], 1, g.part[1][to]) == due);
            memset(key, 0, 32);
            assert_true(zero_take(&g.member[to], 1, g.part[1][to]) != due);
            memcpy(key, kept, 32);
        }
    drop();
}

/* --- shares --- */

static void check_vanishing(void)
{
    const struct secagg_round r = round_of(1, 7);
    const size_t n = 5;

    all_shares(n, &r);
    assert_int_equal(vanishing(n), n);
    for (uint32_t m = 0; m < g.shape.parties; m++)
        for (size_t i = 0; i < n; i++)
            assert_true(g.share[m][i] != 0); /* with odds of 1 - 2^-31 each */
}

static void test_shares_are_on_one_polynomial_that_vanishes_at_the_sums(void **state)
{
    (void)state;
    assert_int_equal(for_all_shapes(check_vanishing), 2 * (1 + 1 + 3 + 3 + 6 + 6 + 10));
}

/* Its degree is 2 (K+T-1) and no less, and it vanishes at no other beta. */
static void test_the_polynomial_is_no_smaller_than_it_may_be(void **state)
{
    const struct zero_shape s = {&field_61, 9, 0, 2, 2};
    const struct secagg_round r = round_of(1, 7);

    (void)state;
    deal(&s);
    all_shares(N, &r);
    assert_int_equal(vanishing(N), N);
    for (size_t i = 0; i < N; i++) {
        const uint64_t p = field_61.p;
        uint64_t x[MEMBERS], w[MEMBERS], top = 0;

        for (uint32_t u = 2; u < 4; u++)
            assert_true(value_at(points_beta(u), i) != 0);
        for (uint32_t m = 0; m < 7; m++)
            x[m] = points_alpha(4, m);
        points_weights(w, x, 7, p);
        for (uint32_t m = 0; m < 7; m++) /* the coefficient of z^6 */
            top = mod_add(top, mod_mul(w[m], g.share[m][i], p), p);
        assert_true(top != 0);
    }
    drop();
}

static void test_shares_are_added_and_chunks_do_not_show(void **state)
{
    static const size_t lengths[] = {1, ZERO_CHUNK - 1, ZERO_CHUNK, ZERO_CHUNK + 1};
    const struct zero_shape s = {&field_31, 5, 0, 1, 1};
    static uint64_t x[N];

    (void)state;
    deal(&s);
    for (uint64_t number = 0; number < 4; number++) {
        const struct secagg_round r = round_of(1, 7 + number);
        const size_t n = lengths[number];

        all_shares(n, &r);
        assert_int_equal(vanishing(n), n);
        drop();
        deal(&s);
        for (size_t i = 0; i < n; i++)
            x[i] = i * 1000003 % field_31.p;
        add_share(2, x, n, &r);
        for (size_t i = 0; i < n; i++)
            assert_true(x[i] == mod_add(i * 1000003 % field_31.p, g.share[2][i], field_31.p));
    }
    drop();
}

static void test_shares_vanish_after_the_keys_have_moved(void **state)
{
    static const uint64_t numbers[] = {255, 256, 511, 70000};
    const struct zero_shape s = {&field_61, 5, 0, 1, 2};

    (void)state;
    deal(&s);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct secagg_round r = round_of(1, numbers[i]);

        all_shares(3, &r);
        assert_int_equal(vanishing(3), 3);
    }
    drop();
}

/* Each of what names the round, told differently to one member: noise, and no sum. */
static void test_a_member_that_saw_another_round_spoils_it(void **state)
{
    const struct zero_shape s = {&field_31, 5, 0, 2, 1};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct secagg_round r = round_of(1, 7);
        struct secagg_round theirs = r;

        theirs.purpose = i == 0 ? 2 : 1;
        theirs.round = i == 1 ? 8 : 7;
        theirs.sid = i == 2 ? OTHER : SID;
        theirs.broadcast = i == 3 ? OTHER : VIEW;
        deal(&s);
        memset(g.share, 0, sizeof g.share);
        for (uint32_t m = 0; m < 5; m++)
            add_share(m, g.share[m], 20, m == 3 ? &theirs : &r);
        assert_int_equal(vanishing(20), 0);
        drop();
    }
}

static void test_a_round_is_had_once_and_rounds_only_grow(void **state)
{
    const struct zero_shape s = {&field_31, 5, 0, 2, 1};
    const struct secagg_round five = round_of(1, 5), four = round_of(1, 4), six = round_of(1, 6);

    (void)state;
    deal(&s);
    assert_int_equal(zero_begin(&g.member[0], &five), STATUS_OK);
    assert_int_equal(zero_begin(&g.member[0], &five), STATUS_PROTOCOL);
    assert_int_equal(zero_begin(&g.member[0], &four), STATUS_PROTOCOL);
    assert_int_equal(zero_begin(&g.member[0], &six), STATUS_OK);
    drop();
}

static void test_the_shares_are_those_of_the_golden_generations(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_FEDVS_N; k++) {
        const struct golden_fedvs *v = &GOLDEN_FEDVS[k];
        const struct zero_shape s = {v->bits == 31 ? &field_31 : &field_61, v->parties, 0,
                                     v->segments, v->privacy};
        const size_t n = (size_t)v->coded_n * v->width;
        struct golden_round round;

        g.shape = s;
        for (uint32_t m = 0; m < s.parties; m++) {
            const uint8_t number = (uint8_t)m;
            uint8_t key[32];
            struct rng r;

            g.shape.self = m;
            golden_digest(key, "fedvs dealer", k, &number, 1);
            assert_int_equal(rng_init_key(&r, key), STATUS_OK);
            assert_int_equal(zero_init(&g.member[m], &g.shape), STATUS_OK);
            zero_draw(&g.member[m], &r);
            rng_deinit(&r);
            for (uint32_t to = 0; to < s.parties; to++)
                if (to != m)
                    zero_part(&g.member[m], g.part[m][to], to);
        }
        for (uint32_t m = 0; m < s.parties; m++)
            for (uint32_t from = 0; from < s.parties; from++)
                if (from != m)
                    assert_true(zero_take(&g.member[m], from, g.part[from][m]));
        golden_round(&round, k, 0, GOLDEN_FEDVS_ROUND);
        all_shares(n, &round.round);
        for (uint32_t m = 0; m < s.parties; m++)
            assert_memory_equal(g.share[m], v->zero + m * n, n * sizeof g.share[m][0]);
        assert_int_equal(vanishing(n), n);
        drop();
    }
}

static void test_every_allocation_may_fail(void **state)
{
    const struct zero_shape s = {&field_31, 5, 2, 1, 2};
    struct zero z;
    enum status st;
    uint64_t n = 0;

    (void)state;
    do {
        mem_fail_at(++n);
        st = zero_init(&z, &s);
        mem_fail_at(0);
        if (st != STATUS_OK) {
            static const struct zero none;

            assert_int_equal(st, STATUS_MEMORY);
            assert_memory_equal(&z, &none, sizeof z);
        }
    } while (st != STATUS_OK);
    assert_true(n > 5);
    zero_deinit(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_is_the_same_for_all_of_its_set_and_nobody_elses),
        cmocka_unit_test(test_all_keys_differ),
        cmocka_unit_test(test_numbers_of_keys_and_sizes_of_parts),
        cmocka_unit_test(test_a_part_has_its_sets_in_order),
        cmocka_unit_test(test_a_part_with_other_keys_than_were_due_is_refused),
        cmocka_unit_test(test_shares_are_on_one_polynomial_that_vanishes_at_the_sums),
        cmocka_unit_test(test_the_polynomial_is_no_smaller_than_it_may_be),
        cmocka_unit_test(test_shares_are_added_and_chunks_do_not_show),
        cmocka_unit_test(test_shares_vanish_after_the_keys_have_moved),
        cmocka_unit_test(test_a_member_that_saw_another_round_spoils_it),
        cmocka_unit_test(test_a_round_is_had_once_and_rounds_only_grow),
        cmocka_unit_test(test_the_shares_are_those_of_the_golden_generations),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
