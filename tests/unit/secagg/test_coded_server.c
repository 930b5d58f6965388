/* test_coded_server.c -- what the server makes of uploads: sums, verdicts, names; and of late ones.
 *
 * Uploads are dealt here, from rows that the test chooses: a server sees nothing else of members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/coded_server.h"

#include "common/base/bits.h"
#include "common/secagg/coded.h"
#include "tests/unit/secagg/golden_coded.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { M = 9, K = 2, T = 2, NEED = K + T, N = 2051, LEN = 1026, SUM_MAX = M * 1023 };

static const uint8_t SEED[32] = "coded server";

struct bench {
    struct secagg_shape shape;
    struct secagg_server *server;
    struct lcc lcc;
    struct rng rng;
    uint32_t w;
    uint16_t rows[NEED * LEN]; /* of the sum that is dealt */
    uint16_t shares[M * LEN];
    uint8_t upload[M][2 * LEN];
    float want[N], out[N];
};

static void set_up(struct bench *b)
{
    struct plan p = generation_plan(ENCODING_FIXED);

    memset(b, 0, sizeof *b);
    b->shape = generation_shape(&p, M, N);
    b->shape.segments = K;
    b->shape.privacy = T;
    b->w = secagg_width(AGGREGATION_CODED, &b->shape);
    assert_int_equal(secagg_server_new(&b->server, AGGREGATION_CODED, &b->shape), STATUS_OK);
    assert_int_equal(coded_lcc_init(&b->lcc, &b->shape), STATUS_OK);
    assert_int_equal(rng_init_key(&b->rng, SEED), STATUS_OK);
}

static void tear_down(struct bench *b)
{
    secagg_server_free(b->server);
    lcc_deinit(&b->lcc);
    rng_deinit(&b->rng);
}

static void pack(struct bench *b, uint32_t m)
{
    bits_pack16(b->upload[m], b->shares + m * LEN, LEN, b->w);
}

/* Uploads of the rows as they are. */
static void deal_rows(struct bench *b)
{
    lcc_encode(&b->lcc, b->shares, b->rows, LEN);
    for (uint32_t m = 0; m < M; m++)
        pack(b, m);
}

/* Random sums within reach, and what the server should make of them. */
static void deal(struct bench *b)
{
    uint32_t sum[N];

    for (size_t i = 0; i < NEED * LEN; i++) {
        const bool padding = i >= N && i < K * LEN;

        b->rows[i] = (uint16_t)(padding       ? 0
                                : i < K * LEN ? rng_below(&b->rng, SUM_MAX + 1)
                                              : rng_below(&b->rng, b->lcc.field.p));
    }
    for (size_t i = 0; i < N; i++)
        sum[i] = b->rows[i];
    encode_estimate(&b->shape.encode, b->want, sum, N, M);
    deal_rows(b);
}

/* Adds d to element i of m's upload. */
static void spoil(struct bench *b, uint32_t m, size_t i, uint32_t d)
{
    uint16_t *v = &b->shares[m * LEN + i];

    *v = (uint16_t)((*v + d) % b->lcc.field.p);
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
    s = secagg_combine(b->server, b->out, 1, &err);
    assert_int_equal(err.status, s);
    return s;
}

/* The sums that were dealt, with this verdict and these n members named. */
static void expect_sums(struct bench *b, enum secagg_verdict verdict, const uint8_t *who, size_t n)
{
    const uint8_t *faulty;
    size_t faulty_n;

    assert_int_equal(combine(b), STATUS_OK);
    assert_memory_equal(b->out, b->want, sizeof b->want);
    assert_int_equal(secagg_verdict(b->server, &faulty, &faulty_n), verdict);
    assert_int_equal(faulty_n, n);
    if (n > 0)
        assert_memory_equal(faulty, who, n);
}

static enum status late(struct bench *b, uint32_t m, size_t bytes)
{
    struct error err = {0};
    enum status s = secagg_late(b->server, m, b->upload[m], bytes, &err);

    assert_int_equal(err.status, s);
    return s;
}

