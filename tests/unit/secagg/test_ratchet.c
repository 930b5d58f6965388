/* test_ratchet.c -- keys move forward with the rounds and never back.
 *
 * That the steps are those of HKDF-Expand is seen against an independent generator in test_mask.c
 * and test_share.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/ratchet.h"

#include "common/base/mem.h"
#include "tests/lib/openssl_mem.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PARTIES = 3, SELF = 1 };

static void start(struct ratchet *k)
{
    assert_int_equal(ratchet_init(k, PARTIES, SELF), STATUS_OK);
    for (uint32_t j = 0; j < PARTIES; j++)
        memset(k->key[j], (int)(j + 1), SECAGG_KEY_BYTES);
}

static bool turns(struct ratchet *k, uint64_t round)
{
    bool turned;

    assert_int_equal(ratchet_begin(k, round, &turned), STATUS_OK);
    return turned;
}

static void expect_refused(struct ratchet *k, uint64_t round)
{
    uint8_t key[PARTIES][SECAGG_KEY_BYTES];
    const uint64_t epoch = k->epoch, last = k->last_round;
    bool turned = true;

    memcpy(key, k->key, sizeof key);
    assert_int_equal(ratchet_begin(k, round, &turned), STATUS_PROTOCOL);
    assert_false(turned);
    assert_memory_equal(key, k->key, sizeof key);
    assert_true(k->epoch == epoch && k->last_round == last);
}

static void test_keys_change_at_every_256th_round_and_only_there(void **state)
{
    uint8_t seen[5][SECAGG_KEY_BYTES], other[SECAGG_KEY_BYTES];
    struct ratchet k;
    size_t n = 0;

    (void)state;
    start(&k);
    memcpy(seen[n++], k.key[0], SECAGG_KEY_BYTES);
    for (uint64_t round = 0; round < 1024; round++) {
        bool turned;

        memcpy(other, k.key[2], sizeof other);
        turned = turns(&k, round);
        assert_int_equal(turned, round > 0 && round % 256 == 0);
        assert_int_equal(memcmp(other, k.key[2], sizeof other) != 0, turned);
        if (turned)
            memcpy(seen[n++], k.key[0], SECAGG_KEY_BYTES);
        assert_memory_equal(k.key[0], seen[n - 1], SECAGG_KEY_BYTES);
        assert_memory_not_equal(k.key[0], k.key[2], SECAGG_KEY_BYTES);
    }
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(seen[i], seen[j], SECAGG_KEY_BYTES);
    ratchet_deinit(&k);
}

static void test_a_jump_leads_where_all_steps_lead(void **state)
{
    struct ratchet steps, jump;

    (void)state;
    start(&steps);
    start(&jump);
    for (uint64_t round = 0; round <= 2000; round += 50)
        (void)turns(&steps, round);
    assert_true(turns(&jump, 1999));
    for (uint32_t j = 0; j < PARTIES; j++)
        assert_memory_equal(steps.key[j], jump.key[j], SECAGG_KEY_BYTES);
    ratchet_deinit(&steps);
    ratchet_deinit(&jump);
}

static void test_a_round_that_does_not_grow_is_refused_and_changes_nothing(void **state)
{
    struct ratchet k;

    (void)state;
    start(&k);
    assert_false(turns(&k, 0)); /* the first may be any */
    expect_refused(&k, 0);
    assert_true(turns(&k, 300));
    expect_refused(&k, 300);
    expect_refused(&k, 299);
    expect_refused(&k, 0);
    assert_false(turns(&k, 301));
    ratchet_deinit(&k);
}

static void test_a_jump_beyond_the_bound_is_refused_and_changes_nothing(void **state)
{
    struct ratchet k;

    (void)state;
    start(&k);
    assert_false(turns(&k, 255));
    expect_refused(&k, ((uint64_t)SECAGG_RATCHET_STEPS_MAX + 1) * SECAGG_RATCHET_ROUNDS);
    expect_refused(&k, UINT64_MAX);
    assert_true(turns(&k, 256));
    ratchet_deinit(&k);
}

static void test_no_memory_is_a_status_and_nothing_can_be_ended(void **state)
{
    struct ratchet k;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(ratchet_init(&k, PARTIES, SELF), STATUS_MEMORY);
    mem_fail_at(0);
    ratchet_deinit(&k);
    ratchet_deinit(&k);
}

/* Wherever it fails, some keys would have moved and others not: none is left to be used. */
static void test_a_step_that_fails_leaves_no_key_and_no_way_back(void **state)
{
    static const uint8_t none[PARTIES][SECAGG_KEY_BYTES];
    enum status s = STATUS_CRYPTO;
    uint64_t n = 1;

    (void)state;
    for (; s != STATUS_OK || openssl_mem_fail_left() == 0; n++) {
        struct ratchet k;
        bool turned = true;

        start(&k);
        assert_false(turns(&k, 255));
        openssl_mem_fail_at(n);
        s = ratchet_begin(&k, 700, &turned);
        if (s != STATUS_OK) {
            assert_int_equal(s, STATUS_CRYPTO);
            assert_false(turned);
            assert_memory_equal(k.key, none, sizeof none);
            openssl_mem_fail_at(0);
            assert_int_equal(ratchet_begin(&k, 700, &turned), STATUS_CRYPTO);
            assert_int_equal(ratchet_begin(&k, 701, &turned), STATUS_CRYPTO);
            assert_memory_equal(k.key, none, sizeof none);
        }
        ratchet_deinit(&k);
    }
    openssl_mem_fail_at(0);
    assert_true(n > 4); /* two steps of two keys */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_change_at_every_256th_round_and_only_there),
        cmocka_unit_test(test_a_jump_leads_where_all_steps_lead),
        cmocka_unit_test(test_a_round_that_does_not_grow_is_refused_and_changes_nothing),
        cmocka_unit_test(test_a_jump_beyond_the_bound_is_refused_and_changes_nothing),
        cmocka_unit_test(test_no_memory_is_a_status_and_nothing_can_be_ended),
        cmocka_unit_test(test_a_step_that_fails_leaves_no_key_and_no_way_back),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
