/* test_fedvs.c -- what a round of fedvs gives is, in every element, the sum in plain integers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs.h"

#include "common/base/mem.h"
#include "tests/unit/secagg/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES_MAX = 4096, CODED_MAX = 64 };

static const uint8_t SEED[32] = "fedvs";

static int64_t sums[VALUES_MAX], decoded[VALUES_MAX];
static float out[VALUES_MAX], real[VALUES_MAX];

static struct rng start(uint8_t variant)
{
    uint8_t key[32];
    struct rng r;

    memcpy(key, SEED, sizeof key);
    key[31] = variant;
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    return r;
}

/* What the first R uploads in this order decode to, by themselves. */
static void decode(struct members *g, const uint32_t *order, uint32_t coded_n)
{
    const struct field *f = g->shape.terms.field;
    const size_t len = members_values(g, coded_n) / g->c.segments;
    const void *row[MEMBERS_MAX];
    uint8_t *rows = mem_alloc(g->c.parties * len, f->bytes);
    uint8_t *segments = mem_alloc(g->c.segments * len, f->bytes);
    struct product code;
    struct product_results results = {row, order, 0, len};

    assert_int_equal(fedvs_product_init(&code, &g->shape), STATUS_OK);
    results.n = code.results;
    for (uint32_t i = 0; i < code.results; i++) {
        row[i] = rows + i * len * f->bytes;
        f->unpack(rows + i * len * f->bytes, g->payload[order[i]], len);
    }
    product_decode(&code, segments, &results);
    f->to_signed(decoded, segments, g->c.segments * len);
    product_deinit(&code);
    mem_free(rows);
    mem_free(segments);
}

/* The server's sums from the first n uploads in this order. */
static void combine(struct members *g, const uint32_t *order, uint32_t n,
                    const struct secagg_round *r)
{
    struct error err = {0};
    const uint8_t *faulty;
    size_t faulty_n;

    secagg_begin_padded(g->server, members_values(g, r->coded_n),
                        members_real(g, r->coded, r->coded_n));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(secagg_add(g->server, order[i], g->payload[order[i]], NULL, &err),
                         STATUS_OK);
    assert_int_equal(secagg_combine(g->server, out, g->c.width, &err), STATUS_OK);
    assert_int_equal(secagg_verdict(g->server, &faulty, &faulty_n),
                     n > secagg_quorum(g->server) ? SECAGG_CONSISTENT : SECAGG_UNVERIFIED);
}

static void assert_sums(struct members *g, const uint32_t *order, uint32_t n,
                        const struct secagg_round *r)
{
    const size_t values = members_values(g, r->coded_n);
    const size_t records = members_real(g, r->coded, r->coded_n);

    decode(g, order, r->coded_n);
    assert_memory_equal(decoded, sums, values * sizeof *sums);
    for (size_t i = 0; i < values; i++)
        out[i] = 99;
    combine(g, order, n, r);
    fedvs_real(&g->shape.terms, real, sums, records);
    assert_memory_equal(out, real, records * sizeof *real);
    for (size_t i = records; i < values; i++) /* nothing is written beyond */
        assert_true(out[i] > 98);
}

/* Ten thousand subsets of results, of thousands of rounds, of hundreds of generations. */
static void exact(enum plan_prime prime, uint8_t variant)
{
    enum { GENERATIONS = 210, ROUNDS = 6, SUBSETS = 4, CASES = GENERATIONS * ROUNDS * SUBSETS };
    struct rng r = start(variant);
    size_t cases = 0, elements = 0, degrees[4] = {0};

    for (int i = 0; i < GENERATIONS; i++) {
        const struct members_case c = members_random_case(&r, prime);
        uint32_t coded[CODED_MAX], order[MEMBERS_MAX];
        struct members g;

        members_init(&g, &c, &r);
        assert_int_equal(g.shape.terms.field->bits, prime == PRIME_31 ? 31 : 61);
        members_deal_keys(&g);
        members_deal_data(&g);
        for (uint32_t m = 0; m < c.parties; m++)
            degrees[c.degree[m]]++;
        for (int k = 0; k < ROUNDS; k++) {
            const uint32_t n = 1 + (uint32_t)rng_below(&r, g.len);
            struct secagg_round round;

            members_draw_weights(&g, &r);
            members_draw_coded(&g, coded, n, &r);
            round = members_run(&g, coded, n);
            members_sums(&g, sums, &round);
            for (int j = 0; j < SUBSETS; j++, cases++) {
                const uint32_t quorum = secagg_quorum(g.server);

                members_shuffle(order, c.parties, &r);
                assert_sums(&g, order, quorum + (uint32_t)rng_below(&r, c.parties - quorum + 1),
                            &round);
                elements += members_values(&g, n);
            }
        }
        members_deinit(&g);
    }
    rng_deinit(&r);
    assert_true(cases == CASES && cases > 5000);
    assert_true(degrees[1] > 100 && degrees[2] > 100 && degrees[3] > 100);
    print_message("%zu cases, %zu elements\n", cases, elements);
}