/* --- uploads --- */

static void test_uploads_of_an_independent_generator_decode(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_CODED_N; k++) {
        static float want[GOLDEN_VALUES_MAX], out[GOLDEN_VALUES_MAX];
        const struct golden_coded *c = &GOLDEN_CODED[k];
        struct secagg_shape s = golden_shape(k);
        const size_t part = secagg_payload_bytes(AGGREGATION_CODED, &s, c->values);
        struct secagg_server *server;
        struct error err = {0};

        assert_int_equal(secagg_server_new(&server, AGGREGATION_CODED, &s), STATUS_OK);
        golden_sums(want, k);
        for (uint32_t leave = 0; leave <= c->parties - secagg_quorum(server); leave++) {
            secagg_begin(server, c->values);
            for (uint32_t m = leave; m < c->parties; m++)
                assert_int_equal(secagg_add(server, m, c->uploads + m * part, NULL, &err),
                                 STATUS_OK);
            assert_int_equal(secagg_combine(server, out, 1, &err), STATUS_OK);
            assert_memory_equal(out, want, c->values * sizeof *out);
        }
        secagg_server_free(server);
    }
}

static void test_an_element_outside_the_field_is_refused_and_may_come_again(void **state)
{
    static const size_t places[] = {0, 1023, 1024, LEN - 1};
    static struct bench b;
    uint32_t p;

    (void)state;
    set_up(&b);
    p = b.lcc.field.p;
    deal(&b);
    secagg_begin(b.server, N);
    add_all(&b, 1, M);
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        const uint16_t was = b.shares[places[k]];

        for (uint32_t v = p; v < 1U << b.w; v = 2 * v - p + 1) {
            b.shares[places[k]] = (uint16_t)v;
            pack(&b, 0);
            assert_int_equal(add(&b, 0), STATUS_PROTOCOL);
        }
        b.shares[places[k]] = was;
    }
    pack(&b, 0);
    for (size_t bit = LEN * b.w; bit < 8 * bits_bytes(LEN, b.w); bit++) { /* behind the last */
        b.upload[0][bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_int_equal(add(&b, 0), STATUS_PROTOCOL);
        b.upload[0][bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    assert_int_equal(add(&b, 0), STATUS_OK);
    assert_int_equal(add(&b, 0), STATUS_PROTOCOL);
    expect_sums(&b, SECAGG_CONSISTENT, NULL, 0);
    tear_down(&b);
}

/* --- verdicts --- */

static void test_a_quorum_is_unverified_and_one_more_is_consistent(void **state)
{
    static struct bench b;

    (void)state;
    set_up(&b);
    deal(&b);
    secagg_begin(b.server, N);
    add_all(&b, 2, 2 + NEED - 1);
    assert_int_equal(combine(&b), STATUS_INTEGRITY);
    add_all(&b, 1, 2);
    expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);
    add_all(&b, 0, 1);
    expect_sums(&b, SECAGG_CONSISTENT, NULL, 0);
    add_all(&b, 2 + NEED - 1, M);
    expect_sums(&b, SECAGG_CONSISTENT, NULL, 0);
    tear_down(&b);
}

static void test_without_surplus_a_wrong_upload_goes_unnoticed_and_unverified(void **state)
{
    static struct bench b;
    const uint8_t *faulty;
    size_t faulty_n;

    (void)state;
    set_up(&b);
    deal(&b);
    spoil(&b, 8, 5, 1);
    secagg_begin(b.server, N);
    add_all(&b, 3, 3 + NEED - 1);
    assert_int_equal(add(&b, 8), STATUS_OK);
    assert_int_equal(combine(&b), STATUS_OK);
    assert_memory_not_equal(b.out, b.want, sizeof b.want);
    assert_int_equal(secagg_verdict(b.server, &faulty, &faulty_n), SECAGG_UNVERIFIED);
    tear_down(&b);
}

static void test_one_surplus_upload_detects_and_does_not_locate(void **state)
{
    static struct bench b;

    (void)state;
    set_up(&b);
    for (uint32_t m = 0; m <= NEED; m++) {
        deal(&b);
        spoil(&b, m, (m * 301) % LEN, 1 + m);
        secagg_begin(b.server, N);
        add_all(&b, 0, NEED + 1);
        assert_int_equal(combine(&b), STATUS_INTEGRITY);
        assert_int_equal(combine(&b), STATUS_INTEGRITY);
    }
    deal(&b); /* the next round is none the worse */
    secagg_begin(b.server, N);
    add_all(&b, 0, NEED + 1);
    expect_sums(&b, SECAGG_CONSISTENT, NULL, 0);
    tear_down(&b);
}

static void test_two_surplus_uploads_locate_one_wherever_it_is(void **state)
{
    static const size_t places[] = {0, 511, 512, 1023, 1024, LEN - 1};
    static struct bench b;

    (void)state;
    set_up(&b);
    for (uint32_t m = 0; m < NEED + 2; m++)
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
            const uint8_t who[] = {(uint8_t)m};

            deal(&b);
            spoil(&b, m, places[k], 1 + m);
            secagg_begin(b.server, N);
            add_all(&b, 0, NEED + 2);
            expect_sums(&b, SECAGG_LOCATED, who, 1);
        }
    tear_down(&b);
}

