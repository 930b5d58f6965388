/* test_fedvs_server.c -- what the server makes of results: sums, verdicts, names; and of late ones.
 *
 * Results are made here, from sums that the test chooses: a server sees nothing else of members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_server.h"

#include "common/base/mem.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "common/secagg/fedvs.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/golden_fedvs.h"
#include "tests/unit/secagg/members.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { M = 10, K = 2, T = 2, NEED = 7, WIDTH = 3, ROWS = 450, LEN = ROWS * WIDTH, N = K * LEN };

static const uint8_t SEED[32] = "fedvs server";

static const struct members_case TEN = {
    .parties = M,
    .segments = K,
    .privacy = T,
    .width = WIDTH,
    .rows = K * ROWS,
    .features = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    .degree = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    .x_bits = 3,
    .w_bits = 4,
    .x_max = 1,
    .w_max = 1,
};

struct bench {
    struct secagg_shape shape;
    struct secagg_server *server;
    const struct field *field;
    struct rng rng;
    uint64_t bound;
    int64_t sum[N];
    uint64_t share[M][LEN];
    uint8_t upload[M][8 * LEN];
    float want[N], out[N];
};

static void set_up(struct bench *b, enum plan_prime prime)
{
    struct members_case c = TEN;
    struct plan p;

    c.prime = prime;
    p = members_plan(&c);
    memset(b, 0, sizeof *b);
    b->shape = (struct secagg_shape){.parties = M, .values_max = N, .deal_rows_max = ROWS};
    assert_int_equal(encode_init(&b->shape.encode, &p, M), STATUS_OK);
    assert_int_equal(fedvs_terms_init(&b->shape.terms, &p, M, c.features, c.degree, NULL),
                     STATUS_OK);
    b->field = b->shape.terms.field;
    b->bound = b->shape.terms.bound;
    assert_true(b->bound == M * 8 * 16);
    assert_int_equal(secagg_server_new(&b->server, AGGREGATION_FEDVS, &b->shape), STATUS_OK);
    assert_int_equal(rng_init_key(&b->rng, SEED), STATUS_OK);
}

static void tear_down(struct bench *b)
{
    secagg_server_free(b->server);
    rng_deinit(&b->rng);
}

static void pack(struct bench *b, uint32_t m)
{
    uint8_t *elements = mem_alloc(LEN, b->field->bytes);

    for (size_t i = 0; i < LEN; i++)
        b->field->set(elements, i, b->share[m][i]);
    b->field->pack(b->upload[m], elements, LEN);
    mem_free(elements);
}

/* Results that decode to b->sum: values at the alphas of a polynomial of degree < NEED that has
 * them at the betas, and anything at points where nobody looks. */
static void deal_sums(struct bench *b)
{
    const uint64_t p = b->field->p;
    uint64_t from[NEED], to[M], c[M * NEED];

    for (uint32_t u = 0; u < NEED; u++)
        from[u] = u < K ? points_beta(u) : p - u;
    for (uint32_t m = 0; m < M; m++)
        to[m] = points_alpha(K + T, m);
    points_lagrange(c, to, M, from, NEED, p);
    memset(b->share, 0, sizeof b->share);
    for (size_t i = 0; i < LEN; i++)
        for (uint32_t u = 0; u < NEED; u++) {
            const int64_t s = u < K ? b->sum[u * LEN + i] : 0;
            const uint64_t v = u >= K  ? rng_below(&b->rng, p)
                               : s < 0 ? p - (uint64_t)-s
                                       : (uint64_t)s;

            for (uint32_t m = 0; m < M; m++)
                b->share[m][i] = mod_add(b->share[m][i], mod_mul(c[m * NEED + u], v, p), p);
        }
    for (uint32_t m = 0; m < M; m++)
        pack(b, m);
    fedvs_real(&b->shape.terms, b->want, b->sum, N);
}

/* Random sums within reach. */
static void deal(struct bench *b)
{
    for (size_t i = 0; i < N; i++)
        b->sum[i] = (int64_t)rng_below(&b->rng, 2 * b->bound + 1) - (int64_t)b->bound;
    deal_sums(b);
}

static void spoil(struct bench *b, uint32_t m, size_t i)
{
    b->share[m][i] = mod_add(b->share[m][i], 1, b->field->p);
    pack(b, m);
}

static enum status add(struct bench *b, uint32_t m)
{
    struct error err = {0};
    enum status s = secagg_add(b->server, m, b->upload[m], NULL, &err);

    assert_int_equal(err.status, s);
    return s;
}

static void add_all(struct bench *b, uint32_t from, uint32_t to)
{
    for (uint32_t m = from; m < to; m++)
        assert_int_equal(add(b, m), STATUS_OK);
}

static enum status combine(struct bench *b)
{
    struct error err = {0};
    enum status s;