static void test_the_decoded_sum_is_the_plain_sum_at_31_bits(void **state)
{
    (void)state;
    exact(PRIME_31, 1);
}

static void test_the_decoded_sum_is_the_plain_sum_at_61_bits(void **state)
{
    (void)state;
    exact(PRIME_61, 2);
}

/* --- one shape, looked at closely --- */

static const struct members_case SEVEN = {
    .parties = 7,
    .segments = 2,
    .privacy = 1,
    .width = 3,
    .rows = 9,
    .chunk_rows = 2,
    .features = {1, 2, 3, 1, 2, 1, 1},
    .degree = {3, 1, 2, 2, 1, 1, 3},
    .x_bits = 6,
    .w_bits = 10,
    .x_max = 1.5,
    .w_max = 2,
};

static void begin(struct members *g, const struct members_case *c, struct rng *r)
{
    members_init(g, c, r);
    members_deal_keys(g);
    members_deal_data(g);
}

static void test_every_subset_of_a_quorum_decodes(void **state)
{
    static const uint32_t coded[] = {1, 2, 4};
    struct rng r = start(3);
    struct secagg_round round;
    struct members g;
    size_t subsets = 0;

    (void)state;
    begin(&g, &SEVEN, &r);
    round = members_run(&g, coded, 3);
    members_sums(&g, sums, &round);
    for (uint32_t set = 0; set < 1 << 7; set++) {
        uint32_t order[MEMBERS_MAX], n = 0;

        for (uint32_t m = 0; m < 7; m++)
            if ((set >> m & 1) != 0)
                order[n++] = m;
        if (n < secagg_quorum(g.server))
            continue;
        assert_sums(&g, order, n, &round);
        subsets++;
    }
    assert_int_equal(subsets, 21 + 7 + 1);
    members_deinit(&g);
    rng_deinit(&r);
}

/* One less than the quorum says nothing: see also test_fedvs_view.c. */
static void test_one_result_less_than_a_quorum_does_not_combine(void **state)
{
    static const uint32_t coded[] = {0};
    struct rng r = start(4);
    struct error err = {0};
    struct members g;

    (void)state;
    begin(&g, &SEVEN, &r);
    members_run(&g, coded, 1);
    secagg_begin(g.server, members_values(&g, 1));
    for (uint32_t m = 0; m < 4; m++)
        assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 3, &err), STATUS_INTEGRITY);
    assert_int_equal(secagg_add(g.server, 6, g.payload[6], NULL, &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 3, &err), STATUS_OK);
    members_deinit(&g);
    rng_deinit(&r);
}

/* More coded rows than are gathered at once, in one run and scattered; more elements than a chunk
 * of dealing, of weights and of decoding has. */