static void test_four_surplus_uploads_locate_two_in_any_order_of_arrival(void **state)
{
    static const uint8_t who[] = {3, 6};
    static struct bench b;

    (void)state;
    set_up(&b);
    for (uint32_t first = 0; first < M; first++) {
        deal(&b);
        spoil(&b, 6, 100, 7);
        spoil(&b, 3, 1025, 8);
        spoil(&b, 3, 100, 8);
        secagg_begin(b.server, N);
        for (uint32_t k = 0; k < M; k++)
            assert_int_equal(add(&b, (first + k) % M), STATUS_OK);
        expect_sums(&b, SECAGG_LOCATED, who, 2);
    }
    tear_down(&b);
}

static void test_an_upload_more_can_settle_a_contradiction(void **state)
{
    static const uint8_t who[] = {0};
    static struct bench b;

    (void)state;
    set_up(&b);
    deal(&b);
    spoil(&b, 0, 3, 1);
    secagg_begin(b.server, N);
    add_all(&b, 0, NEED + 1);
    assert_int_equal(combine(&b), STATUS_INTEGRITY);
    assert_int_equal(late(&b, 8, bits_bytes(LEN, b.w)), STATUS_PROTOCOL); /* none was combined */
    add_all(&b, NEED + 1, NEED + 2);
    expect_sums(&b, SECAGG_LOCATED, who, 1);
    tear_down(&b);
}

/* --- sums that nobody can reach --- */

static void expect_row(struct bench *b, size_t i, uint32_t v, enum status want)
{
    deal(b);
    b->rows[i] = (uint16_t)v;
    deal_rows(b);
    secagg_begin(b->server, N);
    add_all(b, 0, M);
    assert_int_equal(combine(b), want);
}

static void test_a_sum_out_of_reach_or_padding_with_something_in_it_is_no_sum(void **state)
{
    static const size_t places[] = {0, 1023, LEN - 1, LEN, N - 1};
    static struct bench b;

    (void)state;
    set_up(&b);
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        expect_row(&b, places[k], SUM_MAX, STATUS_OK);
        expect_row(&b, places[k], SUM_MAX + 1, STATUS_INTEGRITY);
        expect_row(&b, places[k], b.lcc.field.p - 1, STATUS_INTEGRITY);
    }
    assert_int_equal(N, K * LEN - 1); /* one element of padding */
    expect_row(&b, N, 0, STATUS_OK);
    expect_row(&b, N, 1, STATUS_INTEGRITY);
    expect_row(&b, K * LEN, 1, STATUS_OK); /* the first of the uniform rows */
    tear_down(&b);
}

/* --- late uploads --- */

