/* test_fedvs_view.c -- what a server sees of a round beyond the sums, alone and with T members
 * (threats C1, S14).
 *
 * The results of a round are values of psi, a polynomial of degree 2 (K+T-1): the sums are K values
 * of it, and K + 2T - 1 further ones say all of it.  Here every round is run by the product and
 * looked at twice: as it is, and with the shares of zero taken off again, which is the protocol as
 * it was published.  The keys of sets, by which the test takes them off, it opens with the pairs'
 * keys, as members can and a server cannot.
 *
 * First by rank: whatever a server computes of psi is a functional on it, and it learns those that
 * vanish on all that hides psi and that it does not know.  Then by doing it: K = 1, where
 *
 *   F(z) = f(z) + Z(z) A,  G(z) = g(z) + Z(z) B
 *   psi(z) = f(z) g(z) + Z(z) (A g(z) + f(z) B) + Z(z)^2 A B
 *
 * with Z(z) the product over the coalition of (z - alpha_j), and f, g of degree < T, which the
 * coalition has: it solves for A and has the records F(beta_1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "tests/unit/secagg/matrix.h"
#include "tests/unit/secagg/view.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t SEED[32] = "view";

static struct view now, *const w = &now;

static uint64_t add(uint64_t a, uint64_t b)
{
    return mod_add(a, b, w->p);
}

static uint64_t sub(uint64_t a, uint64_t b)
{
    return mod_sub(a, b, w->p);
}

static uint64_t mul(uint64_t a, uint64_t b)
{
    return mod_mul(a, b, w->p);
}

static uint64_t alpha(uint32_t m)
{
    return view_alpha(w, m);
}

/* The shares of zero are what a member added, no more and no less. */
static void expect_products_without_zero(void)
{
    for (uint32_t t = 0; t < w->rounds; t++)
        for (uint32_t m = 0; m < w->g.c.parties; m++)
            for (uint32_t e = 0; e < w->n; e++)
                assert_true(sub(w->result[t][m][e], w->zero[t][m][e]) == view_product(w, t, m, e));
}

static struct members_case shape_of(uint32_t parties, uint32_t segments, uint32_t privacy,
                                    enum plan_prime prime)
{
    struct members_case c = {
        .parties = parties,
        .segments = segments,
        .privacy = privacy,
        .width = 2,
        .prime = prime,
        .x_bits = 5,
        .w_bits = 6,
        .x_max = 1,
        .w_max = 1,
    };

    for (uint32_t m = 0; m < parties; m++)
        c.features[m] = c.degree[m] = 1;
    return c;
}

/* --- by rank --- */

/* The value at z of the polynomial that these results of one element are on. */
static uint64_t value_at(uint64_t z, const uint64_t *results)
{
    uint64_t from[MEMBERS_MAX], c[MEMBERS_MAX], v = 0;

    for (uint32_t m = 0; m < w->results; m++)
        from[m] = alpha(m);
    points_lagrange(c, &z, 1, from, w->results, w->p);
    for (uint32_t m = 0; m < w->results; m++)
        v = add(v, mul(c[m], results[m]));
    return v;
}

/* What hides psi, as columns: the first R members' shares of zero without those that are known. */
static void hiding(struct matrix *u)
{
    matrix_init(u, w->p, w->results, w->rounds * w->n);
    for (uint32_t t = 0; t < w->rounds; t++)
        for (uint32_t m = 0; m < w->results; m++)
            for (uint32_t e = 0; e < w->n; e++)
                u->v[m][t * w->n + e] = sub(w->zero[t][m][e], w->known[t][m][e]);
}

/* Values of psi that are told beyond the sums and the results of the coalition itself, of which
 * there are `own`: functionals that vanish on all that hides it, less those. */
static int32_t told(uint32_t own)
{
    static struct matrix u;

    hiding(&u);
    return (int32_t)(w->results - matrix_rank(&u)) - (int32_t)w->g.c.segments - (int32_t)own;
}

/* The same of results without shares of zero: these span all there is. */
static int32_t told_without(uint32_t own)
{
    static struct matrix psi;

    matrix_init(&psi, w->p, w->results, w->rounds * w->n);
    for (uint32_t t = 0; t < w->rounds; t++)
        for (uint32_t m = 0; m < w->results; m++)
            for (uint32_t e = 0; e < w->n; e++)
                psi.v[m][t * w->n + e] = sub(w->result[t][m][e], w->zero[t][m][e]);
    return (int32_t)matrix_rank(&psi) - (int32_t)w->g.c.segments - (int32_t)own;
}

