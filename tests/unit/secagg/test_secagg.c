/* test_secagg.c -- what holds for every protocol: memory, and misuse.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/secagg.h"

#include "common/config/aggregation.h"
#include "common/secagg/clear.h"
#include "common/secagg/coded.h"
#include "common/secagg/fedvs.h"
#include "common/secagg/masked.h"
#include "common/secagg/ops.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/generation.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 5000 };

static const uint8_t SEED[32] = "secagg";

static const struct setting {
    enum plan_aggregation aggregation;
    enum plan_encoding encoding;
    bool concat, shown;
} SETTINGS[] = {
    {AGGREGATION_MASKED, ENCODING_PBM, false, false},
    {AGGREGATION_MASKED, ENCODING_FIXED, false, false},
    {AGGREGATION_CLEAR, ENCODING_PBM, false, false},
    {AGGREGATION_CLEAR, ENCODING_FIXED, true, false},
    {AGGREGATION_CLEAR, ENCODING_FLOAT32, false, false},
    {AGGREGATION_CLEAR, ENCODING_GAUSSIAN, true, false},
    {AGGREGATION_CODED, ENCODING_PBM, false, false},
    {AGGREGATION_CODED, ENCODING_FIXED, false, false},
    {AGGREGATION_MASKED, ENCODING_PBM, false, true},
    {AGGREGATION_CODED, ENCODING_PBM, false, true},
    {AGGREGATION_CLEAR, ENCODING_FIXED, true, true},
    {AGGREGATION_CLEAR, ENCODING_FLOAT32, false, true},
    {AGGREGATION_CLEAR, ENCODING_SCALAR, false, false},
    {AGGREGATION_CLEAR, ENCODING_LATTICE, true, true},
    {AGGREGATION_CLEAR, ENCODING_E8, false, true},
    {AGGREGATION_CLEAR, ENCODING_TOPK, true, true},
};
enum { SETTINGS_N = sizeof SETTINGS / sizeof SETTINGS[0] };

static struct secagg_shape shape_of(const struct setting *s)
{
    struct plan p = generation_plan(s->encoding);
    struct secagg_shape shape;

    p.model.embedding = 1;
    p.protocol.fixed.bits = s->aggregation == AGGREGATION_CODED ? 14 : 20; /* wide lanes too */
    shape = generation_shape(&p, 3, VALUES);
    shape.concat = s->concat;
    shape.shown = s->shown;
    shape.segments = 2;
    shape.privacy = 1;
    return shape;
}

static void run_round(struct generation *g, uint64_t number, size_t n, struct rng *noise)
{
    static float x[VALUES], out[3 * VALUES], alone[VALUES], scratch[2 * VALUES];
    static uint8_t shown[3 * 8 * VALUES];
    struct secagg_round round = generation_round(g, number);
    struct error err = {0};

    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(g, m, x, n, &round, noise), STATUS_OK);
    assert_int_equal(generation_relay(g, n, &round), STATUS_OK);
    assert_int_equal(generation_combine(g, out, n, 1, &err), STATUS_OK);
    if (!g->shape.shown)
        return;
    secagg_show(g->server, shown);
    round.scratch = scratch;
    assert_true(secagg_scratch_bytes(&g->shape, n) <= sizeof scratch);
    assert_true(secagg_shown_bytes(g->aggregation, &g->shape, n) <= sizeof shown);
    secagg_alone(&g->shape, alone, x, n, &round);
    assert_int_equal(secagg_others(&g->shape, out, shown, alone, n, 1, &round, &err), STATUS_OK);
}

static void test_rounds_allocate_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++) {
        struct secagg_shape shape = shape_of(&SETTINGS[k]);
        struct generation g;
        struct rng r;
        uint64_t before;

        assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
        generation_init(&g, SETTINGS[k].aggregation, &shape, &r);
        before = mem_count();
        for (uint64_t number = 0; number < 600; number += 97) /* past the ratchet */
            run_round(&g, number, number % 2 == 0 ? VALUES : 1, &r);
        assert_true(mem_count() == before);
        generation_deinit(&g);
        rng_deinit(&r);
    }
}

