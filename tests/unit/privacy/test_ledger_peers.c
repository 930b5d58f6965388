/* test_ledger_peers.c -- the highest number of a peer is remembered, and forgotten by order alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_peers.h"

#include "common/privacy/ledger_inside.h"

#include "tests/unit/privacy/ledgers.h"

static const uint8_t *key(unsigned i)
{
    static uint8_t bytes[LEDGER_DIGEST_BYTES];

    memset(bytes, 0x5a, sizeof bytes);
    memcpy(bytes + 28, &i, 4);
    return bytes;
}

static void see(struct ledger *l, unsigned i, uint64_t number)
{
    struct error err = {0};

    if (ledger_see(l, key(i), number, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void keep(struct ledger *l)
{
    struct error err = {0};

    if (ledger_keep(l, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void test_the_highest_number_is_remembered(void **state)
{
    const char *path = scratch_path("peers.db");
    struct ledger *l = open_at(path);

    (void)state;
    assert_int_equal(ledger_seen(l, key(1)), 0);
    see(l, 1, 5);
    see(l, 2, 7);
    see(l, 1, 4);
    assert_int_equal(ledger_seen(l, key(1)), 5);
    keep(l);
    see(l, 1, 812);
    see(l, 2, 7);
    see(l, 3, LEDGER_NUMBER_MAX);
    keep(l);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_seen(l, key(1)), 812);
    assert_int_equal(ledger_seen(l, key(2)), 7);
    assert_true(ledger_seen(l, key(3)) == LEDGER_NUMBER_MAX);
    assert_int_equal(ledger_seen(l, key(4)), 0);
    assert_int_equal(ledger_sequence(l), 0); /* that is its own */
    ledger_close(l);
}

static void test_what_is_not_kept_is_not_there_later(void **state)
{
    const char *path = scratch_path("unkept.db");
    struct ledger *l = open_at(path);

    (void)state;
    see(l, 1, 5);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_seen(l, key(1)), 0);
    ledger_close(l);
}

static void test_a_block_keeps_what_was_seen_in_its_own_commit(void **state)
{
    const char *path = scratch_path("with.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    see(l, 1, 5);
    reserve(l, LEDGER_TRAIN, slots, 10);
    see(l, 1, 6);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, 10), 1, 0, &err), STATUS_BUDGET);
    see(l, 2, 9);
    assert_int_equal(give_back(l, block(LEDGER_TRAIN, slots, 10), &err), STATUS_OK);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_seen(l, key(1)), 6);
    assert_int_equal(ledger_seen(l, key(2)), 9);
    mem_free(slots);
    ledger_close(l);
}

static void test_what_a_refused_block_saw_can_still_be_kept(void **state)
{
    const char *path = scratch_path("refused.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    see(l, 1, 6);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, 10), 0, 1, &err), STATUS_BUDGET);
    keep(l);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_seen(l, key(1)), 6);
    mem_free(slots);
    ledger_close(l);
}

static void test_one_is_forgotten_and_no_other(void **state)
{
    const char *path = scratch_path("forget.db");
    struct ledger *l = open_at(path);
    struct error err = {0};

    (void)state;
    for (unsigned i = 0; i < 300; i++)
        see(l, i, i + 1);
    keep(l);
    assert_int_equal(ledger_forget(l, key(7), &err), STATUS_OK);
    assert_int_equal(ledger_forget(l, key(7), &err), STATUS_OK); /* there is no such one now */
    assert_int_equal(ledger_forget(l, key(299), &err), STATUS_OK);
    for (int again = 0; again < 2; again++) {
        for (unsigned i = 0; i < 300; i++)
            assert_int_equal(ledger_seen(l, key(i)), i == 7 || i == 299 ? 0 : i + 1);
        ledger_close(l);
        l = open_at(path);
    }
    see(l, 7, 3); /* and seen again, lower */
    keep(l);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_seen(l, key(7)), 3);
    ledger_close(l);
}

static void test_no_memory_for_a_peer_is_said_and_changes_nothing(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct error err = {0};

    (void)state;
    mem_fail_at(1);
    assert_int_equal(ledger_see(l, key(1), 5, &err), STATUS_MEMORY);
    mem_fail_at(0);
    assert_non_null(strstr(err.text, "out of memory"));
    assert_int_equal(ledger_seen(l, key(1)), 0);
    see(l, 1, 5);
    assert_int_equal(ledger_seen(l, key(1)), 5);
    ledger_close(l);
}

/* And says so, not that memory was short; whom it knows it goes on to see. */
static void test_a_full_list_of_peers_is_told_by_its_limit(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct ledger_peer *peer = mem_alloc(LEDGER_PEERS_MAX, sizeof *peer);
    struct error err = {0};

    (void)state;
    assert_non_null(peer);
    for (size_t i = 0; i < LEDGER_PEERS_MAX; i++)
        memcpy(peer[i].key, (uint16_t[]){(uint16_t)i}, sizeof(uint16_t));
    l->peers = (struct ledger_peers){.peer = peer, .n = LEDGER_PEERS_MAX, .max = LEDGER_PEERS_MAX};
    memset(err.text, 0, sizeof err.text);
    assert_int_equal(ledger_see(l, key(1), 5, &err), STATUS_BUDGET);
    assert_non_null(strstr(err.text, "the ledgers of 65536 peers and remembers no further one"));
    assert_null(strstr(err.text, "out of memory"));
    assert_int_equal(ledger_see(l, peer[7].key, 5, &err), STATUS_OK);
    assert_int_equal(ledger_seen(l, peer[7].key), 5);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_highest_number_is_remembered),
        cmocka_unit_test(test_a_full_list_of_peers_is_told_by_its_limit),
        cmocka_unit_test(test_what_is_not_kept_is_not_there_later),
        cmocka_unit_test(test_a_block_keeps_what_was_seen_in_its_own_commit),
        cmocka_unit_test(test_what_a_refused_block_saw_can_still_be_kept),
        cmocka_unit_test(test_one_is_forgotten_and_no_other),
        cmocka_unit_test(test_no_memory_for_a_peer_is_said_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