/* What is hidden are never the sums, nor the results of the coalition. */
static void expect_nothing_hidden_where_it_is_known(uint32_t coalition)
{
    for (uint32_t t = 0; t < w->rounds; t++)
        for (uint32_t e = 0; e < w->n; e++) {
            uint64_t u[MEMBERS_MAX];

            for (uint32_t m = 0; m < w->results; m++)
                u[m] = sub(w->zero[t][m][e], w->known[t][m][e]);
            for (uint32_t k = 0; k < w->g.c.segments; k++)
                assert_true(value_at(points_beta(k), u) == 0);
            for (uint32_t m = 0; m < w->g.c.parties; m++)
                if ((coalition >> m & 1) != 0)
                    assert_true(value_at(alpha(m), u) == 0);
        }
}

/* All of this size. */
static void coalitions(uint32_t size)
{
    const struct members_case *c = &w->g.c;

    for (uint32_t set = 0; set < 1U << c->parties; set++) {
        if (__builtin_popcount(set) != (int)size)
            continue;
        view_learn_zero(w, set);
        expect_nothing_hidden_where_it_is_known(set);
        assert_int_equal(told(size), size == c->privacy + 1 ? c->segments + c->privacy - 2 : 0);
    }
}

static void test_the_view_of_a_server_and_up_to_t_members_has_the_sums_alone(void **state)
{
    static const struct {
        uint32_t parties, segments, privacy;
    } shapes[] = {{3, 1, 1}, {5, 1, 2}, {5, 2, 1}, {7, 2, 2}, {8, 2, 2}, {7, 3, 1}, {7, 1, 3}};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        const uint32_t segments = shapes[i / 2].segments, privacy = shapes[i / 2].privacy;
        struct members_case c =
            shape_of(shapes[i / 2].parties, segments, privacy, i % 2 == 0 ? PRIME_31 : PRIME_61);
        struct rng r;

        CHECK(rng_init_key(&r, SEED) == STATUS_OK);
        c.rows = 8 * segments;
        view_begin(w, &c, &r);
        view_run(w, 2, false, &r);
        view_learn_zero(w, 0);
        expect_nothing_hidden_where_it_is_known(0);
        assert_int_equal(told(0), 0);
        assert_int_equal(told_without(0), segments + 2 * privacy - 1);
        assert_int_equal(told_without(privacy), segments + privacy - 1);
        expect_products_without_zero();
        /* T + 1 know every key and see all of psi: the measure can tell. */
        for (uint32_t size = 1; size <= privacy + 1; size++)
            coalitions(size);
        members_deinit(&w->g);
        rng_deinit(&r);
    }
}

/* --- by doing it --- */

/* The results of an element as the coalition and the server have them: without what the coalition
 * knows of what hides them, or without all of it. */
static void results_of(uint64_t *results, uint32_t t, uint32_t e, bool hidden)
{
    for (uint32_t m = 0; m < w->results; m++)
        results[m] = sub(w->result[t][m][e], (hidden ? w->known : w->zero)[t][m][e]);
}

/* The coefficient of the highest power of z. */
static uint64_t leading(const uint64_t *results)
{
    uint64_t x[MEMBERS_MAX], weight[MEMBERS_MAX], v = 0;

    for (uint32_t m = 0; m < w->results; m++)
        x[m] = alpha(m);
    points_weights(weight, x, w->results, w->p);
    for (uint32_t m = 0; m < w->results; m++)
        v = add(v, mul(weight[m], results[m]));
    return v;
}

/* What the coalition, the first T members, has of the polynomials of data and weights. */
struct shares {
    uint64_t z, zero_at; /* a point, and Z there */
    struct matrix f, g;  /* B x D, D x P rounds: f and g there */
};

static void shares_at(struct shares *s, uint64_t z)
{
    const struct fedvs_terms *t = &w->g.shape.terms;
    const uint32_t privacy = w->g.c.privacy;
    uint64_t from[MEMBERS_MAX] = {0}, c[MEMBERS_MAX];

    s->z = z;
    s->zero_at = 1;
    for (uint32_t j = 0; j < privacy; j++) {
        from[j] = alpha(j);
        s->zero_at = mul(s->zero_at, sub(z, alpha(j)));
    }
    points_lagrange(c, &z, 1, from, privacy, w->p);
    matrix_init(&s->f, w->p, w->g.len, t->inputs_n);
    matrix_init(&s->g, w->p, t->inputs_n, t->width * w->rounds);
    for (uint32_t j = 0; j < privacy; j++)
        for (uint32_t i = 0; i < t->inputs_n; i++) {
            for (uint32_t row = 0; row < w->g.len; row++)
                s->f.v[row][i] =
                    add(s->f.v[row][i],
                        mul(c[j], t->field->get(w->g.data[j], (size_t)row * t->inputs_n + i)));
            for (uint32_t k = 0; k < t->width * w->rounds; k++)
                s->g.v[i][k] =
                    add(s->g.v[i][k], mul(c[j], w->weights[k / t->width][j][i][k % t->width]));
        }
}

