/* test_show.c -- what a server shows is what it was given: sums exactly, payloads as they came.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/compress/down.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/members.h"
#include "tests/unit/secagg/shown.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9 * 803, CASES = 12, ENCODINGS_N = PLAN_ENCODINGS };

static const uint8_t SEED[32] = "show";

static const enum plan_aggregation AGGREGATIONS[] = {AGGREGATION_MASKED, AGGREGATION_CODED,
                                                     AGGREGATION_CLEAR};

static struct rng chance;

static int setup(void **state)
{
    (void)state;
    return rng_init_key(&chance, SEED) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rng_deinit(&chance);
    return 0;
}

/* --- what it is --- */

static void test_sums_of_codes_are_those_of_all_members(void **state)
{
    static uint32_t sum[VALUES], q[VALUES];
    static uint8_t want[4 * VALUES];

    (void)state;
    for (size_t k = 0; k < 3 * 3 * CASES; k++) {
        static const enum plan_encoding codes[] = {ENCODING_PBM, ENCODING_FIXED, ENCODING_GAUSSIAN};
        const enum plan_encoding e = codes[k / 3 % 3];
        struct shown_case c = shown_random_case(&chance, AGGREGATIONS[k % 3], e);
        struct shown w;
        uint32_t width;

        c.concat = false;
        shown_init(&w, &c, &chance);
        width = w.g.shape.encode.sum_bits;
        if (e != ENCODING_GAUSSIAN)
            assert_int_equal(width,
                             bits_width((uint64_t)w.g.shape.encode.value_max * c.parties + 1));
        assert_int_equal(w.shown_bytes, bits_bytes(w.n, width));
        for (int rounds = 0; rounds < 2; rounds++) {
            shown_run(&w);
            memset(sum, 0, sizeof sum);
            for (uint32_t m = 0; m < c.parties; m++) {
                shown_codes(&w, m, q);
                for (size_t i = 0; i < w.n; i++)
                    sum[i] += q[i];
            }
            bits_naive_pack(want, sum, w.n, width);
            assert_memory_equal(w.shown, want, w.shown_bytes);
        }
        shown_deinit(&w);
    }
}

static void test_sums_of_floats_are_those_that_were_combined(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, ENCODING_FLOAT32);
        struct shown w;

        c.concat = false;
        shown_init(&w, &c, &chance);
        shown_run(&w);
        assert_int_equal(w.shown_bytes, w.n * sizeof(float));
        assert_memory_equal(w.shown, w.combined, w.shown_bytes);
        shown_deinit(&w);
    }
}

static void test_concatenations_and_compressors_are_payloads_in_member_order(void **state)
{
    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * CASES; k++) {
        const enum plan_encoding e = (enum plan_encoding)(k % ENCODINGS_N);
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, e);
        struct shown w;
        size_t bytes;

        c.concat |= e < ENCODING_SCALAR;
        shown_init(&w, &c, &chance);
        bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &w.g.shape, w.n);
        assert_int_equal(w.shown_bytes, c.parties * bytes);
        shown_run(&w);
        shown_run(&w); /* and not those of the round before */
        for (uint32_t m = 0; m < c.parties; m++)
            assert_memory_equal(w.shown + m * bytes, w.g.payload[m], bytes);
        shown_deinit(&w);
    }
}

/* The same numbers as where they are broadcast and journalled. */
static void test_sizes_are_those_of_what_goes_down(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3 * ENCODINGS_N * CASES; k++) {
        const enum plan_encoding e = (enum plan_encoding)(k / 3 % ENCODINGS_N);
        const bool integers = e == ENCODING_PBM || e == ENCODING_FIXED || e == ENCODING_GAUSSIAN;
        const struct shown_case c =
            shown_random_case(&chance, integers ? AGGREGATIONS[k % 3] : AGGREGATION_CLEAR, e);
        const struct secagg_shape s = shown_shape(&c, 0);
        struct plan p = generation_plan(e);
        struct down down;

        p.protocol.aggregation = c.aggregation;
        p.protocol.local_view = VIEW_REFRESHED;
        p.protocol.fixed.bits = c.bits;
        p.protocol.pbm.trials = e == ENCODING_PBM ? c.bits : 16;
        p.protocol.pbm.beta = 0.2;
        p.protocol.bits = c.bits;
        p.model.embedding = c.width;
        p.model.fusion = c.concat ? FUSION_CONCAT : FUSION_SUM;
        p.shape.parties = c.parties;
        p.shape.outputs = 2;
        down_of(&down, &p);
        assert_int_equal(secagg_shown_bytes(c.aggregation, &s, (size_t)c.rows * c.width),
                         down_shown_bytes(&down, c.rows));
    }
}

/* --- when --- */

static void test_late_and_missing_uploads_of_a_coded_round_change_nothing(void **state)
{
    const struct shown_case c = {AGGREGATION_CODED, ENCODING_FIXED, false, 5, 3, 700, 10, 2, 1, 1};
    static uint8_t again[2 * VALUES];
    struct error err = {0};
    struct shown w;

    (void)state;
    shown_init(&w, &c, &chance);
    shown_run(&w);
    secagg_begin(w.g.server, w.n);
    for (uint32_t m = 1; m < 4; m++)
        assert_int_equal(secagg_add(w.g.server, m, w.g.payload[m], NULL, &err), STATUS_OK);
    assert_int_equal(secagg_combine(w.g.server, w.combined, c.width, &err), STATUS_OK);
    assert_int_equal(secagg_late(w.g.server, 0, w.g.payload[0],
                                 secagg_payload_bytes(AGGREGATION_CODED, &w.g.shape, w.n), &err),
                     STATUS_OK);
    secagg_show(w.g.server, again);
    assert_memory_equal(again, w.shown, w.shown_bytes);
    shown_deinit(&w);
}

