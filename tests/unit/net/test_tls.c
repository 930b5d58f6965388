/* test_tls.c -- who speaks the protocol, and what the others are told.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls.h"

#include "tests/unit/net/world.h"

enum { ALERT_VERSION = 70, ALERT_NO_ALPN = 120 };

static struct test_pki other; /* a CA that nobody here trusts */

static int setup_other(void **state)
{
    test_pki_init(&other, scratch_dir(), "other-ca");
    test_pki_issue(&other, &(struct test_cert){.name = "foreign"});
    return setup(state);
}

static int teardown_other(void **state)
{
    test_pki_deinit(&other);
    return teardown(state);
}

static struct error serve(struct test_peer *peer)
{
    struct error err = end_of(server_tls, peer, NULL, NULL);

    assert_int_equal(peer->received, 0);
    return err;
}

static void test_server_refuses_tls12(void **state)
{
    struct test_peer peer = rogue(NULL, 0);
    struct error err;

    (void)state;
    peer.tls12 = true;
    err = serve(&peer);
    assert_says(&err, STATUS_PROTOCOL, "peer does not speak TLS 1.3");
    assert_int_equal(peer.alert, ALERT_VERSION);
}

static void test_server_refuses_another_protocol_and_none(void **state)
{
    static const char *const offers[] = {NULL, "h2", "vfl/2", "vfl/10"};

    (void)state;
    for (size_t i = 0; i < sizeof offers / sizeof offers[0]; i++) {
        struct test_peer peer = rogue(NULL, 0);
        struct error err;
        peer.alpn = offers[i];
        err = serve(&peer);
        assert_says(&err, STATUS_PROTOCOL, "peer does not speak vfl/1");
        assert_int_equal(peer.alert, ALERT_NO_ALPN);
    }
}

static struct test_peer good_server(void)
{
    return (struct test_peer){.server = true,
                              .alpn = "vfl/1",
                              .cert = test_pki_path(&pki, "server", "pem"),
                              .key = test_pki_path(&pki, "server", "key")};
}

static void test_client_refuses_a_tls12_server(void **state)
{
    struct test_peer peer = good_server();
    struct error err;

    (void)state;
    peer.tls12 = true;
    err = end_of_dial(client_tls, &peer);
    assert_says(&err, STATUS_PROTOCOL, "peer does not speak TLS 1.3");
}

static void test_client_refuses_a_server_without_the_protocol(void **state)
{
    struct test_peer peer = good_server();
    struct error err;

    (void)state;
    peer.alpn = NULL;
    err = end_of_dial(client_tls, &peer);
    assert_says(&err, STATUS_PROTOCOL, "peer does not speak vfl/1");
}

static void test_garbage_is_a_protocol_violation(void **state)
{
    /* The third looks like the beginning of an SSL 2 hello. */
    static const char *const garbage[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x80\x10\x01",
                                          "\x16\x03\x01\xff\xff\x01 too long a record",
                                          "\x17\x03\x03\x01\x10 not a handshake"};

    (void)state;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        uint8_t bytes[400] = {0};
        struct test_peer peer = {.plain = true, .bytes = bytes, .n = sizeof bytes};
        struct error err;
        memcpy(bytes, garbage[i], strlen(garbage[i]));
        err = end_of(server_tls, &peer, NULL, NULL); /* it is sent an alert */
        assert_says(&err, STATUS_PROTOCOL, "does not speak TLS");
    }
}

/* The client's own handshake is over before the server has looked at its certificate. */
static void test_refused_client_learns_that_its_certificate_is_the_reason(void **state)
{
    char both[TEST_PKI_PATH_MAX];
    struct net_identity id;
    struct net_tls *foreign;
    struct world *w;
    struct end *e;

    (void)state;
    snprintf(both, sizeof both, "%s", scratch_path("both.pem"));
    world_join_files(both, pki.ca, other.ca);
    id = world_identity(&other, "foreign", both, NULL);
    foreign = world_tls(false, &id);
    w = world_new(server_tls, foreign);
    e = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &e->closed);
    assert_says(&e->err, STATUS_IDENTITY,
                "server refused this side's certificate (alert: unknown ca)");
    world_until_count(w, &w->server_closed, 1);
    assert_says(&w->server_ends[0].err, STATUS_AUTH, "not issued by this side's CA");
    world_free(w);
    net_tls_free(foreign);
}

static struct test_peer *suspicious;
static enum status refused_send;

/* The server has looked at the certificate, said what it thinks of it and gone; then writing fails.
 */
static void send_to_the_gone(struct end *e)
{
    enum { TRIES = 100 };

    test_peer_join(suspicious);
    refused_send = STATUS_OK;
    for (int i = 0; i < TRIES && refused_send == STATUS_OK; i++)
        refused_send = net_send(e->conn, "hello", 5);
}

static void test_failed_write_does_not_hide_the_reason(void **state)
{
    struct test_peer peer = good_server();
    struct world *w = world_new(NULL, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    peer.suspicious = true;
    suspicious = &peer;
    w->on_open = send_to_the_gone;
    test_peer_start(&peer);
    snprintf(address, sizeof address, "127.0.0.1:%d", peer.port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    assert_int_equal(refused_send, STATUS_NET);
    assert_says(&e->err, STATUS_IDENTITY, "(alert: ");
    world_free(w);
}

static void test_peer_key_digest_and_names_are_those_of_its_certificate(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");
    uint8_t spki[NET_SPKI_BYTES];
    int64_t left;

    (void)state;
    world_until_count(w, &w->servers, 1);
    world_until(w, &e->opened);
    net_tls_own(client_tls, spki, &left);
    assert_memory_equal(w->server_ends[0].spki, spki, sizeof spki);
    net_tls_own(server_tls, spki, &left);
    assert_memory_equal(e->spki, spki, sizeof spki);
    assert_true(net_conn_has_name(w->server_ends[0].conn, "p1"));
    assert_false(net_conn_has_name(w->server_ends[0].conn, "p2"));
    assert_false(net_conn_has_name(w->server_ends[0].conn, ""));
    assert_false(net_conn_has_name(w->server_ends[0].conn, ".p1"));
    assert_true(net_conn_has_name(e->conn, "server"));
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

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_server_refuses_tls12),
        TEST(test_server_refuses_another_protocol_and_none),
        TEST(test_client_refuses_a_tls12_server),
        TEST(test_client_refuses_a_server_without_the_protocol),
        TEST(test_garbage_is_a_protocol_violation),
        TEST(test_refused_client_learns_that_its_certificate_is_the_reason),
        TEST(test_failed_write_does_not_hide_the_reason),
        TEST(test_peer_key_digest_and_names_are_those_of_its_certificate),
        TEST(test_keys_are_replaced_on_the_way),
        TEST(test_without_the_limit_no_key_is_replaced),
    };
    return cmocka_run_group_tests(tests, setup_other, teardown_other);
}