static void test_long_rounds_are_exact(void **state)
{
    enum { ROWS = 1400 };
    struct members_case c = SEVEN;
    struct rng r = start(5);
    uint32_t coded[ROWS / 2], order[MEMBERS_MAX];
    struct members g;

    (void)state;
    c.rows = ROWS - 1;
    c.chunk_rows = 0;
    c.width = 8;
    c.features[2] = 30;
    for (int prime = 0; prime < 2; prime++) {
        c.prime = prime == 0 ? PRIME_31 : PRIME_61;
        c.x_bits = 4;
        c.w_bits = 8;
        begin(&g, &c, &r);
        for (uint32_t n = FEDVS_GATHER - 1; n <= ROWS / 2; n += n == FEDVS_GATHER - 1 ? 2 : 443) {
            const size_t values = members_values(&g, n);
            int64_t *plain = mem_alloc(values, sizeof *plain);
            float *got = mem_alloc(values, sizeof *got), *want = mem_alloc(values, sizeof *want);
            struct secagg_round round;
            struct error err = {0};

            members_draw_coded(&g, coded, n, &r);
            round = members_run(&g, coded, n);
            members_sums(&g, plain, &round);
            members_shuffle(order, 7, &r);
            secagg_begin_padded(g.server, values, members_real(&g, coded, n));
            for (uint32_t i = 0; i < 7; i++)
                assert_int_equal(secagg_add(g.server, order[i], g.payload[order[i]], NULL, &err),
                                 STATUS_OK);
            assert_int_equal(secagg_combine(g.server, got, 8, &err), STATUS_OK);
            fedvs_real(&g.shape.terms, want, plain, values);
            assert_memory_equal(got, want, members_real(&g, coded, n) * sizeof *got);
            mem_free(plain);
            mem_free(got);
            mem_free(want);
        }
        members_deinit(&g);
    }
    rng_deinit(&r);
}

static void test_weights_that_were_cut_off_are_counted(void **state)
{
    static const uint32_t coded[] = {0};
    struct rng r = start(6);
    struct members g;

    (void)state;
    begin(&g, &SEVEN, &r);
    for (size_t i = 0; i < 12; i++) /* member 1: 2 features, degree 1, width 3: 6 of them */
        g.w[i < 6 ? 1 : 4][i % 6] = i < 6 ? 1.99F : -2.5F;
    members_run(&g, coded, 1);
    assert_int_equal(secagg_clipped(g.party[1]), 0);
    assert_int_equal(secagg_clipped(g.party[4]), 6);
    members_run(&g, coded, 1);
    assert_int_equal(secagg_clipped(g.party[4]), 12);
    members_deinit(&g);
    rng_deinit(&r);
}

/* The same chunk with the same masks gives the same shares, under another seal. */
static void test_a_chunk_can_be_dealt_again_as_it_was(void **state)
{
    struct rng r = start(7);
    struct members g;
    uint8_t *first[MEMBERS_MAX];

    (void)state;
    begin(&g, &SEVEN, &r);
    for (uint32_t m = 0; m < 7; m++) {
        const size_t bytes = (size_t)g.len * g.shape.terms.inputs_n * g.shape.terms.field->bytes;

        first[m] = mem_alloc(bytes, 1);
        memcpy(first[m], g.data[m], bytes);
        memset(g.data[m], 0xff, bytes);
    }
    members_deal_data(&g);
    for (uint32_t m = 0; m < 7; m++) {
        assert_memory_equal(first[m], g.data[m],
                            (size_t)g.len * g.shape.terms.inputs_n * g.shape.terms.field->bytes);
        mem_free(first[m]);
    }
    members_deinit(&g);
    rng_deinit(&r);
}

/* Masks are never the seeded stream's: only sums are the same in two runs. */
static void test_shares_of_weights_and_results_are_never_the_same_again(void **state)
{
    static const uint32_t coded[] = {0, 3};
    uint8_t *result = NULL, *share = NULL;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rng r = start(8);
        struct secagg_round round;
        struct members g;
        uint32_t order[MEMBERS_MAX];
        size_t upload, part;

        begin(&g, &SEVEN, &r);
        members_shuffle(order, 7, &r);
        upload = secagg_payload_bytes(AGGREGATION_FEDVS, &g.shape, members_values(&g, 2));
        part = secagg_part_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_ROUND, 0, 0);
        round = members_run(&g, coded, 2);
        members_sums(&g, sums, &round);
        assert_sums(&g, order, 7, &round);
        if (i == 0) {
            result = mem_alloc(upload, 1);
            share = mem_alloc(part, 1);
            memcpy(result, g.payload[3], upload);
            memcpy(share, g.share[0], part);
        } else {
            assert_memory_not_equal(result, g.payload[3], upload);
            assert_memory_not_equal(share, g.share[0], part);
        }
        members_deinit(&g);
        rng_deinit(&r);
    }
    mem_free(result);
    mem_free(share);
}