/* The n-th allocation of *_new fails, for every n there is; leak checkers watch. */
static void test_any_failing_allocation_is_a_status(void **state)
{
    static const struct secagg_pair pairs[3];

    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++) {
        struct secagg_shape shape = shape_of(&SETTINGS[k]);
        struct secagg_party *party;
        struct secagg_server *server;
        enum status s;
        uint64_t n = 0;

        do {
            mem_fail_at(++n);
            s = secagg_party_new(&party, SETTINGS[k].aggregation, &shape, pairs);
            mem_fail_at(0);
            if (s != STATUS_OK) {
                assert_int_equal(s, STATUS_MEMORY);
                assert_null(party);
            }
        } while (s != STATUS_OK);
        assert_true(n > 1);
        secagg_party_free(party);
        n = 0;
        do {
            mem_fail_at(++n);
            s = secagg_server_new(&server, SETTINGS[k].aggregation, &shape);
            mem_fail_at(0);
            if (s != STATUS_OK) {
                assert_int_equal(s, STATUS_MEMORY);
                assert_null(server);
            }
        } while (s != STATUS_OK);
        assert_true(n > 2);
        secagg_server_free(server);
    }
}

static void test_nothing_can_be_freed(void **state)
{
    (void)state;
    secagg_party_free(NULL);
    secagg_server_free(NULL);
}

static void test_uploads_and_shares_have_the_sizes_that_were_announced(void **state)
{
    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++) {
        struct secagg_shape shape = shape_of(&SETTINGS[k]);
        enum plan_aggregation a = SETTINGS[k].aggregation;
        uint32_t w = secagg_width(a, &shape);

        assert_int_equal(secagg_shares(a), a == AGGREGATION_CODED);
        for (size_t n = 1; n < 70; n++) {
            size_t values = a == AGGREGATION_CODED ? (n + 1) / 2 : n;

            if (!shape.encode.compressed)
                assert_int_equal(secagg_payload_bytes(a, &shape, n), (values * w + 7) / 8);
            assert_int_equal(secagg_share_bytes(a, &shape, SECAGG_PART_ROUND, 0, n),
                             secagg_shares(a) ? 2 * ((values * w + 7) / 8) : 0);
            for (uint32_t to = 0; to < shape.parties; to++)
                assert_int_equal(secagg_relay_bytes(a, &shape, SECAGG_PART_ROUND, to, n),
                                 secagg_share_bytes(a, &shape, SECAGG_PART_ROUND, to, n));
            assert_int_equal(secagg_part_bytes(a, &shape, SECAGG_PART_KEYS, 0, 0), 0);
            assert_int_equal(secagg_part_bytes(a, &shape, SECAGG_PART_DATA, 0, n), 0);
        }
        assert_int_equal(secagg_tag_bytes(a, &shape), secagg_shares(a) ? 2 * 16 : 0);
        if (a == AGGREGATION_MASKED)
            assert_int_equal(secagg_check_bytes(a, &shape), ((64 + w - 1) / w * w + 7) / 8);
        else
            assert_int_equal(secagg_check_bytes(a, &shape), 0);
    }
}

/* What only one protocol's members or server do is a programmer's mistake in the others. */
static void relay_of(void *arg)
{
    static uint8_t bytes[8 * VALUES];
    struct generation *g = arg;
    struct secagg_round round = generation_round(g, 0);
    uint32_t faulty;

    (void)!secagg_relay(g->party[0], bytes, bytes, bytes, 1, &round, &faulty, NULL);
}

static void late_of(void *arg)
{
    static uint8_t bytes[8 * VALUES];
    struct generation *g = arg;

    (void)!secagg_late(g->server, 0, bytes, 1, NULL);
}

static void test_only_protocols_with_shares_relay_and_take_late_uploads(void **state)
{
    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++) {
        struct secagg_shape shape = shape_of(&SETTINGS[k]);
        struct generation g;
        struct rng r;

        assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
        generation_init(&g, SETTINGS[k].aggregation, &shape, &r);
        assert_int_equal(aborts(relay_of, &g), !secagg_shares(SETTINGS[k].aggregation));
        assert_int_equal(aborts(late_of, &g), !secagg_shares(SETTINGS[k].aggregation));
        generation_deinit(&g);
        rng_deinit(&r);
    }
}

