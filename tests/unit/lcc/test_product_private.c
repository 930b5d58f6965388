/* test_product_private.c -- what any T shares say about data and models: nothing.
 *
 * In a small field by counting all masks; at 2^31 - 1 and 2^61 - 1 by the masks' coefficients,
 * which any T members can solve for the masks, and by a statistic of what is really sent, which is
 * shown to fail where something is wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/product.h"

#include "common/field/mod.h"
#include "tests/unit/lcc/dealt.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const struct field *const fields[] = {&field_31, &field_61};

/* --- the definition, over any prime --- */

enum { MEMBERS = 9, TERMS = 5 };

/* Shares of data, or with `same` of a model: c[j] has what each segment (or the one row), then each
 * mask, counts in share j. */
struct definition {
    uint64_t p;
    uint32_t parties, inputs, privacy;
    uint64_t c[MEMBERS][TERMS];
};

static void define(struct definition *e, uint64_t p, const struct product_shape *s, bool same)
{
    const uint32_t terms = s->segments + s->privacy;
    uint64_t from[TERMS], to[MEMBERS], all[MEMBERS * TERMS];

    assert_true(terms <= TERMS && s->parties <= MEMBERS && p > s->parties + terms);
    *e = (struct definition){p, s->parties, same ? 1 : s->segments, s->privacy, {{0}}};
    points_betas(from, terms);
    points_alphas(to, terms, NULL, s->parties);
    points_lagrange(all, to, s->parties, from, terms, p);
    for (uint32_t j = 0; j < s->parties; j++)
        for (uint32_t u = 0; u < terms; u++) {
            const uint32_t k = same ? (u < s->segments ? 0 : u - s->segments + 1) : u;

            e->c[j][k] = mod_add(e->c[j][k], all[j * terms + u], p);
        }
}

/* What the product makes of unit rows is this definition. */
static void test_shares_are_those_of_the_definition(void **state)
{
    static const struct product_shape shapes[] = {
        {NULL, 3, 1, 1}, {NULL, 5, 2, 1}, {NULL, 5, 1, 2}, {NULL, 9, 3, 2}, {NULL, 9, 2, 3}};

    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        struct product_shape s = shapes[i / 4];
        const bool same = i / 2 % 2;
        uint64_t rows[TERMS * TERMS] = {0}, shares[MEMBERS * TERMS];
        struct definition e;
        struct product p;
        uint32_t terms;

        s.field = fields[i % 2];
        define(&e, s.field->p, &s, same);
        terms = e.inputs + e.privacy;
        for (uint32_t u = 0; u < terms; u++)
            s.field->set(rows, u * terms + u, 1);
        assert_int_equal(product_init(&p, &s, NULL), STATUS_OK);
        (same ? product_encode_same : product_encode)(&p, shares, rows, terms);
        for (uint32_t j = 0; j < s.parties; j++)
            for (uint32_t u = 0; u < terms; u++)
                assert_true(s.field->get(shares, j * terms + u) == e.c[j][u]);
        product_deinit(&p);
    }
}

/* Calls see(who, n) for each set of n members; false as soon as it says so. */
static bool each_set(const struct definition *e, uint32_t n,
                     bool (*see)(const struct definition *e, const uint32_t *who, uint32_t n))
{
    for (uint32_t set = 0; set < 1U << e->parties; set++) {
        uint32_t who[MEMBERS], found = 0;

        if ((uint32_t)__builtin_popcount(set) != n)
            continue;
        for (uint32_t j = 0; j < e->parties; j++)
            if (set >> j & 1)
                who[found++] = j;
        if (!see(e, who, n))
            return false;
    }
    return true;
}

/* --- every input, every mask --- */

enum { TUPLES = 2197 }; /* 13^3: of three shares mod 13 */

static uint32_t power(uint64_t base, uint32_t exponent)
{
    uint32_t x = 1;

    while (exponent-- > 0)
        x *= (uint32_t)base;
    return x;
}

/* How often each tuple of the shares of `who` occurs, over all p^T masks of one input; digits of
 * `input` and of the masks to base p are elements. */