/* y: what A g(z) + f(z) B should be; s: what A B should be; both B x P rounds. */
static void equations(struct matrix *y, struct matrix *ab, const struct shares *s, bool hidden)
{
    const uint32_t width = w->g.c.width;
    static struct matrix fg;

    matrix_multiply(&fg, &s->f, &s->g);
    matrix_init(y, w->p, w->g.len, width * w->rounds);
    *ab = *y;
    for (uint32_t row = 0; row < w->g.len; row++)
        for (uint32_t k = 0; k < width * w->rounds; k++) {
            uint64_t results[MEMBERS_MAX], v;

            results_of(results, k / width, row * width + k % width, hidden);
            ab->v[row][k] = leading(results);
            v = mul(sub(value_at(s->z, results), fg.v[row][k]), mod_inv(s->zero_at, w->p));
            y->v[row][k] = sub(v, mul(s->zero_at, ab->v[row][k]));
        }
}

/* inverse: of the first rows of a, so many as it has columns, and zeros for the others. */
static void left_inverse(struct matrix *inverse, const struct matrix *a)
{
    static struct matrix top, square;

    matrix_rows(&top, a, 0, a->columns);
    CHECK(matrix_inverse(&square, &top));
    matrix_init(inverse, a->p, a->columns, a->rows);
    for (uint32_t i = 0; i < a->columns; i++)
        memcpy(inverse->v[i], square.v[i], sizeof inverse->v[i]);
}

/* A, from A G + F B = Y and A B = S with F, G known.  Modulo the columns of F the first gives A
 * once there are as many results a row as inputs; what is missing, F N, the second gives. */
static void solve(struct matrix *a, const struct shares *s, const struct matrix *y,
                  const struct matrix *ab)
{
    static struct matrix f_left, g_inverse, fy, part, ffy, a0, both, left, n, fn;
    const uint32_t d = s->f.columns;

    left_inverse(&f_left, &s->f);
    CHECK(matrix_inverse(&g_inverse, &s->g));
    matrix_multiply(&fy, &f_left, y);
    matrix_multiply(&ffy, &s->f, &fy);
    part = *y;
    matrix_add(&part, w->p - 1, &ffy);
    matrix_multiply(&a0, &part, &g_inverse); /* (1 - F F^-) A */
    matrix_beside(&both, &a0, &s->f);
    left_inverse(&left, &both);
    matrix_multiply(&n, &left, ab); /* B, and below it N B */
    matrix_rows(&part, &n, 0, d);
    matrix_add(&fy, w->p - 1, &part); /* F^- Y - L S = N G */
    matrix_multiply(&n, &fy, &g_inverse);
    matrix_multiply(&fn, &s->f, &n);
    *a = a0;
    matrix_add(a, 1, &fn);
}

/* How many of all members' records, input by input, are what the coalition computes. */
static uint32_t recovered(bool hidden)
{
    static struct shares there, records;
    static struct matrix y, ab, a;
    const struct members *g = &w->g;
    uint32_t column = 0, count = 0;

    shares_at(&there, w->p - 5);
    shares_at(&records, points_beta(0));
    equations(&y, &ab, &there, hidden);
    solve(&a, &there, &y, &ab);
    matrix_add(&records.f, records.zero_at, &a);
    for (uint32_t m = 0; m < g->c.parties; column += g->shape.terms.inputs[m++])
        for (uint32_t row = 0; row < g->len; row++) {
            int64_t inputs[64];

            members_inputs(g, m, inputs, row);
            for (uint32_t i = 0; i < g->shape.terms.inputs[m]; i++)
                count += records.f.v[row][column + i] ==
                         (inputs[i] < 0 ? w->p - (uint64_t)-inputs[i] : (uint64_t)inputs[i]);
        }
    return count;
}

static void test_a_server_and_t_members_recover_all_records_unless_results_are_hidden(void **state)
{
    (void)state;
    for (uint32_t privacy = 1; privacy <= 2; privacy++)
        for (int prime = 0; prime < 2; prime++) {
            struct members_case c =
                shape_of(1 + 2 * privacy, 1, privacy, prime == 0 ? PRIME_31 : PRIME_61);
            struct rng r;
            uint32_t all;

            CHECK(rng_init_key(&r, SEED) == STATUS_OK);
            c.features[c.parties - 1] = 2; /* 4 or 6 inputs, two results a row */
            c.rows = 2 * (c.parties + 1) + 3;
            view_begin(w, &c, &r);
            view_run(w, (c.parties + 1) / c.width, false, &r);
            view_learn_zero(w, (1U << privacy) - 1);
            expect_products_without_zero();
            all = c.rows * w->g.shape.terms.inputs_n;
            assert_int_equal(recovered(false), all);
            assert_int_equal(recovered(true), 0);
            print_message("T = %u, %s: %u of %u values recovered, 0 when hidden\n", privacy,
                          w->g.shape.terms.field->name, all, all);
            members_deinit(&w->g);
            rng_deinit(&r);
        }
}