static void test_masked_needs_everybody_coded_a_quorum_and_partial_anybody(void **state)
{
    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++)
        for (int partial = 0; partial < 2; partial++) {
            struct secagg_shape shape = shape_of(&SETTINGS[k]);
            struct secagg_server *server;
            enum plan_aggregation a = SETTINGS[k].aggregation;

            shape.privacy = 1;
            shape.segments = 1;
            shape.partial = partial == 1;
            shape.shown = false;
            assert_int_equal(secagg_server_new(&server, a, &shape), STATUS_OK);
            assert_int_equal(secagg_quorum(server), a == AGGREGATION_CODED              ? 2
                                                    : a == AGGREGATION_CLEAR && partial ? 1
                                                                                        : 3);
            secagg_server_free(server);
        }
}

static void test_sums_of_everybody_are_exact_unless_coded(void **state)
{
    (void)state;
    for (size_t k = 0; k < SETTINGS_N; k++) {
        struct secagg_shape shape = shape_of(&SETTINGS[k]);
        const uint8_t *faulty;
        struct generation g;
        struct rng r;
        size_t faulty_n;

        assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
        generation_init(&g, SETTINGS[k].aggregation, &shape, &r);
        run_round(&g, 0, 10, &r);
        assert_int_equal(secagg_verdict(g.server, &faulty, &faulty_n),
                         secagg_shares(g.aggregation) ? SECAGG_UNVERIFIED : SECAGG_EXACT);
        assert_int_equal(faulty_n, 0);
        generation_deinit(&g);
        rng_deinit(&r);
    }
}

struct call {
    struct generation g;
    size_t n;
    uint32_t member;
};

static void protect_n(void *arg)
{
    static float x[VALUES + 1];
    static uint8_t bytes[8 * VALUES];
    struct call *c = arg;
    struct secagg_round round = generation_round(&c->g, 0);

    (void)!secagg_protect(c->g.party[0], bytes, bytes, x, c->n, &round, NULL);
}

static void begin_n(void *arg)
{
    struct call *c = arg;

    secagg_begin(c->g.server, c->n);
}

static void add_member(void *arg)
{
    static uint8_t bytes[8 * VALUES];
    struct call *c = arg;

    secagg_begin(c->g.server, 10);
    (void)!secagg_add(c->g.server, c->member, bytes, bytes, NULL);
}

static void test_more_values_or_members_than_announced_are_a_programmers_mistake(void **state)
{
    static struct call c;
    struct secagg_shape shape = shape_of(&SETTINGS[1]);
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(&c.g, AGGREGATION_MASKED, &shape, &r);
    c.n = VALUES;
    assert_false(aborts(protect_n, &c));
    assert_false(aborts(begin_n, &c));
    c.n = VALUES + 1;
    assert_true(aborts(protect_n, &c));
    assert_true(aborts(begin_n, &c));
    c.member = 2;
    assert_false(aborts(add_member, &c));
    c.member = 3;
    assert_true(aborts(add_member, &c));
    generation_deinit(&c.g);
    rng_deinit(&r);
}

static void test_protocols_do_what_their_facts_say(void **state)
{
    static const struct secagg_ops *const ops[] = {[AGGREGATION_MASKED] = &masked_ops,
                                                   [AGGREGATION_CODED] = &coded_ops,
                                                   [AGGREGATION_FEDVS] = &fedvs_ops,
                                                   [AGGREGATION_CLEAR] = &clear_ops};

    (void)state;
    for (int a = 0; a < PLAN_AGGREGATIONS; a++) {
        const struct aggregation *row = aggregation_row((enum plan_aggregation)a);

        assert_int_equal(row->shares, ops[a]->relay != NULL && ops[a]->part_bytes != NULL);
        assert_int_equal(row->shares, ops[a]->late != NULL);
        assert_int_equal(row->deals, ops[a]->deal_keys != NULL && ops[a]->take_keys != NULL);
        assert_int_equal(row->deals, ops[a]->deal != NULL && ops[a]->take != NULL);
        assert_int_equal(row->polynomial, ops[a]->show == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_allocate_nothing),
        cmocka_unit_test(test_any_failing_allocation_is_a_status),
        cmocka_unit_test(test_nothing_can_be_freed),
        cmocka_unit_test(test_uploads_and_shares_have_the_sizes_that_were_announced),
        cmocka_unit_test(test_only_protocols_with_shares_relay_and_take_late_uploads),
        cmocka_unit_test(test_masked_needs_everybody_coded_a_quorum_and_partial_anybody),
        cmocka_unit_test(test_sums_of_everybody_are_exact_unless_coded),
        cmocka_unit_test(test_more_values_or_members_than_announced_are_a_programmers_mistake),
        cmocka_unit_test(test_protocols_do_what_their_facts_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