    memset(b->out, 0xff, sizeof b->out);
    s = secagg_combine(b->server, b->out, WIDTH, &err);
    assert_int_equal(err.status, s);
    return s;
}

static void expect_sums(struct bench *b)
{
    assert_memory_equal(b->out, b->want, sizeof b->out);
}

static void expect_verdict(struct bench *b, enum secagg_verdict want, uint32_t faulty_n,
                           const uint8_t *who)
{
    const uint8_t *faulty;
    size_t n;

    assert_int_equal(secagg_verdict(b->server, &faulty, &n), want);
    assert_int_equal(n, faulty_n);
    if (n > 0)
        assert_memory_equal(faulty, who, n);
}

static enum status late(struct bench *b, uint32_t m)
{
    struct error err = {0};
    enum status s = secagg_late(b->server, m, b->upload[m],
                                secagg_payload_bytes(AGGREGATION_FEDVS, &b->shape, N), &err);

    assert_int_equal(err.status, s);
    return s;
}

static struct bench *b;

static int start(void **state)
{
    (void)state;
    b = mem_alloc(1, sizeof *b);
    assert_non_null(b);
    set_up(b, PRIME_61);
    return 0;
}

static int start_31(void **state)
{
    (void)state;
    b = mem_alloc(1, sizeof *b);
    assert_non_null(b);
    set_up(b, PRIME_31);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tear_down(b);
    mem_free(b);
    return 0;
}

/* --- sums --- */

static void test_sums_come_from_a_quorum_and_with_more_they_are_checked(void **state)
{
    (void)state;
    assert_int_equal(secagg_quorum(b->server), NEED);
    for (uint32_t n = NEED; n <= M; n++) {
        deal(b);
        secagg_begin(b->server, N);
        add_all(b, M - n, M);
        assert_int_equal(combine(b), STATUS_OK);
        expect_sums(b);
        expect_verdict(b, n == NEED ? SECAGG_UNVERIFIED : SECAGG_CONSISTENT, 0, NULL);
    }
}

static void test_the_golden_results_decode_to_the_golden_sums(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_FEDVS_N; k++) {
        const struct golden_fedvs *v = &GOLDEN_FEDVS[k];
        const struct secagg_shape s = golden_shape(k);
        const size_t n = (size_t)v->coded_n * v->segments * v->width;
        const size_t bytes = secagg_payload_bytes(AGGREGATION_FEDVS, &s, n);
        struct secagg_server *server;
        struct error err = {0};
        float out[64], want[64];
        size_t real = 0;

        for (uint32_t i = 0; i < v->segments * v->coded_n; i++)
            real += i / v->coded_n * golden_len(k) + v->coded[i % v->coded_n] < v->rows;
        real *= v->width;
        assert_true(k == 1 || real == n - v->width);
        assert_int_equal(secagg_server_new(&server, AGGREGATION_FEDVS, &s), STATUS_OK);
        secagg_begin_padded(server, n, real);
        for (uint32_t m = 0; m < v->parties; m++)
            assert_int_equal(secagg_add(server, m, v->uploads + m * bytes, NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(server, out, v->width, &err), STATUS_OK);
        fedvs_real(&s.terms, want, v->sums, real);
        assert_memory_equal(out, want, real * sizeof *out);
        secagg_server_free(server);
    }
}

/* --- what no honest sum is --- */

static void expect_refused(const char *words)
{
    struct error err = {0};

    deal_sums(b);
    secagg_begin(b->server, N);
    add_all(b, 0, NEED);
    assert_int_equal(secagg_combine(b->server, b->out, WIDTH, &err), STATUS_INTEGRITY);
    assert_non_null(strstr(err.text, words));
}

static void test_a_sum_beyond_the_bound_is_refused_wherever_it_is(void **state)
{
    static const size_t places[] = {0, 1023, 1024, LEN - 1, LEN, N - 1};
    const int64_t bound = (int64_t)b->bound;

    (void)state;
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        for (int64_t sign = -1; sign <= 1; sign += 2) {
            deal(b);
            b->sum[places[k]] = sign * bound;
            deal_sums(b);
            secagg_begin(b->server, N);
            add_all(b, 0, NEED);
            assert_int_equal(combine(b), STATUS_OK);
            expect_sums(b);
            b->sum[places[k]] = sign * (bound + 1);
            expect_refused("a sum above 1280 in size");
        }
}

static void test_after_a_refused_sum_late_results_have_nothing_to_be_compared_with(void **state)
{
    (void)state;
    b->sum[0] = (int64_t)b->bound + 1;
    expect_refused("a sum above 1280 in size");
    assert_int_equal(late(b, NEED), STATUS_PROTOCOL);
}

