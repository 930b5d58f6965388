/* test_masking.c -- a whole upload: values, noise and keys are secret, and nothing tells of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/valgrind/secrets.h"

#include "common/base/mem.h"
#include "common/crypto/kex.h"
#include "common/crypto/rng.h"
#include "common/field/fp31.h"
#include "common/flow/agree.h"
#include "common/secagg/secagg.h"
#include "common/secagg/zero.h"

#include <string.h>

enum { N = 701, PARTIES = 4, ROUNDS = 2, SELF = 1 };

static float x[N];
static struct secagg_pair pairs[PARTIES];
static struct rng noise;
static const uint8_t sid[32] = {1}, broadcast[32] = {2};

static int hide_all(void **state)
{
    uint8_t key[RNG_KEY_BYTES];

    memset(key, 5, sizeof key);
    hide(key, sizeof key);
    memset(pairs, 7, sizeof pairs);
    hide(pairs, sizeof pairs);
    for (size_t i = 0; i < N; i++)
        x[i] = 0.005F * (float)i - 1.5F;
    hide(x, sizeof x);
    if (rng_init_key(&noise, key) != STATUS_OK)
        return -1;
    return watched(state);
}

static int forget(void **state)
{
    (void)state;
    rng_deinit(&noise);
    return 0;
}

static struct secagg_shape shape_of(enum plan_encoding encoding, uint32_t bits)
{
    struct secagg_shape s = {
        .parties = PARTIES, .self = SELF, .values_max = N, .segments = 2, .privacy = 1};
    struct plan p;

    plan_defaults(&p);
    p.protocol.encoding = encoding;
    p.protocol.fixed.bits = bits;
    p.protocol.pbm.trials = 30;
    assert_int_equal(encode_init(&s.encode, &p, PARTIES), STATUS_OK);
    return s;
}

/* The second round is beyond a step of the ratchet. */
static void upload(enum plan_aggregation a, const struct secagg_shape *s)
{
    const size_t bytes = secagg_shares(a) ? secagg_share_bytes(a, s, SECAGG_PART_ROUND, SELF, N)
                                          : secagg_payload_bytes(a, s, N);
    const size_t checks = secagg_shares(a) ? secagg_tag_bytes(a, s) : secagg_check_bytes(a, s);
    uint8_t *payload = mem_alloc(bytes + 64, 1), *check = mem_alloc(checks + 64, 1);
    struct secagg_party *p = NULL;
    enum status st;

    BRANCH_FREE(st = secagg_party_new(&p, a, s, pairs));
    assert_int_equal(st, STATUS_OK);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct secagg_round r = {
            .sid = sid, .broadcast = broadcast, .purpose = 1, .round = 3 + 300 * i};

        show(payload, bytes);
        BRANCH_FREE(st = secagg_protect(p, payload, check, x, N, &r, &noise));
        assert_int_equal(st, STATUS_OK);
        assert_true(is_secret(payload, bytes));
    }
    BRANCH_FREE(secagg_party_free(p));
    mem_free(payload);
    mem_free(check);
}

static void test_masks_and_noise(void **state)
{
    struct secagg_shape s = shape_of(ENCODING_PBM, 0);

    (void)state;
    upload(AGGREGATION_MASKED, &s);
}

static void test_masks_of_narrow_and_wide_lanes(void **state)
{
    static const uint32_t bits[] = {1, 8, 12, 20};

    (void)state;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        struct secagg_shape s = shape_of(ENCODING_FIXED, bits[i]);

        upload(AGGREGATION_MASKED, &s);
    }
}

static void test_sealed_shares_of_codes(void **state)
{
    struct secagg_shape s = shape_of(ENCODING_PBM, 0);

    (void)state;
    upload(AGGREGATION_CODED, &s);
}

static void test_shares_of_zero(void **state)
{
    static const struct field *const fields[] = {&field_31, &field_61};
    static uint64_t sums[N];

    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct zero_shape shape = {fields[i], 5, 0, 1, 2};
        struct secagg_round r = {.sid = sid, .broadcast = broadcast, .purpose = 1, .round = 3};
        struct zero z;

        assert_int_equal(zero_init(&z, &shape), STATUS_OK);
        BRANCH_FREE(zero_draw(&z, &noise));
        BRANCH_FREE(assert_int_equal(zero_begin(&z, &r), STATUS_OK));
        memset(sums, 0, sizeof sums);
        BRANCH_FREE(zero_add(&z, sums, N));
        assert_true(is_secret(sums, N * fields[i]->bytes));
        BRANCH_FREE(zero_deinit(&z));
    }
}

/* Masks as one would add them first: a branch where the sum wraps. */
__attribute__((noinline)) static void mask_and_branch(uint32_t *lanes, const uint32_t *words,
                                                      size_t n)
{
    volatile uint32_t *out = lanes;

    for (size_t i = 0; i < n; i++) {
        out[i] = lanes[i] + (words[i] & 0xfff);
        if (out[i] > 0xfff)
            out[i] -= 0x1000;
    }
}

static void test_a_mask_that_wraps_by_a_branch_is_seen(void **state)
{
    uint32_t lanes[N], words[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        lanes[i] = 0x800; /* so that some wrap */
    BRANCH_FREE(rng_fill(&noise, words, sizeof words));
    BRANCHES(mask_and_branch(lanes, words, N));
}

/* Rejection without its mark: what is kept is not told apart from what nobody keeps. */
__attribute__((noinline)) static size_t keep_below(uint32_t *out, const uint32_t *words, size_t n,
                                                   uint32_t p)
{
    volatile size_t made = 0;

    for (size_t i = 0; i < n; i++)
        if ((words[i] & 0x7fffffff) < p)
            out[made++] = words[i] & 0x7fffffff;
    return made;
}

static void test_rejection_that_is_not_let_go_is_seen(void **state)
{
    uint32_t words[N], out[N];

    (void)state;
    BRANCH_FREE(rng_fill(&noise, words, sizeof words));
    BRANCHES((void)keep_below(out, words, N, FP31_P));
}

/* Nor does anything tell that a value is not finite. */
static void test_a_value_that_is_not_finite_takes_no_branch_of_its_own(void **state)
{
    struct secagg_shape s = shape_of(ENCODING_FIXED, 8);
    struct secagg_round r = {.sid = sid, .broadcast = broadcast, .purpose = 1, .round = 3};
    struct secagg_party *p;
    uint8_t payload[4 * N], check[64];
    const float nan = 0.0F / (float)(payload[0] = 0);
    enum status st;

    (void)state;
    x[N / 2] = nan;
    hide(x, sizeof x);
    assert_int_equal(secagg_party_new(&p, AGGREGATION_MASKED, &s, pairs), STATUS_OK);
    BRANCH_FREE(st = secagg_protect(p, payload, check, x, N, &r, &noise));
    assert_int_equal(st, STATUS_OK);
    secagg_party_free(p);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup_teardown(law, hide_all, forget)
    static const struct CMUnitTest tests[] = {
        TEST(test_masks_and_noise),
        TEST(test_masks_of_narrow_and_wide_lanes),
        TEST(test_sealed_shares_of_codes),
        TEST(test_shares_of_zero),
        TEST(test_a_mask_that_wraps_by_a_branch_is_seen),
        TEST(test_rejection_that_is_not_let_go_is_seen),
        TEST(test_a_value_that_is_not_finite_takes_no_branch_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