static void test_late_uploads_are_compared_with_what_was_decoded(void **state)
{
    static struct bench b;
    size_t bytes;

    (void)state;
    set_up(&b);
    bytes = bits_bytes(LEN, b.w);
    assert_int_equal(late(&b, 0, bytes), STATUS_PROTOCOL); /* no round yet */
    assert_int_equal(late(&b, 0, 0), STATUS_PROTOCOL);
    deal(&b);
    secagg_begin(b.server, N);
    add_all(&b, 0, NEED);
    assert_int_equal(late(&b, 5, bytes), STATUS_PROTOCOL); /* the round is open */
    expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);
    assert_int_equal(late(&b, 5, bytes), STATUS_OK);
    assert_int_equal(late(&b, 5, bytes), STATUS_PROTOCOL);
    assert_int_equal(late(&b, 0, bytes), STATUS_PROTOCOL);
    assert_int_equal(late(&b, 6, bytes - 1), STATUS_PROTOCOL);
    assert_int_equal(late(&b, 6, bytes + 1), STATUS_PROTOCOL);
    b.shares[6 * LEN] = (uint16_t)b.lcc.field.p;
    pack(&b, 6);
    assert_int_equal(late(&b, 6, bytes), STATUS_PROTOCOL);
    deal_rows(&b);
    assert_int_equal(late(&b, 6, bytes), STATUS_OK); /* what was malformed has not come */
    spoil(&b, 7, LEN - 1, 1);
    assert_int_equal(late(&b, 7, bytes), STATUS_INTEGRITY);
    assert_int_equal(late(&b, 7, bytes), STATUS_PROTOCOL);
    assert_int_equal(add(&b, 7), STATUS_PROTOCOL);
    expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0); /* of what was added, as before */
    tear_down(&b);
}

static void test_late_uploads_may_come_after_the_next_round_has_begun(void **state)
{
    static struct bench b, next;
    size_t bytes;

    (void)state;
    set_up(&b);
    bytes = bits_bytes(LEN, b.w);
    deal(&b);
    secagg_begin(b.server, N);
    for (uint32_t m = M; m-- > M - NEED;)
        assert_int_equal(add(&b, m), STATUS_OK);
    expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);

    set_up(&next);
    secagg_server_free(next.server);
    next.server = b.server;
    (void)rng_u64(&next.rng);
    deal(&next);
    secagg_begin(b.server, N);
    add_all(&next, 0, 2);
    assert_int_equal(late(&b, 0, bytes), STATUS_OK);
    assert_int_equal(late(&b, 0, bytes), STATUS_PROTOCOL);
    assert_int_equal(late(&b, 8, bytes), STATUS_PROTOCOL);
    assert_int_equal(late(&next, 1, bytes), STATUS_INTEGRITY); /* of another round */
    secagg_begin(b.server, N);                                 /* that one was void */
    assert_int_equal(late(&b, 2, bytes), STATUS_OK);
    add_all(&next, 0, NEED);
    expect_sums(&next, SECAGG_UNVERIFIED, NULL, 0);
    assert_int_equal(late(&b, 4, bytes), STATUS_INTEGRITY); /* now the other one is the last */
    assert_int_equal(late(&next, 5, bytes), STATUS_OK);
    next.server = NULL;
    tear_down(&next);
    tear_down(&b);
}

static void test_late_uploads_are_of_the_last_round_of_many(void **state)
{
    static struct bench b;
    size_t bytes;

    (void)state;
    set_up(&b);
    bytes = bits_bytes(LEN, b.w);
    for (int k = 0; k < 5; k++) {
        deal(&b);
        secagg_begin(b.server, N);
        add_all(&b, 0, NEED);
        expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);
        secagg_begin(b.server, N - 1); /* void when k is even */
        if (k % 2 > 0) {
            deal(&b);
            secagg_begin(b.server, N);
            add_all(&b, 1, 1 + NEED);
            expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);
            secagg_begin(b.server, 1);
        }
        assert_int_equal(late(&b, 6, bytes), STATUS_OK);
        assert_int_equal(late(&b, 2, bytes), STATUS_PROTOCOL);
    }
    tear_down(&b);
}

