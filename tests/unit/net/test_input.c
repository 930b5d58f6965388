/* test_input.c -- what a peer may send, how slowly, and pauses.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/input.h"

#include "tests/unit/net/world.h"

enum { SHORT_MS = 30 };

static void test_two_gibibytes_announced_are_refused(void **state)
{
    struct test_peer peer = rogue("\x80\0\0\0....", 8);
    struct error err = end_of(server_tls, &peer, accept_peer, NULL);

    (void)state;
    assert_says(&err, STATUS_LIMIT, "over the limit (2147483648 > 2097152)");
}

static void test_unaccepted_peer_is_held_to_small_frames(void **state)
{
    uint8_t bytes[FRAME_HEAD + NET_FRAME_PREAUTH_MAX + 1] = {0};
    struct test_peer small = rogue(bytes, sizeof bytes - 1), large = rogue(bytes, sizeof bytes);
    struct error err;
    size_t frames;

    (void)state;
    small.hang_up = true;
    frame_head_pack(bytes, NET_FRAME_PREAUTH_MAX);
    err = end_of(server_tls, &small, NULL, &frames);
    assert_int_equal(err.status, STATUS_NET);
    assert_int_equal(frames, 1);
    frame_head_pack(bytes, NET_FRAME_PREAUTH_MAX + 1);
    err = end_of(server_tls, &large, NULL, &frames);
    assert_says(&err, STATUS_LIMIT, "over the limit (4097 > 4096)");
    assert_int_equal(frames, 0);
}

static void test_frame_of_no_bytes_ends_the_connection(void **state)
{
    struct test_peer peer = rogue("\0\0\0\0", 4);
    struct error err = end_of(server_tls, &peer, accept_peer, NULL);

    (void)state;
    assert_says(&err, STATUS_PROTOCOL, "no bytes");
}

static void test_unfinished_handshake_is_dropped(void **state)
{
    struct test_peer silent = {.silent = true};
    struct test_peer begun = {.plain = true, .bytes = "\x16\x03\x01\x02", .n = 4};
    struct error err;

    (void)state;
    tls_context_limits(server_tls)->handshake_ms = SHORT_MS;
    err = end_of(server_tls, &silent, NULL, NULL);
    assert_says(&err, STATUS_NET, "handshake not finished");
    err = end_of(server_tls, &begun, NULL, NULL);
    assert_says(&err, STATUS_NET, "handshake not finished");
}

static void test_unfinished_frame_is_dropped(void **state)
{
    struct test_peer frame = rogue("\0\0\0\x10half", 8);
    struct test_peer head = rogue("\0\0", 2);
    struct test_peer record = rogue("\0\0\0\4full", 8);
    struct error err;

    (void)state;
    tls_context_limits(server_tls)->body_base_ms = SHORT_MS;
    record.half_record = true;
    err = end_of(server_tls, &frame, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "a frame of 16 bytes took too long");
    err = end_of(server_tls, &head, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "beginning of a frame took too long");
    err = end_of(server_tls, &record, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "beginning of a frame took too long");
}

static void note_time(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static void test_silence_between_frames_is_allowed(void **state)
{
    struct world *w;
    uv_timer_t later;
    bool late = false;

    (void)state;
    tls_context_limits(server_tls)->body_base_ms = 1;
    w = connected(echo_by_server);
    assert_int_equal(net_send(w->client_ends[0].conn, "one", 3), STATUS_OK);
    uv_timer_init(&w->loop, &later);
    later.data = &late;
    uv_timer_start(&later, note_time, SHORT_MS, 0);
    world_until(w, &late);
    assert_int_equal(net_send(w->client_ends[0].conn, "two", 3), STATUS_OK);
    world_until_count(w, &w->client_ends[0].frames, 2);
    uv_close((uv_handle_t *)&later, NULL);
    world_free(w);
}

static void pause_server(struct end *e, uint8_t *bytes, size_t n)
{
    (void)bytes, (void)n;
    net_conn_pause(e->conn, true);
}

static void pause_through(struct world *w, struct end *server, size_t frames)
{
    for (size_t i = 1; i <= frames; i++) {
        world_until_count(w, &server->frames, i);
        assert_int_equal(server->frames, i);
        /* Some turns of the loop: nothing more may come. */
        for (int turn = 0; turn < 5; turn++)
            uv_run(&w->loop, UV_RUN_NOWAIT);
        assert_int_equal(server->frames, i);
        net_conn_pause(server->conn, false);
        assert_int_equal(server->frames, i);
    }
}

static void test_paused_connection_hands_out_nothing(void **state)
{
    enum { COUNT = 6 };
    struct world *w = connected(pause_server);
    struct end *client = &w->client_ends[0];
    uint8_t *bytes = pattern(50000);

    (void)state;
    /* A record each, many of them in one read, some of them in pieces. */
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(net_send(client->conn, bytes, i % 2 != 0 ? 50000 : 100), STATUS_OK);
    pause_through(w, &w->server_ends[0], COUNT);
    assert_int_equal(w->server_ends[0].bytes, COUNT / 2 * 50100);
    free(bytes);
    world_free(w);
}

static void test_pause_holds_within_one_record(void **state)
{
    struct test_peer peer = rogue("\0\0\0\1a\0\0\0\1b\0\0\0\1c", 15);
    struct world *w = world_new(server_tls, NULL);

    (void)state;
    w->on_frame = pause_server;
    peer.port = world_port(w);
    test_peer_start(&peer);
    world_until(w, &w->server_ends[0].opened);
    pause_through(w, &w->server_ends[0], 3);
    assert_int_equal(w->server_ends[0].sum, 'a' + 'b' + 'c');
    net_conn_close(w->server_ends[0].conn, false);
    world_until_count(w, &w->server_closed, 1);
    test_peer_join(&peer);
    world_free(w);
}

static void test_lost_peer_is_noticed(void **state)
{
    struct test_peer peer = rogue("\0\0\0\x10half", 8);
    struct error err;

    (void)state;
    peer.hang_up = true;
    err = end_of(server_tls, &peer, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "in the middle of a frame");
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_two_gibibytes_announced_are_refused),
        TEST(test_unaccepted_peer_is_held_to_small_frames),
        TEST(test_frame_of_no_bytes_ends_the_connection),
        TEST(test_unfinished_handshake_is_dropped),
        TEST(test_unfinished_frame_is_dropped),
        TEST(test_silence_between_frames_is_allowed),
        TEST(test_paused_connection_hands_out_nothing),
        TEST(test_pause_holds_within_one_record),
        TEST(test_lost_peer_is_noticed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