static void count_tuples(uint32_t *count, const struct definition *e, uint32_t input,
                         const uint32_t *who, uint32_t n)
{
    const uint32_t p = (uint32_t)e->p, masks = power(p, e->privacy);
    uint32_t row[TERMS];

    memset(count, 0, TUPLES * sizeof *count);
    for (uint32_t z = 0; z < masks; z++) {
        uint32_t tuple = 0, rest = input + z * power(p, e->inputs);

        for (uint32_t u = 0; u < e->inputs + e->privacy; u++, rest /= p)
            row[u] = rest % p;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t share = 0;

            for (uint32_t u = 0; u < e->inputs + e->privacy; u++)
                share += e->c[who[i]][u] * row[u];
            tuple = tuple * p + (uint32_t)(share % p);
        }
        count[tuple]++;
    }
}

/* Each tuple as often as every other, whatever was shared? */
static bool uniform(const struct definition *e, const uint32_t *who, uint32_t n)
{
    const uint32_t tuples = power(e->p, n), inputs = power(e->p, e->inputs);
    static uint32_t count[TUPLES];

    for (uint32_t input = 0; input < inputs; input++) {
        count_tuples(count, e, input, who, n);
        for (uint32_t t = 0; t < tuples; t++)
            if (count[t] != count[0])
                return false;
    }
    return true;
}

/* Each tuple as often for one input as for every other? */
static bool independent(const struct definition *e, const uint32_t *who, uint32_t n)
{
    static uint32_t first[TUPLES], other[TUPLES];
    const uint32_t inputs = power(e->p, e->inputs);

    count_tuples(first, e, 0, who, n);
    for (uint32_t input = 1; input < inputs; input++) {
        count_tuples(other, e, input, who, n);
        if (memcmp(first, other, sizeof first) != 0)
            return false;
    }
    return true;
}

static bool dependent(const struct definition *e, const uint32_t *who, uint32_t n)
{
    return !independent(e, who, n);
}

/* Of data and of models; T + 1 members see something. */
static void test_any_t_shares_are_uniform_whatever_was_shared(void **state)
{
    static const struct {
        struct product_shape s;
        uint64_t p;
    } cases[] = {{{NULL, 3, 1, 1}, 7},  {{NULL, 5, 2, 1}, 11}, {{NULL, 5, 1, 2}, 11},
                 {{NULL, 7, 2, 2}, 13}, {{NULL, 7, 2, 1}, 13}, {{NULL, 7, 1, 2}, 13}};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct definition e;

        define(&e, cases[i / 2].p, &cases[i / 2].s, i % 2);
        for (uint32_t n = 1; n <= e.privacy; n++)
            assert_true(each_set(&e, n, uniform));
        if (i % 2 == 0)
            assert_true(each_set(&e, e.privacy + 1, dependent));
        else /* in a field so small, what a model counts in a share may vanish by chance */
            assert_false(each_set(&e, e.privacy + 1, independent));
    }
}

static bool never(const struct definition *e, const uint32_t *who, uint32_t n)
{
    (void)e;
    (void)who;
    return n == 0;
}

/* Without masks, and with a mask too few. */
static void test_fewer_masks_than_shares_are_told_apart(void **state)
{
    const struct product_shape s = {NULL, 5, 1, 2};
    struct definition e;

    (void)state;
    for (uint32_t same = 0; same < 2; same++) {
        define(&e, 11, &s, same);
        assert_false(each_set(&e, 1, never)); /* there are sets */
        e.privacy = 1;                        /* the second mask is 0 */
        assert_true(each_set(&e, 1, uniform));
        assert_true(each_set(&e, 2, dependent));
        e.privacy = 0;
        assert_true(each_set(&e, 1, dependent));
    }
}

/* --- at the primes of the product --- */

static uint64_t determinant(uint64_t *m, uint32_t n, uint64_t p)
{
    uint64_t d = 1;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t pivot = k;

        while (pivot < n && m[pivot * n + k] == 0)
            pivot++;
        if (pivot == n)
            return 0;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t x = m[pivot * n + i];

            m[pivot * n + i] = m[k * n + i];
            m[k * n + i] = x;
        }
        d = mod_mul(d, m[k * n + k], p); /* but for the sign */
        for (uint32_t r = k + 1; r < n; r++) {
            const uint64_t factor = mod_mul(m[r * n + k], mod_inv(m[k * n + k], p), p);

            for (uint32_t i = k; i < n; i++)
                m[r * n + i] = mod_sub(m[r * n + i], mod_mul(factor, m[k * n + i], p), p);
        }
    }
    return d;
}

/* Can these T members' shares of the masks alone be solved for the masks?  Then uniform masks make
 * shares uniform, and shares of masks plus those of any input are so, too. */
