/* test_coded_wiped.c -- what a member shared is nowhere in its memory once it was relayed.
 *
 * The whole process is searched (needle.h) for codes and for shares that the test knows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/crypto/secret.h"
#include "common/secagg/share.h"
#include "tests/unit/secagg/generation.h"
#include "tests/unit/secagg/needle.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* One chunk of columns, whose beginning would be found. */
enum { N = 2000, CODE = 777 };

static const uint8_t SEED[32] = "wiped";

/* Codes in lanes of so many bytes. */
static struct needle codes(size_t lane)
{
    struct needle x;

    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        x.inverted[i] = (uint8_t) ~(i % lane == 0 ? CODE & 0xff : i % lane == 1 ? CODE >> 8 : 0);
    return x;
}

static void start(struct generation *g)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape s = generation_shape(&p, 3, N);
    struct rng r;

    s.segments = 2;
    s.privacy = 1;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, AGGREGATION_CODED, &s, &r);
    rng_deinit(&r);
}

static void protect_all(struct generation *g, const struct secagg_round *round)
{
    static float x[N];

    for (size_t i = 0; i < N; i++)
        x[i] = generation_value(&g->shape, CODE);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(g, m, x, N, round, NULL), STATUS_OK);
}

/* The share that member 2 made for member 0, packed; and the same in lanes of 16 bits. */
static void share_of_two(struct generation *g, const struct secagg_round *round,
                         struct needle *packed, struct needle *lanes)
{
    static uint8_t text[2 * N];
    static uint16_t v[N];
    const uint32_t w = secagg_width(AGGREGATION_CODED, &g->shape);
    const size_t part = secagg_payload_bytes(AGGREGATION_CODED, &g->shape, N);
    struct share_keys keys;

    assert_int_equal(share_init(&keys, 3, 0, g->pairs[0]), STATUS_OK);
    assert_int_equal(share_begin(&keys, round), STATUS_OK);
    assert_true(share_open(&keys, 2, text, g->share[2], part, g->tag[2]));
    share_deinit(&keys);
    bits_unpack16(v, text, N / 2, w);
    for (size_t i = 0; i < NEEDLE_BYTES; i++) {
        packed->inverted[i] = (uint8_t)~text[i];
        lanes->inverted[i] = (uint8_t) ~((const uint8_t *)v)[i];
    }
    secret_wipe(text, sizeof text);
    secret_wipe(v, sizeof v);
}

static void test_the_search_finds_what_lies_about(void **state)
{
    uint16_t *lanes = mem_alloc(N, sizeof *lanes);
    const struct needle x = codes(sizeof *lanes);

    (void)state;
    assert_int_equal(needle_count(&x), 0);
    for (size_t i = 0; i < NEEDLE_BYTES / 2; i++)
        lanes[1234 + i] = CODE;
    assert_int_equal(needle_count(&x), 1);
    secret_wipe(lanes, N * sizeof *lanes);
    assert_int_equal(needle_count(&x), 0);
    mem_free(lanes);
}

/* Without optimisation a compiler leaves copies in frames, which nobody here can wipe. */
static void skip_unless_optimised(void)
{
#ifndef __OPTIMIZE__
    skip();
#endif
}

static void test_no_code_is_left_when_it_was_shared(void **state)
{
    const struct needle narrow = codes(2), wide = codes(4);
    struct secagg_round round;
    struct generation g;

    (void)state;
    skip_unless_optimised();
    start(&g);
    round = generation_round(&g, 0);
    protect_all(&g, &round);
    assert_int_equal(needle_count(&narrow), 0);
    assert_int_equal(needle_count(&wide), 0);
    generation_deinit(&g);
}

static void test_no_share_is_left_when_it_was_sealed_or_relayed(void **state)
{
    struct needle packed, lanes, upload;
    struct secagg_round round;
    struct generation g;
    uint16_t v[NEEDLE_BYTES / 2];

    (void)state;
    skip_unless_optimised();
    start(&g);
    round = generation_round(&g, 0);
    protect_all(&g, &round);
    share_of_two(&g, &round, &packed, &lanes);
    for (int relayed = 0; relayed < 2; relayed++) {
        if (relayed > 0)
            assert_int_equal(generation_relay(&g, N, &round), STATUS_OK);
        assert_int_equal(needle_count(&packed), 0);
        assert_int_equal(needle_count(&lanes), 0);
    }
    bits_unpack16(v, g.payload[0], NEEDLE_BYTES / 2, secagg_width(AGGREGATION_CODED, &g.shape));
    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        upload.inverted[i] = (uint8_t) ~((const uint8_t *)v)[i];
    assert_int_equal(needle_count(&upload), 1); /* v */
    generation_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_search_finds_what_lies_about),
        cmocka_unit_test(test_no_code_is_left_when_it_was_shared),
        cmocka_unit_test(test_no_share_is_left_when_it_was_sealed_or_relayed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