/* Results of all rounds at a point, as the server has them: B x P rounds. */
static void seen_at(struct matrix *e, uint64_t z, bool hidden)
{
    const uint32_t width = w->g.c.width;

    matrix_init(e, w->p, w->g.len, width * w->rounds);
    for (uint32_t row = 0; row < w->g.len; row++)
        for (uint32_t k = 0; k < e->columns; k++) {
            uint64_t results[MEMBERS_MAX];

            results_of(results, k / width, row * width + k % width, hidden);
            e->v[row][k] = value_at(z, results);
        }
}

/* The space of the records' columns, X Q for some Q, by a server alone: K = T = 1, so that
 * F(z) = a combination of F(z1) and F(z2), and of F(z) G(z) the server has D columns. */
static void column_space(struct matrix *xq, bool hidden)
{
    static struct matrix e[3], both, left, c, part[2], product;
    const uint64_t z[3] = {w->p - 2, w->p - 3, w->p - 4}, beta = points_beta(0);
    uint64_t third[2], first[2];
    const uint32_t d = w->g.shape.terms.inputs_n;

    for (int i = 0; i < 3; i++)
        seen_at(&e[i], z[i], hidden);
    matrix_beside(&both, &e[0], &e[1]);
    left_inverse(&left, &both);
    matrix_multiply(&c, &left, &e[2]); /* E3 = E1 C1 + E2 C2 */
    points_lagrange(third, &z[2], 1, z, 2, w->p);
    points_lagrange(first, &beta, 1, z, 2, w->p);
    matrix_init(xq, w->p, w->g.len, d);
    for (uint32_t i = 0; i < 2; i++) {
        matrix_rows(&part[i], &c, i * d, d);
        matrix_multiply(&product, &e[i], &part[i]); /* third[i] F(z_i) Q */
        matrix_add(xq, mul(first[i], mod_inv(third[i], w->p)), &product);
    }
}

/* How many columns of records lie in the space that the server computes, of so many dimensions. */
static uint32_t columns_in(const struct matrix *space)
{
    static struct matrix column, both;
    uint32_t count = 0;

    CHECK(matrix_rank(space) == space->columns && space->columns < space->rows);
    for (uint32_t m = 0; m < w->g.c.parties; m++)
        for (uint32_t i = 0; i < w->g.shape.terms.inputs[m]; i++) {
            matrix_init(&column, w->p, w->g.len, 1);
            for (uint32_t row = 0; row < w->g.len; row++) {
                int64_t inputs[64];

                members_inputs(&w->g, m, inputs, row);
                column.v[row][0] =
                    inputs[i] < 0 ? w->p - (uint64_t)-inputs[i] : (uint64_t)inputs[i];
            }
            matrix_beside(&both, space, &column);
            count += matrix_rank(&both) == space->columns;
        }
    return count;
}

/* Weights that are not rounded: every round asks the same. */
static void whole_weights(void)
{
    for (uint32_t m = 0; m < w->g.c.parties; m++)
        for (uint32_t i = 0; i < w->g.shape.terms.inputs[m] * w->g.c.width; i++)
            w->g.w[m][i] = (float)((int)(7 * m + 3 * i) % 11 - 5) / 64;
}

static void test_a_server_alone_learns_of_repeated_rounds_unless_results_are_hidden(void **state)
{
    (void)state;
    for (int prime = 0; prime < 2; prime++) {
        static struct matrix sums, space;
        struct members_case c = shape_of(3, 1, 1, prime == 0 ? PRIME_31 : PRIME_61);
        struct rng r;

        CHECK(rng_init_key(&r, SEED) == STATUS_OK);
        c.features[1] = 2; /* 4 inputs, two results a row: two rounds */
        c.rows = 2 * 4 + 5;
        view_begin(w, &c, &r);
        whole_weights();
        view_run(w, 2, true, &r);
        view_learn_zero(w, 0);
        for (int hidden = 0; hidden < 2; hidden++) {
            /* The sums are the same again. */
            seen_at(&sums, points_beta(0), hidden == 1);
            assert_int_equal(matrix_rank(&sums), c.width);
            column_space(&space, hidden == 1);
            assert_int_equal(columns_in(&space), hidden == 0 ? 4 : 0);
        }
        members_deinit(&w->g);
        rng_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_view_of_a_server_and_up_to_t_members_has_the_sums_alone),
        cmocka_unit_test(test_a_server_and_t_members_recover_all_records_unless_results_are_hidden),
        cmocka_unit_test(test_a_server_alone_learns_of_repeated_rounds_unless_results_are_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
