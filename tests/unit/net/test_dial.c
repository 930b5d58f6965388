/* test_dial.c -- the way to a server, and the ways on which there is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/dial.h"

#include "tests/unit/net/world.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* The resolver of this program: "two.example" has an address where nobody listens and a good one;
 * no other name exists.  libuv finds these instead of the library's. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found)
{
    static struct sockaddr_in at[2];
    static struct addrinfo list[2];

    (void)hints;
    if (strcmp(host, "two.example") != 0)
        return EAI_NONAME;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uv_ip4_addr(i == 0 ? "127.0.0.9" : "127.0.0.1", atoi(port), &at[i]), 0);
        list[i] = (struct addrinfo){.ai_family = AF_INET,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_addr = (struct sockaddr *)&at[i],
                                    .ai_addrlen = sizeof at[i],
                                    .ai_next = i == 0 ? &list[1] : NULL};
    }
    *found = list;
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    (void)found;
}

static void test_addresses_of_a_name_are_tried_in_turn(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    snprintf(address, sizeof address, "two.example:%d", world_port(w));
    e = world_dial(w, address, "server");
    world_until(w, &e->opened);
    assert_string_equal(e->address, net_listener_address(w->listener));
    world_free(w);
}

static void test_last_address_decides_when_none_answers(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    snprintf(address, sizeof address, "two.example:%d", world_port(w));
    net_listener_close(w->listener);
    w->listener = NULL;
    uv_run(&w->loop, UV_RUN_NOWAIT);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    assert_says(&e->err, STATUS_NET, "connection refused");
    assert_says(&e->err, STATUS_NET, "two.example:");
    world_free(w);
}

static void test_unknown_name_is_a_network_failure(void **state)
{
    struct world *w = world_new(NULL, client_tls);
    struct end *e = world_dial(w, "nobody.example:5512", "server");

    (void)state;
    world_until(w, &e->closed);
    assert_says(&e->err, STATUS_NET, "nobody.example:5512: ");
    world_free(w);
}

static void test_nobody_listening_is_a_network_failure(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    snprintf(address, sizeof address, "%s", net_listener_address(w->listener));
    net_listener_close(w->listener);
    w->listener = NULL;
    uv_run(&w->loop, UV_RUN_NOWAIT);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    assert_false(e->opened);
    assert_int_equal(e->err.status, STATUS_NET);
    assert_non_null(strstr(e->err.text, address));
    assert_non_null(strstr(e->err.text, "connection refused"));
    world_free(w);
}

/* What becomes of a connection to a server that says nothing. */
static struct error given_up_after(uint64_t ms)
{
    struct test_peer silent = {.server = true, .silent = true};
    struct world *w = world_new(NULL, client_tls);
    struct error err;
    char address[64];
    struct end *e;

    tls_context_limits(client_tls)->handshake_ms = ms;
    test_peer_start(&silent);
    snprintf(address, sizeof address, "127.0.0.1:%d", silent.port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    err = e->err;
    test_peer_join(&silent);
    world_free(w);
    return err;
}

/* On a machine so busy that this process stood still, there was not even a connection in time. */
static void test_silent_server_is_given_up(void **state)
{
    struct error err;
    uint64_t ms = 30;

    (void)state;
    do
        err = given_up_after(ms);
    while (strstr(err.text, "no connection within") != NULL && (ms *= 4) < WORLD_PATIENCE_MS);
    assert_int_equal(err.status, STATUS_NET);
    assert_non_null(strstr(err.text, "TLS handshake not finished"));
}

static void test_server_that_hangs_up_is_a_network_failure(void **state)
{
    struct test_peer rude = {.server = true, .plain = true, .hang_up = true};
    struct world *w = world_new(NULL, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    test_peer_start(&rude);
    snprintf(address, sizeof address, "127.0.0.1:%d", rude.port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    test_peer_join(&rude);
    assert_int_equal(e->err.status, STATUS_NET);
    assert_non_null(strstr(e->err.text, "during the TLS handshake"));
    world_free(w);
}

static void test_something_else_than_tls_is_a_protocol_violation(void **state)
{
    struct test_peer http = {
        .server = true, .plain = true, .bytes = "HTTP/1.1 400 Bad Request\r\n\r\n", .n = 28};
    struct world *w = world_new(NULL, client_tls);
    char address[64];
    struct end *e;

    (void)state;
    test_peer_start(&http);
    snprintf(address, sizeof address, "127.0.0.1:%d", http.port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    test_peer_join(&http);
    assert_int_equal(e->err.status, STATUS_PROTOCOL);
    assert_non_null(strstr(e->err.text, "does not speak TLS"));
    world_free(w);
}

static void test_dial_may_be_abandoned_at_any_turn(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "two.example"};

    (void)state;
    for (size_t host = 0; host < 2; host++)
        for (int turns = 0; turns < 8; turns++) {
            struct world *w = world_new(server_tls, client_tls);
            char address[64];
            struct end *e;
            snprintf(address, sizeof address, "%s:%d", hosts[host], world_port(w));
            e = world_dial(w, address, "server");
            for (int i = 0; i < turns; i++)
                uv_run(&w->loop, UV_RUN_NOWAIT);
            net_conn_close(e->conn, turns % 2 != 0);
            net_conn_close(e->conn, false);
            world_until(w, &e->closed);
            assert_int_equal(e->err.status, STATUS_OK);
            world_free(w);
        }
}

static void test_dial_refuses_what_is_no_address_or_no_name(void **state)
{
    static const char *const bad[][2] = {
        {"host", "server"}, {"127.0.0.1:x", "server"}, {"127.0.0.1:1", ""}, {"127.0.0.1:1", ".a"}};
    uv_loop_t loop;

    (void)state;
    uv_loop_init(&loop);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct net_conn *c;
        struct error err = {0};
        assert_int_equal(net_dial(&c,
                                  &(struct net_side){&loop, client_tls, &world_client_events, NULL},
                                  bad[i][0], bad[i][1], &err),
                         STATUS_CONFIG);
        assert_true(err.text[0] != 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void assert_socket_is_tuned(struct net_conn *c)
{
    int nodelay = 0, keepalive = 0;
    unsigned timeout = 0;
    socklen_t n = sizeof nodelay;
    uv_os_fd_t fd;

    assert_int_equal(uv_fileno((uv_handle_t *)&c->tcp, &fd), 0);
    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &n);
    getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &n);
    getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &n);
    assert_true(nodelay);
    assert_true(keepalive);
    assert_int_equal(timeout, 90000);
}

static void test_sockets_of_both_sides_are_tuned(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");

    (void)state;
    world_until_count(w, &w->servers, 1);
    world_until(w, &e->opened);
    assert_socket_is_tuned(e->conn);
    assert_socket_is_tuned(w->server_ends[0].conn);
    world_free(w);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_addresses_of_a_name_are_tried_in_turn),
        TEST(test_last_address_decides_when_none_answers),
        TEST(test_unknown_name_is_a_network_failure),
        TEST(test_nobody_listening_is_a_network_failure),
        TEST(test_silent_server_is_given_up),
        TEST(test_server_that_hangs_up_is_a_network_failure),
        TEST(test_something_else_than_tls_is_a_protocol_violation),
        TEST(test_dial_may_be_abandoned_at_any_turn),
        TEST(test_dial_refuses_what_is_no_address_or_no_name),
        TEST(test_sockets_of_both_sides_are_tuned),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
