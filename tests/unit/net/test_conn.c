/* test_conn.c -- frames over a live connection, and peers that misuse one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/conn.h"

#include "common/base/mem.h"
#include "tests/unit/net/world.h"

enum { SHORT_MS = 30, RECORD_OVERHEAD = 5 + 1 + 16, MIB = 1 << 20 };

static struct test_pki pki;
static struct net_tls *server_tls, *client_tls;

static int setup(void **state)
{
    struct net_identity id;

    (void)state;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_issue(&pki, &(struct test_cert){.name = "server", .eku = TEST_EKU_SERVER});
    test_pki_issue(&pki, &(struct test_cert){.name = "p1"});
    id = world_identity(&pki, "server", pki.ca, NULL);
    server_tls = world_tls(true, &id);
    id = world_identity(&pki, "p1", pki.ca, NULL);
    client_tls = world_tls(false, &id);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_tls_free(server_tls);
    net_tls_free(client_tls);
    test_pki_deinit(&pki);
    return 0;
}

/* Each test begins with the limits of the daemons. */
static int fresh_limits(void **state)
{
    static struct tls_limits usual;

    (void)state;
    if (usual.handshake_ms == 0)
        usual = *tls_context_limits(server_tls);
    *tls_context_limits(server_tls) = usual;
    *tls_context_limits(client_tls) = usual;
    return 0;
}

static void accept_peer(struct end *e)
{
    net_conn_accept(e->conn, WORLD_FRAME_MAX);
}

/* A world with one open connection between client_ends[0] and server_ends[0]. */
static struct world *connected(void (*on_frame)(struct end *, uint8_t *, size_t))
{
    struct world *w = world_new(server_tls, client_tls);

    w->on_open = accept_peer;
    w->on_frame = on_frame;
    world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &w->client_ends[0].opened);
    world_until(w, &w->server_ends[0].opened);
    return w;
}

static void assert_says(const struct error *err, enum status s, const char *words)
{
    if (err->status != s || strstr(err->text, words) == NULL)
        fail_msg("expected status %d and '%s', got %d: %s", (int)s, words, (int)err->status,
                 err->text);
}

static uint8_t *pattern(size_t n)
{
    uint8_t *bytes = malloc(n);

    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    return bytes;
}

/* --- frames
 * --------------------------------------------------------------------------------------- */

static void echo_by_server(struct end *e, uint8_t *bytes, size_t n)
{
    if (e >= e->world->server_ends && e < e->world->server_ends + WORLD_ENDS)
        assert_int_equal(net_send(e->conn, bytes, n), STATUS_OK);
}

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

static void test_keys_are_replaced_on_the_way(void **state)
{
    enum { FRAMES = 60, EVERY = 5 };
    struct world *w;
    struct end *client;
    const struct net_traffic *t;
    uint64_t before;

    (void)state;
    tls_context_limits(client_tls)->rekey_records = EVERY;
    tls_context_limits(server_tls)->rekey_records = EVERY;
    w = connected(echo_by_server);
    client = &w->client_ends[0];
    t = net_conn_traffic(client->conn);
    before = t->records_out;
    for (size_t i = 0; i < FRAMES; i++)
        assert_int_equal(net_send(client->conn, "frame", 5), STATUS_OK);
    assert_true(t->records_out - before >= FRAMES + FRAMES / EVERY);
    world_until_count(w, &client->frames, FRAMES);
    world_free(w);
}

static void test_without_the_limit_no_key_is_replaced(void **state)
{
    enum { FRAMES = 60 };
    struct world *w = connected(echo_by_server);
    const struct net_traffic *t = net_conn_traffic(w->client_ends[0].conn);
    uint64_t before = t->records_out;

    (void)state;
    for (size_t i = 0; i < FRAMES; i++)
        assert_int_equal(net_send(w->client_ends[0].conn, "frame", 5), STATUS_OK);
    assert_int_equal(t->records_out - before, FRAMES);
    world_free(w);
}

/* --- limits of the peer
 * ---------------------------------------------------------------------------- */

static struct test_peer rogue(const void *bytes, size_t n)
{
    return (struct test_peer){.alpn = "vfl/1",
                              .cert = test_pki_path(&pki, "p1", "pem"),
                              .key = test_pki_path(&pki, "p1", "key"),
                              .bytes = bytes,
                              .n = n};
}

