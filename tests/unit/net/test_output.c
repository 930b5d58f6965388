/* test_output.c -- what goes out, what it costs, and peers that do not read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/output.h"

#include "common/base/mem.h"
#include "tests/unit/net/world.h"

enum { SHORT_MS = 30, RECORD_OVERHEAD = 5 + 1 + 16, MIB = 1 << 20 };

static void test_traffic_is_what_went_over_the_socket(void **state)
{
    struct world *w = connected(echo_by_server);
    struct end *client = &w->client_ends[0];
    const struct net_traffic *up = net_conn_traffic(client->conn);
    const struct net_traffic *down = net_conn_traffic(w->server_ends[0].conn);
    uint64_t before = up->tls_out, records = up->records_out;
    uint8_t *bytes = pattern(6400);

    (void)state;
    assert_true(before > 500); /* a certificate, at least */
    assert_int_equal(net_send(client->conn, bytes, 6400), STATUS_OK);
    assert_int_equal(up->tls_out - before, 6400 + FRAME_HEAD + RECORD_OVERHEAD);
    assert_int_equal(up->records_out - records, 1);
    world_until_count(w, &client->frames, 1);
    assert_int_equal(up->tls_out, down->tls_in);
    assert_int_equal(up->tls_in, down->tls_out);
    assert_int_equal(up->records_out, down->records_in);
    assert_int_equal(up->records_in, down->records_out);
    free(bytes);
    world_free(w);
}

static void test_round_trips_after_the_first_allocate_nothing(void **state)
{
    enum { ROUNDS = 50 };
    struct world *w = connected(echo_by_server);
    struct end *client = &w->client_ends[0];
    uint8_t *bytes = pattern(40000);
    uint64_t before = 0;

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        if (i == 1)
            before = mem_count();
        assert_int_equal(net_send(client->conn, bytes, 40000), STATUS_OK);
        world_until_count(w, &client->frames, i + 1);
    }
    assert_int_equal(mem_count(), before);
    free(bytes);
    world_free(w);
}

static enum status flood_result;
static size_t flooded;

static void flood(struct end *e)
{
    enum { ENOUGH = 200 };
    uint8_t *bytes = pattern(MIB / 4);

    net_conn_accept(e->conn, WORLD_FRAME_MAX);
    net_conn_set_queue_max(e->conn, MIB);
    flood_result = STATUS_OK;
    for (flooded = 0; flood_result == STATUS_OK && flooded < ENOUGH; flooded++)
        flood_result = net_send(e->conn, bytes, MIB / 4);
    free(bytes);
}

static void test_queue_of_a_deaf_peer_is_bounded(void **state)
{
    struct test_peer peer = rogue(NULL, 0);
    struct error err;

    (void)state;
    peer.deaf = true;
    err = end_of(server_tls, &peer, flood, NULL);
    assert_int_equal(flood_result, STATUS_LIMIT);
    assert_says(&err, STATUS_LIMIT, "peer does not read");
}

/* Sends until the queue is over its limit, but not over twice the limit. */
static void overfill(struct end *e)
{
    uint8_t *bytes = pattern(MIB / 4);

    net_conn_set_queue_max(e->conn, MIB);
    while (e->conn->flying.len + e->conn->waiting.len <= MIB)
        assert_int_equal(net_send(e->conn, bytes, MIB / 4), STATUS_OK);
    free(bytes);
}

static void test_deaf_peer_is_dropped_in_time(void **state)
{
    struct test_peer peer = rogue(NULL, 0);
    struct error err;

    (void)state;
    tls_context_limits(server_tls)->write_stuck_ms = SHORT_MS;
    peer.deaf = true;
    err = end_of(server_tls, &peer, overfill, NULL);
    assert_says(&err, STATUS_NET, "peer does not read");
}

static size_t overfilled;

static void overfill_and_finish(struct end *e)
{
    uint8_t *bytes = pattern(MIB / 4);

    overfilled = 0;
    net_conn_set_queue_max(e->conn, MIB);
    while (e->conn->flying.len + e->conn->waiting.len <= MIB) {
        assert_int_equal(net_send(e->conn, bytes, MIB / 4), STATUS_OK);
        overfilled += FRAME_HEAD + MIB / 4;
    }
    free(bytes);
    net_conn_close(e->conn, true);
}

static void test_peer_that_reads_late_gets_everything(void **state)
{
    struct world *w = world_new(server_tls, NULL);
    struct test_peer peer = rogue(NULL, 0);

    (void)state;
    w->on_open = overfill_and_finish;
    peer.deaf = true;
    peer.port = world_port(w);
    test_peer_start(&peer);
    world_until(w, &w->server_ends[0].opened);
    assert_false(w->server_ends[0].closed);
    test_peer_release(&peer);
    world_until(w, &w->server_ends[0].closed);
    test_peer_join(&peer);
    assert_string_equal(w->server_ends[0].err.text, "");
    assert_int_equal(peer.received, overfilled);
    assert_false(peer.reset);
    world_free(w);
}

static void test_flush_does_not_wait_for_ever(void **state)
{
    struct test_peer peer = rogue(NULL, 0);
    struct error err;

    (void)state;
    tls_context_limits(server_tls)->write_stuck_ms = SHORT_MS;
    peer.deaf = true;
    err = end_of(server_tls, &peer, overfill_and_finish, NULL);
    assert_says(&err, STATUS_NET, "did not take the last");
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_traffic_is_what_went_over_the_socket),
        TEST(test_round_trips_after_the_first_allocate_nothing),
        TEST(test_queue_of_a_deaf_peer_is_bounded),
        TEST(test_deaf_peer_is_dropped_in_time),
        TEST(test_peer_that_reads_late_gets_everything),
        TEST(test_flush_does_not_wait_for_ever),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