/* The largest elements there are: (p-1)/2 and its negative, p - (p-1)/2. */
static void test_the_largest_elements_are_beyond_the_bound(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int64_t half = (int64_t)(b->field->p / 2);

        memset(b->sum, 0, sizeof b->sum);
        b->sum[7] = i == 0 ? half : i == 1 ? -half : i == 2 ? half - 1 : 1 - half;
        expect_refused("a sum above 1280 in size");
    }
}

static void test_padding_must_be_zero_and_is_not_written(void **state)
{
    static const size_t reals[] = {0, 1, LEN, N - WIDTH, N - 1, N};

    (void)state;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        const size_t real = reals[i];

        deal(b);
        memset(b->sum + real, 0, (N - real) * sizeof *b->sum);
        deal_sums(b);
        secagg_begin_padded(b->server, N, real);
        add_all(b, 1, M);
        assert_int_equal(combine(b), STATUS_OK);
        assert_memory_equal(b->out, b->want, real * sizeof *b->out);
        for (size_t k = 4 * real; k < sizeof b->out; k++)
            assert_int_equal(((const uint8_t *)b->out)[k], 0xff);
        for (int k = 0; k < 3 && real < N; k++) {
            const size_t at = k == 0 ? real : k == 1 ? (real + N) / 2 : N - 1;
            struct error err = {0};

            b->sum[at] = -1;
            deal_sums(b);
            secagg_begin_padded(b->server, N, real);
            add_all(b, 1, M);
            assert_int_equal(secagg_combine(b->server, b->out, WIDTH, &err), STATUS_INTEGRITY);
            assert_non_null(strstr(err.text, "padding that is not 0"));
            b->sum[at] = 0;
        }
    }
}

/* --- who is wrong --- */

static void test_one_wrong_result_is_noticed_with_one_more_and_named_with_two(void **state)
{
    const uint8_t four = 4;

    (void)state;
    for (uint32_t n = NEED; n <= NEED + 2; n++) {
        deal(b);
        spoil(b, 4, LEN - 1);
        secagg_begin(b->server, N);
        add_all(b, 0, n);
        if (n == NEED) {
            /* Nothing to compare with; the sum is most likely beyond the bound. */
            assert_int_equal(combine(b), STATUS_INTEGRITY);
        } else if (n == NEED + 1) {
            assert_int_equal(combine(b), STATUS_INTEGRITY);
        } else {
            assert_int_equal(combine(b), STATUS_OK);
            expect_sums(b);
            expect_verdict(b, SECAGG_LOCATED, 1, &four);
        }
    }
}

static void test_a_contradiction_is_resolved_by_one_more_result(void **state)
{
    const uint8_t none = 0;
    struct error err = {0};

    (void)state;
    deal(b);
    spoil(b, 0, 0);
    secagg_begin(b->server, N);
    add_all(b, 0, NEED + 1);
    assert_int_equal(secagg_combine(b->server, b->out, WIDTH, &err), STATUS_INTEGRITY);
    assert_non_null(strstr(err.text, "a contradiction between 8 of 10 uploads"));
    assert_int_equal(add(b, NEED + 1), STATUS_OK);
    assert_int_equal(combine(b), STATUS_OK);
    expect_sums(b);
    expect_verdict(b, SECAGG_LOCATED, 1, &none);
}

/* --- what goes in --- */

static void
test_an_element_that_is_not_of_the_field_is_refused_and_the_right_one_may_come(void **state)
{
    static const size_t places[] = {0, 1024, LEN - 1};
    uint8_t *elements = mem_alloc(LEN, b->field->bytes);

    (void)state;
    deal(b);
    secagg_begin(b->server, N);
    for (size_t k = 0; k < 3; k++)
        for (uint64_t v = b->field->p - 1; v <= b->field->p; v++) {
            secagg_begin(b->server, N);
            for (size_t i = 0; i < LEN; i++)
                b->field->set(elements, i, b->share[2][i]);
            if (b->field->bytes == 4)
                ((uint32_t *)(void *)elements)[places[k]] = (uint32_t)v;
            else
                ((uint64_t *)(void *)elements)[places[k]] = v;
            b->field->pack(b->upload[2], elements, LEN);
            assert_int_equal(add(b, 2), v < b->field->p ? STATUS_OK : STATUS_PROTOCOL);
        }
    pack(b, 2);
    assert_int_equal(add(b, 2), STATUS_OK);
    assert_int_equal(add(b, 2), STATUS_PROTOCOL); /* twice */
    mem_free(elements);
}

/* --- late --- */