static void test_late_uploads_meet_the_length_of_their_own_round(void **state)
{
    static struct bench b;
    struct error err = {0};
    float one[1];

    (void)state;
    set_up(&b);
    deal(&b);
    secagg_begin(b.server, N);
    add_all(&b, 0, NEED);
    expect_sums(&b, SECAGG_UNVERIFIED, NULL, 0);
    secagg_begin(b.server, 1);
    for (uint32_t m = 0; m < NEED; m++) {
        uint8_t first[4] = {0};

        bits_pack16(first, b.shares + m * LEN, 1, b.w);
        assert_int_equal(secagg_add(b.server, m, first, NULL, &err), STATUS_OK);
    }
    assert_int_equal(late(&b, 7, bits_bytes(1, b.w)), STATUS_PROTOCOL);
    assert_int_equal(late(&b, 7, bits_bytes(LEN, b.w)), STATUS_OK);
    /* K = 2 elements of the same polynomials: the second is padding, and is not 0. */
    assert_int_equal(secagg_combine(b.server, one, 1, &err), STATUS_INTEGRITY);
    tear_down(&b);
}

static void test_late_uploads_are_compared_with_those_that_were_not_located(void **state)
{
    static const uint8_t who[] = {1};
    static struct bench b;

    (void)state;
    set_up(&b);
    deal(&b);
    spoil(&b, 1, 9, 1);
    spoil(&b, 8, 9, 1);
    secagg_begin(b.server, N);
    add_all(&b, 0, NEED + 2);
    expect_sums(&b, SECAGG_LOCATED, who, 1);
    assert_int_equal(late(&b, 7, bits_bytes(LEN, b.w)), STATUS_OK);
    assert_int_equal(late(&b, 8, bits_bytes(LEN, b.w)), STATUS_INTEGRITY);
    assert_int_equal(late(&b, 1, bits_bytes(LEN, b.w)), STATUS_PROTOCOL);
    tear_down(&b);
}

/* --- who is there --- */

static void test_those_present_and_absent_are_known(void **state)
{
    static struct bench b;
    uint8_t absent[PLAN_PARTIES_MAX];
    static const uint8_t want[] = {0, 1, 6, 7, 8};

    (void)state;
    set_up(&b);
    deal(&b);
    secagg_begin(b.server, N);
    assert_int_equal(secagg_present(b.server, absent), 0);
    for (uint8_t m = 0; m < M; m++)
        assert_int_equal(absent[m], m);
    add_all(&b, 2, 2 + NEED);
    assert_int_equal(secagg_present(b.server, NULL), NEED);
    assert_int_equal(secagg_present(b.server, absent), NEED);
    assert_memory_equal(absent, want, sizeof want);
    assert_int_equal(secagg_quorum(b.server), NEED);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads_of_an_independent_generator_decode),
        cmocka_unit_test(test_an_element_outside_the_field_is_refused_and_may_come_again),
        cmocka_unit_test(test_a_quorum_is_unverified_and_one_more_is_consistent),
        cmocka_unit_test(test_without_surplus_a_wrong_upload_goes_unnoticed_and_unverified),
        cmocka_unit_test(test_one_surplus_upload_detects_and_does_not_locate),
        cmocka_unit_test(test_two_surplus_uploads_locate_one_wherever_it_is),
        cmocka_unit_test(test_four_surplus_uploads_locate_two_in_any_order_of_arrival),
        cmocka_unit_test(test_an_upload_more_can_settle_a_contradiction),
        cmocka_unit_test(test_a_sum_out_of_reach_or_padding_with_something_in_it_is_no_sum),
        cmocka_unit_test(test_late_uploads_are_compared_with_what_was_decoded),
        cmocka_unit_test(test_late_uploads_may_come_after_the_next_round_has_begun),
        cmocka_unit_test(test_late_uploads_are_of_the_last_round_of_many),
        cmocka_unit_test(test_late_uploads_meet_the_length_of_their_own_round),
        cmocka_unit_test(test_late_uploads_are_compared_with_those_that_were_not_located),
        cmocka_unit_test(test_those_present_and_absent_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
