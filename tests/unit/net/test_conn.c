/* test_conn.c -- frames over a live connection, and its end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/conn.h"

#include "common/base/mem.h"
#include "tests/unit/net/world.h"

enum { MIB = 1 << 20 };

static void test_frames_of_all_sizes_go_both_ways(void **state)
{
    static const size_t sizes[] = {1,     2,     4095,  4096,      16379,   16380, 16381,
                                   16384, 32764, 65532, 65536 + 1, 3 << 16, MIB};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    struct world *w = connected(echo_by_server);
    struct end *client = &w->client_ends[0], *server = &w->server_ends[0];
    uint8_t *bytes = pattern(MIB);
    uint64_t sum = 0;
    size_t total = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(net_send(client->conn, bytes, sizes[i]), STATUS_OK);
        total += sizes[i];
        for (size_t j = 0; j < sizes[i]; j++)
            sum += bytes[j];
        world_until_count(w, &client->frames, i + 1);
    }
    assert_int_equal(server->frames, COUNT);
    assert_int_equal(server->bytes, total);
    assert_int_equal(client->bytes, total);
    assert_int_equal(server->sum, sum);
    assert_int_equal(client->sum, sum);
    free(bytes);
    world_free(w);
}

static void test_many_frames_in_a_burst_keep_their_order(void **state)
{
    enum { COUNT = 500 };
    struct world *w = connected(echo_by_server);
    struct end *client = &w->client_ends[0];
    uint8_t bytes[300];
    size_t total = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        memset(bytes, (int)i, sizeof bytes);
        assert_int_equal(net_send(client->conn, bytes, 1 + i % sizeof bytes), STATUS_OK);
        total += 1 + i % sizeof bytes;
    }
    world_until_count(w, &client->frames, COUNT);
    assert_int_equal(client->bytes, total);
    world_free(w);
}

static void test_close_with_flush_delivers_everything(void **state)
{
    enum { COUNT = 5 };
    struct world *w = connected(NULL);
    struct end *client = &w->client_ends[0], *server = &w->server_ends[0];
    uint8_t *bytes = pattern(MIB);

    (void)state;
    net_conn_set_queue_max(client->conn, COUNT * MIB);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(net_send(client->conn, bytes, MIB), STATUS_OK);
    net_conn_close(client->conn, true);
    assert_int_equal(net_send(client->conn, bytes, 1), STATUS_NET);
    world_until(w, &client->closed);
    world_until(w, &server->closed);
    assert_string_equal(client->err.text, "");
    assert_int_equal(server->frames, COUNT);
    assert_says(&server->err, STATUS_NET, "peer closed the connection");
    free(bytes);
    world_free(w);
}

static void test_both_ends_may_flush_at_once(void **state)
{
    struct world *w = connected(NULL);
    struct end *client = &w->client_ends[0], *server = &w->server_ends[0];

    (void)state;
    net_conn_close(client->conn, true);
    net_conn_close(server->conn, true);
    world_until(w, &client->closed);
    world_until(w, &server->closed);
    assert_int_equal(client->err.status, STATUS_OK);
    assert_int_equal(server->err.status, STATUS_OK);
    world_free(w);
}

static void close_at_once(struct end *e, uint8_t *bytes, size_t n)
{
    (void)bytes, (void)n;
    net_conn_close(e->conn, false);
}

static void test_close_in_on_frame_is_the_last_event_but_on_close(void **state)
{
    struct test_peer peer = rogue("\0\0\0\1a\0\0\0\1b\0\0\0\1c", 15);
    struct world *w = world_new(server_tls, NULL);

    (void)state;
    w->on_frame = close_at_once;
    peer.port = world_port(w);
    test_peer_start(&peer);
    world_until_count(w, &w->server_closed, 1);
    test_peer_join(&peer);
    assert_int_equal(w->server_ends[0].frames, 1);
    assert_int_equal(w->server_ends[0].err.status, STATUS_OK);
    world_free(w);
}

static void close_on_open(struct end *e)
{
    net_conn_close(e->conn, false);
}

static void test_close_in_on_open_is_allowed(void **state)
{
    struct test_peer peer = rogue("\0\0\0\1a", 5);
    size_t frames;
    struct error err = end_of(server_tls, &peer, close_on_open, &frames);

    (void)state;
    assert_int_equal(err.status, STATUS_OK);
    assert_int_equal(frames, 0);
}

/* One exchange; returns whether it came to its end. */
static bool exchange(void)
{
    struct world *w = world_new(server_tls, NULL);
    struct end *client = &w->client_ends[w->clients];
    uint8_t bytes[20000] = {1};
    struct error err = {0};
    bool done = false;

    w->client_tls = client_tls;
    w->on_open = accept_peer;
    client->world = w;
    if (net_dial(&client->conn,
                 &(struct net_side){&w->loop, client_tls, &world_client_events, client},
                 net_listener_address(w->listener), "server", &err) != STATUS_OK) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        world_free(w);
        return false;
    }
    w->clients++;
    world_be_patient(w);
    while (!client->opened && !client->closed)
        uv_run(&w->loop, UV_RUN_ONCE);
    if (client->opened && !client->closed &&
        net_send(client->conn, bytes, sizeof bytes) == STATUS_OK)
        while (!client->closed && w->server_ends[0].frames == 0)
            uv_run(&w->loop, UV_RUN_ONCE);
    done = w->server_ends[0].frames == 1;
    world_free(w);
    return done;
}

static void test_every_failed_allocation_costs_one_connection_at_most(void **state)
{
    enum { MANY = 100 };
    uint64_t n, before;

    (void)state;
    before = mem_count();
    assert_true(exchange());
    n = mem_count() - before;
    assert_true(n > 5 && n < MANY);
    /* The first allocation is the listener's, which world_new insists on. */
    for (uint64_t i = 2; i <= n; i++) {
        mem_fail_at(i);
        (void)exchange();
        mem_fail_at(0);
    }
    assert_true(exchange());
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_frames_of_all_sizes_go_both_ways),
        TEST(test_many_frames_in_a_burst_keep_their_order),
        TEST(test_close_with_flush_delivers_everything),
        TEST(test_both_ends_may_flush_at_once),
        TEST(test_close_in_on_frame_is_the_last_event_but_on_close),
        TEST(test_close_in_on_open_is_allowed),
        TEST(test_every_failed_allocation_costs_one_connection_at_most),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