static void test_a_late_result_is_compared_even_when_the_next_round_has_begun(void **state)
{
    (void)state;
    for (int next = 0; next < 2; next++) {
        deal(b);
        spoil(b, 8, 5);
        secagg_begin(b->server, N);
        add_all(b, 0, NEED);
        assert_int_equal(combine(b), STATUS_OK);
        if (next == 1)
            secagg_begin(b->server, 6 * WIDTH * K);
        assert_int_equal(late(b, 7), STATUS_OK);
        assert_int_equal(late(b, 7), STATUS_PROTOCOL); /* twice */
        assert_int_equal(late(b, 0), STATUS_PROTOCOL); /* it was in */
        assert_int_equal(late(b, 8), STATUS_INTEGRITY);
        assert_int_equal(late(b, 9), STATUS_OK);
        expect_verdict(b, SECAGG_UNVERIFIED, 0, NULL);
    }
}

static void test_a_late_result_of_another_size_or_before_any_sum_is_refused(void **state)
{
    const size_t bytes = secagg_payload_bytes(AGGREGATION_FEDVS, &b->shape, N);
    struct error err = {0};

    (void)state;
    deal(b);
    secagg_begin(b->server, N);
    assert_int_equal(late(b, 7), STATUS_PROTOCOL);
    add_all(b, 0, NEED);
    assert_int_equal(late(b, 7), STATUS_PROTOCOL);
    assert_int_equal(combine(b), STATUS_OK);
    assert_int_equal(secagg_late(b->server, 7, b->upload[7], bytes - 1, &err), STATUS_PROTOCOL);
    assert_int_equal(secagg_late(b->server, 7, b->upload[7], bytes + 1, &err), STATUS_PROTOCOL);
    assert_int_equal(late(b, 7), STATUS_OK);
}

static void test_bits_behind_the_last_element_are_refused(void **state)
{
    const size_t bits = (size_t)LEN * b->field->bits;
    uint8_t *end = &b->upload[0][bits / 8];

    (void)state;
    deal(b);
    secagg_begin(b->server, N);
    assert_true(bits % 8 > 0);
    for (size_t bit = bits % 8; bit < 8; bit++) {
        *end ^= (uint8_t)(1U << bit);
        assert_int_equal(add(b, 0), STATUS_PROTOCOL);
        *end ^= (uint8_t)(1U << bit);
    }
    assert_int_equal(add(b, 0), STATUS_OK);
}

/* --- a programmer's mistakes --- */

static void begin_odd(void *arg)
{
    (void)arg;
    secagg_begin(b->server, N - 1);
}

static void begin_more_real(void *arg)
{
    (void)arg;
    secagg_begin_padded(b->server, N - K, N - K + 1);
}

static void begin_well(void *arg)
{
    (void)arg;
    secagg_begin_padded(b->server, N - K, N - K);
}

static void test_rounds_have_whole_segments_and_no_more_real_values_than_values(void **state)
{
    (void)state;
    assert_true(aborts(begin_odd, NULL));
    assert_true(aborts(begin_more_real, NULL));
    assert_false(aborts(begin_well, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums_come_from_a_quorum_and_with_more_they_are_checked,
                                        start, stop),
        cmocka_unit_test_setup_teardown(test_sums_come_from_a_quorum_and_with_more_they_are_checked,
                                        start_31, stop),
        cmocka_unit_test(test_the_golden_results_decode_to_the_golden_sums),
        cmocka_unit_test_setup_teardown(test_a_sum_beyond_the_bound_is_refused_wherever_it_is,
                                        start, stop),
        cmocka_unit_test_setup_teardown(
            test_after_a_refused_sum_late_results_have_nothing_to_be_compared_with, start, stop),
        cmocka_unit_test_setup_teardown(test_the_largest_elements_are_beyond_the_bound, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_the_largest_elements_are_beyond_the_bound, start_31,
                                        stop),
        cmocka_unit_test_setup_teardown(test_padding_must_be_zero_and_is_not_written, start_31,
                                        stop),
        cmocka_unit_test_setup_teardown(
            test_one_wrong_result_is_noticed_with_one_more_and_named_with_two, start, stop),
        cmocka_unit_test_setup_teardown(
            test_one_wrong_result_is_noticed_with_one_more_and_named_with_two, start_31, stop),
        cmocka_unit_test_setup_teardown(test_a_contradiction_is_resolved_by_one_more_result, start,
                                        stop),
        cmocka_unit_test_setup_teardown(
            test_an_element_that_is_not_of_the_field_is_refused_and_the_right_one_may_come, start,
            stop),
        cmocka_unit_test_setup_teardown(
            test_an_element_that_is_not_of_the_field_is_refused_and_the_right_one_may_come,
            start_31, stop),
        cmocka_unit_test_setup_teardown(
            test_a_late_result_is_compared_even_when_the_next_round_has_begun, start, stop),
        cmocka_unit_test_setup_teardown(
            test_a_late_result_of_another_size_or_before_any_sum_is_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_bits_behind_the_last_element_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_bits_behind_the_last_element_are_refused, start_31,
                                        stop),
        cmocka_unit_test_setup_teardown(
            test_rounds_have_whole_segments_and_no_more_real_values_than_values, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