/* --- sizes, memory --- */

static void test_parts_and_uploads_have_the_sizes_of_the_paper(void **state)
{
    struct rng r = start(9);
    struct members g;
    const struct secagg_shape *s = &g.shape;
    const enum plan_aggregation a = AGGREGATION_FEDVS;

    (void)state;
    members_init(&g, &SEVEN, &r);
    assert_true(secagg_shares(a) && secagg_deals(a));
    assert_false(secagg_deals(AGGREGATION_CODED));
    assert_int_equal(secagg_width(a, s), 31);
    assert_int_equal(secagg_payload_bytes(a, s, 5 * 2 * 3), (5 * 3 * 31 + 7) / 8);
    for (uint32_t m = 0; m < 7; m++) {
        const size_t inputs = (size_t)SEVEN.features[m] * SEVEN.degree[m];
        size_t down = 0;

        assert_int_equal(secagg_share_bytes(a, s, SECAGG_PART_ROUND, m, 30),
                         6 * ((inputs * 3 * 31 + 7) / 8));
        assert_int_equal(secagg_share_bytes(a, s, SECAGG_PART_DATA, m, 4),
                         6 * ((inputs * 4 * 31 + 7) / 8));
        /* T = 1: member 0 deals the sets without one of 1 .. 6, member 1 the one without 0. */
        assert_int_equal(secagg_part_bytes(a, s, SECAGG_PART_KEYS, m, 0), m == 0   ? 6 * 32
                                                                          : m == 1 ? 32
                                                                                   : 0);
        for (uint32_t from = 0; from < 7; from++)
            down += from == m ? 0 : secagg_part_bytes(a, s, SECAGG_PART_ROUND, from, 30);
        assert_int_equal(secagg_relay_bytes(a, s, SECAGG_PART_ROUND, m, 30), down);
    }
    assert_int_equal(secagg_tag_bytes(a, s), 6 * 16);
    assert_int_equal(secagg_check_bytes(a, s), 0);
    members_deinit(&g);
    rng_deinit(&r);
}

static void test_rounds_and_dealing_allocate_nothing(void **state)
{
    static const uint32_t coded[] = {0, 1, 4};
    const uint32_t order[] = {6, 2, 0, 4, 1, 5, 3};
    struct rng r = start(10);
    struct secagg_round round;
    struct error err = {0};
    struct members g;
    uint64_t before;

    (void)state;
    members_init(&g, &SEVEN, &r);
    before = mem_count();
    members_deal_keys(&g);
    members_deal_data(&g);
    for (int i = 0; i < 3; i++) {
        round = members_run(&g, coded, 3);
        secagg_begin_padded(g.server, members_values(&g, 3), members_real(&g, coded, 3));
        for (uint32_t k = 0; k < 7; k++)
            assert_int_equal(secagg_add(g.server, order[k], g.payload[order[k]], NULL, &err),
                             STATUS_OK);
        assert_int_equal(secagg_combine(g.server, out, 3, &err), STATUS_OK);
    }
    assert_int_equal(mem_count(), before);
    members_sums(&g, sums, &round);
    assert_sums(&g, order, 7, &round);
    members_deinit(&g);
    rng_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_decoded_sum_is_the_plain_sum_at_31_bits),
        cmocka_unit_test(test_the_decoded_sum_is_the_plain_sum_at_61_bits),
        cmocka_unit_test(test_every_subset_of_a_quorum_decodes),
        cmocka_unit_test(test_one_result_less_than_a_quorum_does_not_combine),
        cmocka_unit_test(test_long_rounds_are_exact),
        cmocka_unit_test(test_weights_that_were_cut_off_are_counted),
        cmocka_unit_test(test_a_chunk_can_be_dealt_again_as_it_was),
        cmocka_unit_test(test_shares_of_weights_and_results_are_never_the_same_again),
        cmocka_unit_test(test_parts_and_uploads_have_the_sizes_of_the_paper),
        cmocka_unit_test(test_rounds_and_dealing_allocate_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
