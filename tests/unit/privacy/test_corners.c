/* test_corners.c -- every corner against brute force, and that a wrong accountant is found out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/corners.h"

#include "common/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { LAW_MAX = 64 };

static struct corners parameters(uint32_t trials, double beta, uint32_t m_eff)
{
    return (struct corners){
        .trials = trials, .beta = beta, .m_eff = m_eff, .figure = corners_figure};
}

static struct corners_found sweep(const struct corners *c)
{
    struct corners_found found;

    assert_int_equal(corners_sweep(c, &found), STATUS_OK);
    return found;
}

/* --- brute force: trial by trial, in long double --- */

static void add_trials(long double *p, size_t *n, uint64_t trials, long double success)
{
    for (uint64_t t = 0; t < trials; t++) {
        p[*n + 1] = p[*n] * success;
        for (size_t s = *n; s > 0; s--)
            p[s] = p[s] * (1 - success) + p[s - 1] * success;
        p[0] *= 1 - success;
        (*n)++;
    }
}

/* D_alpha with k of the others' trials at h, from `target` to its other end. */
static double brute(const struct corners *c, uint64_t k, double alpha, bool reverse)
{
    long double h = 0.5L + c->beta, l = 0.5L - c->beta, sum = 0;
    long double p[LAW_MAX + 1] = {1}, q[LAW_MAX + 1] = {1};
    uint64_t others = (uint64_t)c->trials * (c->m_eff - 1);
    size_t n = 0, m = 0;

    add_trials(p, &n, c->trials, reverse ? l : h);
    add_trials(p, &n, k, h);
    add_trials(p, &n, others - k, l);
    add_trials(q, &m, c->trials, reverse ? h : l);
    add_trials(q, &m, k, h);
    add_trials(q, &m, others - k, l);
    for (size_t s = 0; s <= n; s++)
        sum += expl(alpha * logl(p[s]) + (1 - alpha) * logl(q[s]));
    return (double)(logl(sum) / (alpha - 1));
}

static void assert_close(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g within %g", a, b, relative);
}

static void test_the_largest_corner_is_that_of_brute_force(void **state)
{
    static const struct {
        uint32_t trials, m_eff;
        double beta;
    } at[] = {{1, 2, .25}, {2, 3, .01}, {4, 3, .1}, {3, 5, .4}, {16, 4, .1}, {5, 2, .001}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct corners c = parameters(at[i].trials, at[i].beta, at[i].m_eff);
        struct corners_found found = sweep(&c);
        uint64_t others = (uint64_t)c.trials * (c.m_eff - 1);

        assert_true(found.holds && found.stride == 1);
        assert_true(found.corners == others + 1 && found.swept == others + 1);
        for (size_t a = 0; a < CORNERS_ORDERS; a++) {
            double most = 0;

            for (uint64_t k = 0; k <= others; k++) {
                most = fmax(most, brute(&c, k, corners_alpha[a], false));
                most = fmax(most, brute(&c, k, corners_alpha[a], true));
            }
            assert_close(found.divergence[a], most, 1e-10);
            assert_int_equal(found.k[a], others);
        }
    }
}

static void test_the_accountant_passes_on_the_published_settings(void **state)
{
    static const struct {
        uint32_t trials, m_eff;
        double beta;
    } at[] = {{16, 5, .1}, {16, 10, .1}, {64, 5, .15}, {8, 4, .15}, {4, 20, .005}, {16, 1, .1}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct corners c = parameters(at[i].trials, at[i].beta, at[i].m_eff);
        struct corners_found found = sweep(&c);

        assert_true(found.holds);
        assert_true(fabs(found.excess) < 1e-11);
        for (size_t a = 0; a < CORNERS_ORDERS; a++)
            assert_true(found.k[a] == found.corners - 1);
    }
}

/* --- planted accountants --- */

static void reversed(const struct corners *c, double out[CORNERS_ORDERS])
{
    for (size_t a = 0; a < CORNERS_ORDERS; a++)
        out[a] = brute(c, (uint64_t)c->trials * (c->m_eff - 1), corners_alpha[a], true);
}

static void outlier(const struct corners *c, double out[CORNERS_ORDERS])
{
    for (size_t a = 0; a < CORNERS_ORDERS; a++)
        out[a] = brute(c, 0, corners_alpha[a], false);
}

static void halfway(const struct corners *c, double out[CORNERS_ORDERS])
{
    for (size_t a = 0; a < CORNERS_ORDERS; a++)
        out[a] = brute(c, (uint64_t)c->trials * (c->m_eff - 1) / 2, corners_alpha[a], false);
}

static void a_little_less_at_one_order(const struct corners *c, double out[CORNERS_ORDERS])
{
    corners_figure(c, out);
    out[7] *= 1 - 1e-8;
}

static void a_little_more(const struct corners *c, double out[CORNERS_ORDERS])
{
    corners_figure(c, out);
    for (size_t a = 0; a < CORNERS_ORDERS; a++)
        out[a] *= 1 + 1e-8;
}

static void no_number(const struct corners *c, double out[CORNERS_ORDERS])
{
    corners_figure(c, out);
    out[3] = NAN;
}

static void test_an_accountant_of_the_wrong_direction_is_found_out(void **state)
{
    struct corners c = parameters(8, .15, 4);
    struct corners_found found;

    (void)state;
    c.figure = reversed;
    found = sweep(&c);
    assert_true(!found.holds && found.excess > 0.013);
    c.figure = outlier;
    assert_false(sweep(&c).holds);
    c.figure = halfway;
    assert_false(sweep(&c).holds);
    c.figure = a_little_less_at_one_order;
    found = sweep(&c);
    assert_true(!found.holds && found.worst == 7);
    c.figure = no_number;
    assert_false(sweep(&c).holds);
    c.figure = a_little_more; /* over-reports: no claim is false */
    assert_true(sweep(&c).holds);
}

static void test_beyond_the_bound_corners_are_left_out_but_never_the_last(void **state)
{
    struct corners c = parameters(16, .1, 4);
    struct corners_found found;

    (void)state;
    c.work_max = 48 * 65 / 7; /* 49 corners of 65 outcomes: every 8th */
    found = sweep(&c);
    assert_int_equal(found.stride, 8);
    assert_int_equal(found.corners, 49);
    assert_int_equal(found.swept, 7);
    assert_int_equal(found.k[0], 48);
    assert_true(found.holds);
    c.work_max = 1;
    found = sweep(&c);
    assert_int_equal(found.swept, 2);
    c.figure = reversed; /* two are enough for this one */
    c.m_eff = 3;
    assert_false(sweep(&c).holds);
}

static void test_short_memory_is_no_verdict(void **state)
{
    struct corners c = parameters(16, .1, 4);
    struct corners_found found;

    (void)state;
    for (uint64_t at = 1; at <= 2; at++) {
        mem_fail_at(at);
        assert_int_equal(corners_sweep(&c, &found), STATUS_MEMORY);
    }
    for (uint64_t at = 3; at <= 4; at++) { /* the accountant's own tables */
        mem_fail_at(at);
        assert_int_equal(corners_sweep(&c, &found), STATUS_OK);
        assert_false(found.holds);
    }
    mem_fail_at(0);
    assert_true(sweep(&c).holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_corner_is_that_of_brute_force),
        cmocka_unit_test(test_the_accountant_passes_on_the_published_settings),
        cmocka_unit_test(test_an_accountant_of_the_wrong_direction_is_found_out),
        cmocka_unit_test(test_beyond_the_bound_corners_are_left_out_but_never_the_last),
        cmocka_unit_test(test_short_memory_is_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