static bool solvable(const struct definition *e, const uint32_t *who, uint32_t n)
{
    uint64_t m[MEMBERS * MEMBERS];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t u = 0; u < n; u++)
            m[i * n + u] = e->c[who[i]][e->inputs + u];
    return determinant(m, n, e->p) != 0;
}

static void test_masks_cover_any_t_shares_at_both_primes(void **state)
{
    uint32_t shapes = 0;

    (void)state;
    for (uint32_t k = 1; k < TERMS; k++)
        for (uint32_t t = 1; k + t <= TERMS; t++)
            for (uint32_t i = 0; i < 4; i++) {
                const struct product_shape s = {fields[i % 2], MEMBERS, k, t};
                struct definition e;

                define(&e, s.field->p, &s, i / 2);
                assert_true(each_set(&e, t, solvable));
                memcpy(e.c[1], e.c[3], sizeof e.c[1]); /* two members at one point */
                assert_int_equal(each_set(&e, t, solvable), t == 1);
                shapes++;
            }
    assert_int_equal(shapes, 4 * 10);
}

/* --- what is really sent, by its lowest bits --- */

enum { SAMPLES = 1 << 14, LOW = 3, BINS = 1 << 2 * LOW, PAIR = 2 };

/* Of chi-square with 63 degrees of freedom: passed by chance once in 10^8. */
static const double LIMIT = 160;

/* Shares of one element in SAMPLES columns, K = T = 2, for seven members. */
struct sent {
    struct product code;
    uint64_t rows[4 * SAMPLES];
    uint64_t shares[7 * SAMPLES];
    uint32_t inputs; /* rows that are not masks */
    uint64_t seed;
};

static struct sent sent;

static void init_sent(const struct field *f, bool same)
{
    const struct product_shape s = {f, 7, 2, 2};

    memset(&sent, 0, sizeof sent);
    assert_int_equal(product_init(&sent.code, &s, NULL), STATUS_OK);
    sent.inputs = same ? 1 : 2;
    sent.seed = f->bits + same;
}

static uint8_t *row_of(void *rows, uint32_t row)
{
    return (uint8_t *)rows + row * SAMPLES * sent.code.shape.field->bytes;
}

static void set_inputs(uint64_t value)
{
    for (uint32_t i = 0; i < sent.inputs * SAMPLES; i++)
        sent.code.shape.field->set(sent.rows, i, value);
}

static void draw_masks(void)
{
    const struct field *f = sent.code.shape.field;
    static uint64_t random[2 * SAMPLES];
    size_t used;

    for (uint32_t i = 0; i < 2 * SAMPLES; i++)
        random[i] = dealt_next(&sent.seed);
    assert_int_equal(f->uniform(row_of(sent.rows, sent.inputs), 2 * SAMPLES, (uint8_t *)random,
                                sizeof random, &used),
                     2 * SAMPLES);
}

static void send(void)
{
    (sent.inputs == 1 ? product_encode_same : product_encode)(&sent.code, sent.shares, sent.rows,
                                                              SAMPLES);
}

/* The lowest bits of two vectors, together. */
static void histogram(uint32_t bins[BINS], const void *a, const void *b)
{
    const struct field *f = sent.code.shape.field;

    memset(bins, 0, BINS * sizeof *bins);
    for (uint32_t i = 0; i < SAMPLES; i++)
        bins[(f->get(a, i) % (1 << LOW)) << LOW | f->get(b, i) % (1 << LOW)]++;
}

/* Of the members a and b. */
static void shares_histogram(uint32_t bins[BINS], uint32_t a, uint32_t b)
{
    histogram(bins, row_of(sent.shares, a), row_of(sent.shares, b));
}

static double from_uniform(const uint32_t bins[BINS])
{
    const double want = (double)SAMPLES / BINS;
    double sum = 0;

    for (uint32_t i = 0; i < BINS; i++)
        sum += (bins[i] - want) * (bins[i] - want) / want;
    return sum;
}

static double from_each_other(const uint32_t a[BINS], const uint32_t b[BINS])
{
    double sum = 0;

    for (uint32_t i = 0; i < BINS; i++)
        if (a[i] + b[i] > 0)
            sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]) / (a[i] + b[i]);
    return sum;
}

/* The histograms of all 21 pairs of members. */
static void all_pairs(uint32_t bins[21][BINS])
{
    for (uint32_t a = 0, k = 0; a < 7; a++)
        for (uint32_t b = a + 1; b < 7; b++)
            shares_histogram(bins[k++], a, b);
}