struct call {
    struct shown w;
};

static void show(void *arg)
{
    static uint8_t out[SHOWN_PARTIES_MAX * VALUES * 4 + 64];

    secagg_show(((struct call *)arg)->w.g.server, out);
}

static void test_only_a_round_that_was_combined_is_shown(void **state)
{
    static struct call call;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct shown_case c = shown_random_case(&chance, AGGREGATIONS[k], ENCODING_FIXED);
        struct generation *g = &call.w.g;
        struct error err = {0};

        shown_init(&call.w, &c, &chance);
        assert_true(aborts(show, &call));
        shown_run(&call.w);
        assert_false(aborts(show, &call));
        secagg_begin(g->server, call.w.n);
        assert_true(aborts(show, &call));
        assert_int_not_equal(secagg_combine(g->server, call.w.combined, c.width, &err), STATUS_OK);
        assert_true(aborts(show, &call));
        shown_run(&call.w);
        assert_false(aborts(show, &call));
        shown_deinit(&call.w);
    }
}

/* A sum that no members can reach, which the masks let through. */
static void test_a_round_that_failed_is_not_shown(void **state)
{
    static struct call call;
    const struct shown_case c = {AGGREGATION_MASKED, ENCODING_FIXED, false, 2, 1, 8, 8, 1, 1, 1};
    struct generation *g = &call.w.g;
    struct error err = {0};

    (void)state;
    shown_init(&call.w, &c, &chance);
    shown_run(&call.w);
    g->payload[0][1] ^= 2;
    assert_int_equal(generation_combine(g, call.w.combined, call.w.n, 1, &err), STATUS_INTEGRITY);
    assert_true(aborts(show, &call));
    g->payload[0][1] ^= 2;
    assert_int_equal(generation_combine(g, call.w.combined, call.w.n, 1, &err), STATUS_OK);
    assert_false(aborts(show, &call));
    shown_deinit(&call.w);
}

static void test_a_shape_that_is_not_for_showing_shows_nothing(void **state)
{
    static struct call call;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct shown_case c = shown_random_case(&chance, AGGREGATIONS[k], ENCODING_FIXED);
        struct secagg_shape s = shown_shape(&c, 0);
        struct secagg_server *server = NULL;
        struct error err = {0};

        s.shown = false;
        shown_init(&call.w, &c, &chance);
        shown_run(&call.w);
        secagg_server_free(call.w.g.server);
        assert_int_equal(secagg_server_new(&server, c.aggregation, &s), STATUS_OK);
        call.w.g.server = server;
        assert_int_equal(generation_combine(&call.w.g, call.w.combined, call.w.n, c.width, &err),
                         STATUS_OK);
        assert_true(aborts(show, &call));
        shown_deinit(&call.w);
    }
}

static void test_sums_of_some_members_are_never_shown(void **state)
{
    const struct shown_case c = {AGGREGATION_CLEAR, ENCODING_FIXED, false, 3, 1, 8, 8, 1, 1, 1};
    struct secagg_shape s = shown_shape(&c, 0);
    struct secagg_server *server;

    (void)state;
    s.partial = true;
    assert_int_equal(secagg_server_new(&server, AGGREGATION_CLEAR, &s), STATUS_CONFIG);
    s.shown = false;
    assert_int_equal(secagg_server_new(&server, AGGREGATION_CLEAR, &s), STATUS_OK);
    secagg_server_free(server);
    s.encode.integers = false;
    assert_int_equal(secagg_shown_bytes(AGGREGATION_MASKED, &s, 8), 0);
}

static void test_sums_of_products_are_never_shown(void **state)
{
    const struct members_case c = members_random_case(&chance, PRIME_31);
    struct secagg_server *server;
    static struct members g;

    (void)state;
    members_init(&g, &c, &chance);
    assert_int_equal(secagg_server_new(&server, AGGREGATION_FEDVS, &g.shape), STATUS_OK);
    secagg_server_free(server);
    g.shape.shown = true;
    assert_int_equal(secagg_server_new(&server, AGGREGATION_FEDVS, &g.shape), STATUS_CONFIG);
    assert_int_equal(secagg_shown_bytes(AGGREGATION_FEDVS, &g.shape, 8), 0);
    members_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_codes_are_those_of_all_members),
        cmocka_unit_test(test_sums_of_floats_are_those_that_were_combined),
        cmocka_unit_test(test_concatenations_and_compressors_are_payloads_in_member_order),
        cmocka_unit_test(test_sizes_are_those_of_what_goes_down),
        cmocka_unit_test(test_late_and_missing_uploads_of_a_coded_round_change_nothing),
        cmocka_unit_test(test_only_a_round_that_was_combined_is_shown),
        cmocka_unit_test(test_a_round_that_failed_is_not_shown),
        cmocka_unit_test(test_a_shape_that_is_not_for_showing_shows_nothing),
        cmocka_unit_test(test_sums_of_some_members_are_never_shown),
        cmocka_unit_test(test_sums_of_products_are_never_shown),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