/* Lets a rogue client loose on a server and returns how the server ended the connection. */
static struct error end_of(struct test_peer *peer, void (*on_open)(struct end *), size_t *frames)
{
    struct world *w = world_new(server_tls, NULL);
    struct error err;

    w->on_open = on_open;
    peer->port = world_port(w);
    test_peer_start(peer);
    world_until_count(w, &w->server_closed, 1);
    if (peer->deaf)
        test_peer_release(peer);
    test_peer_join(peer);
    err = w->server_ends[0].err;
    if (frames != NULL)
        *frames = w->server_ends[0].frames;
    world_free(w);
    return err;
}

static void test_two_gibibytes_announced_are_refused(void **state)
{
    struct test_peer peer = rogue("\x80\0\0\0....", 8);
    struct error err = end_of(&peer, accept_peer, NULL);

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
    err = end_of(&small, NULL, &frames);
    assert_int_equal(err.status, STATUS_NET);
    assert_int_equal(frames, 1);
    frame_head_pack(bytes, NET_FRAME_PREAUTH_MAX + 1);
    err = end_of(&large, NULL, &frames);
    assert_says(&err, STATUS_LIMIT, "over the limit (4097 > 4096)");
    assert_int_equal(frames, 0);
}

static void test_frame_of_no_bytes_ends_the_connection(void **state)
{
    struct test_peer peer = rogue("\0\0\0\0", 4);
    struct error err = end_of(&peer, accept_peer, NULL);

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
    err = end_of(&silent, NULL, NULL);
    assert_says(&err, STATUS_NET, "handshake not finished");
    err = end_of(&begun, NULL, NULL);
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
    err = end_of(&frame, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "a frame of 16 bytes took too long");
    err = end_of(&head, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "beginning of a frame took too long");
    err = end_of(&record, accept_peer, NULL);
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

/* --- peers that do not read
 * ------------------------------------------------------------------------- */

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
    err = end_of(&peer, flood, NULL);
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
    err = end_of(&peer, overfill, NULL);
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
    err = end_of(&peer, overfill_and_finish, NULL);
    assert_says(&err, STATUS_NET, "did not take the last");
}

/* --- closing and pausing
 * ---------------------------------------------------------------------------- */

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
    struct error err = end_of(&peer, close_on_open, &frames);

    (void)state;
    assert_int_equal(err.status, STATUS_OK);
    assert_int_equal(frames, 0);
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
    err = end_of(&peer, accept_peer, NULL);
    assert_says(&err, STATUS_NET, "in the middle of a frame");
}

/* --- memory
 * ------------------------------------------------------------------------------------------ */

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
    if (net_dial(&client->conn, &w->loop, net_listener_address(w->listener), "server", client_tls,
                 &world_client_events, client, &err) != STATUS_OK) {
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
#define TEST(law) cmocka_unit_test_setup(law, fresh_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_frames_of_all_sizes_go_both_ways),
        TEST(test_many_frames_in_a_burst_keep_their_order),
        TEST(test_traffic_is_what_went_over_the_socket),
        TEST(test_round_trips_after_the_first_allocate_nothing),
        TEST(test_keys_are_replaced_on_the_way),
        TEST(test_without_the_limit_no_key_is_replaced),
        TEST(test_two_gibibytes_announced_are_refused),
        TEST(test_unaccepted_peer_is_held_to_small_frames),
        TEST(test_frame_of_no_bytes_ends_the_connection),
        TEST(test_unfinished_handshake_is_dropped),
        TEST(test_unfinished_frame_is_dropped),
        TEST(test_silence_between_frames_is_allowed),
        TEST(test_queue_of_a_deaf_peer_is_bounded),
        TEST(test_deaf_peer_is_dropped_in_time),
        TEST(test_peer_that_reads_late_gets_everything),
        TEST(test_flush_does_not_wait_for_ever),
        TEST(test_close_with_flush_delivers_everything),
        TEST(test_both_ends_may_flush_at_once),
        TEST(test_close_in_on_frame_is_the_last_event_but_on_close),
        TEST(test_close_in_on_open_is_allowed),
        TEST(test_paused_connection_hands_out_nothing),
        TEST(test_pause_holds_within_one_record),
        TEST(test_lost_peer_is_noticed),
        TEST(test_every_failed_allocation_costs_one_connection_at_most),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