static void test_pairs_of_shares_look_alike_for_different_inputs(void **state)
{
    static uint32_t first[21][BINS], other[21][BINS];

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct field *f = fields[i % 2];

        init_sent(f, i / 2);
        set_inputs(0);
        draw_masks();
        send();
        all_pairs(first);
        set_inputs(f->p - 123456);
        draw_masks();
        send();
        all_pairs(other);
        for (uint32_t k = 0; k < 21; k++) {
            assert_true(from_uniform(first[k]) < LIMIT);
            assert_true(from_uniform(other[k]) < LIMIT);
            assert_true(from_each_other(first[k], other[k]) < LIMIT);
        }
        product_deinit(&sent.code);
    }
}

/* No masks at all (T = 0), and none in one column of 16. */
static void test_missing_masks_are_seen(void **state)
{
    static uint32_t bins[21][BINS];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        const struct field *f = fields[i % 2];

        init_sent(f, i / 2 % 2);
        set_inputs(5);
        draw_masks();
        for (uint32_t column = 0; column < SAMPLES; column += i < 4 ? 1 : 16)
            for (uint32_t t = 0; t < 2; t++)
                f->set(row_of(sent.rows, sent.inputs + t), column, 0);
        send();
        all_pairs(bins);
        for (uint32_t k = 0; k < 21; k++)
            assert_true(from_uniform(bins[k]) > LIMIT);
        product_deinit(&sent.code);
    }
}

/* One member's shares of two elements: when their masks are the same, the difference of the shares
 * is that of the elements times a known number. */
static void difference(uint32_t bins[BINS], const void *before)
{
    const struct field *f = sent.code.shape.field;
    const void *after = row_of(sent.shares, 3);
    static uint64_t change[SAMPLES];

    for (uint32_t i = 0; i < SAMPLES; i++)
        f->set(change, i, mod_sub(f->get(after, i), f->get(before, i), f->p));
    histogram(bins, before, change);
}

static void test_reused_masks_are_seen(void **state)
{
    static uint64_t before[SAMPLES];
    uint32_t bins[BINS];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        const struct field *f = fields[i % 2];
        const bool reuse = i < 4;

        init_sent(f, i / 2 % 2);
        set_inputs(0);
        draw_masks();
        send();
        memcpy(before, row_of(sent.shares, 3), SAMPLES * f->bytes);
        set_inputs(17);
        if (!reuse)
            draw_masks();
        send();
        difference(bins, before);
        assert_int_equal(from_uniform(bins) > LIMIT, reuse);
        product_deinit(&sent.code);
    }
}

/* Three of them cancel the masks: the cross product of the masks' coefficients. */
static void test_one_member_more_than_t_is_seen(void **state)
{
    static uint64_t sum[SAMPLES];
    uint32_t bins[BINS];

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct field *f = fields[i % 2];
        const struct product_shape s = {f, 7, 2, 2};
        struct definition e;

        init_sent(f, i / 2);
        define(&e, f->p, &s, i / 2);
        set_inputs(29);
        draw_masks();
        send();
        memset(sum, 0, sizeof sum);
        for (uint32_t j = 0; j < 3; j++) {
            const uint64_t *a = e.c[(j + 1) % 3] + e.inputs, *b = e.c[(j + 2) % 3] + e.inputs;

            f->axpy(sum, mod_sub(mod_mul(a[0], b[1], f->p), mod_mul(a[1], b[0], f->p), f->p),
                    row_of(sent.shares, j), SAMPLES);
        }
        histogram(bins, sum, sum);
        for (uint32_t k = 1; k < SAMPLES; k++)
            assert_true(f->get(sum, k) == f->get(sum, 0));
        assert_true(from_uniform(bins) > LIMIT);
        product_deinit(&sent.code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_those_of_the_definition),
        cmocka_unit_test(test_any_t_shares_are_uniform_whatever_was_shared),
        cmocka_unit_test(test_fewer_masks_than_shares_are_told_apart),
        cmocka_unit_test(test_masks_cover_any_t_shares_at_both_primes),
        cmocka_unit_test(test_pairs_of_shares_look_alike_for_different_inputs),
        cmocka_unit_test(test_missing_masks_are_seen),
        cmocka_unit_test(test_reused_masks_are_seen),
        cmocka_unit_test(test_one_member_more_than_t_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
