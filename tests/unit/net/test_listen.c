/* test_listen.c -- how many may wait at the door.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/listen.h"

#include "common/net/tls_context.h"
#include "tests/unit/net/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FEW = 3, MORE = 4 };

static struct net_tls *client_of[FEW + MORE]; /* each has a key of its own */

static int setup_clients(void **state)
{
    static const char *const names[] = {"q1", "q2", "q3", "q4", "q5", "q6", "q7"};

    setup(state);
    for (size_t i = 0; i < FEW + MORE; i++) {
        struct net_identity id;

        test_pki_issue(&pki, &(struct test_cert){.name = names[i]});
        id = world_identity(&pki, names[i], pki.ca, "");
        client_of[i] = world_tls(false, &id);
    }
    return 0;
}

static int teardown_clients(void **state)
{
    for (size_t i = 0; i < FEW + MORE; i++)
        net_tls_free(client_of[i]);
    return teardown(state);
}

/* The i-th client dials. */
static struct end *dial_as(struct world *w, size_t i, const char *address)
{
    w->client_tls = client_of[i];
    return world_dial(w, address, "server");
}

static size_t count_open(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->servers; i++)
        n += w->server_ends[i].opened;
    return n;
}

static void turn(struct world *w)
{
    for (int i = 0; i < 20; i++)
        uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* Another listener beside that of the world, with the per-address limit of a test. */
static struct net_listener *listen_beside(struct world *w, unsigned per_address)
{
    static const struct net_events events = {world_on_server_open, world_on_server_frame,
                                             world_on_server_close};
    struct net_listener *l;
    struct error err = {0};

    assert_int_equal(net_listen(&l, &(struct net_side){&w->loop, server_tls, &events, w},
                                "127.0.0.1:0", per_address, &err),
                     STATUS_OK);
    return l;
}

static void test_address_over_its_limit_is_refused(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct net_listener *l = listen_beside(w, FEW);
    size_t refused = 0;

    (void)state;
    for (size_t i = 0; i < FEW + 2; i++)
        dial_as(w, i, net_listener_address(l));
    for (size_t i = 0; i < FEW + 2; i++)
        while (!w->client_ends[i].closed && !w->client_ends[i].opened)
            uv_run(&w->loop, UV_RUN_ONCE);
    while (count_open(w) < FEW)
        uv_run(&w->loop, UV_RUN_ONCE);
    turn(w);
    for (size_t i = 0; i < FEW + 2; i++)
        refused += w->client_ends[i].err.status == STATUS_NET;
    assert_int_equal(refused, 2);
    assert_int_equal(w->servers, FEW); /* the owner has never heard of the others */
    net_listener_close(l);
    world_free(w);
}

static void test_accepted_peer_makes_room(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct net_listener *l = listen_beside(w, 1);
    struct end *second;

    (void)state;
    world_dial(w, net_listener_address(l), "server");
    world_until_count(w, &w->servers, 1);
    net_conn_accept(w->server_ends[0].conn, WORLD_FRAME_MAX);
    second = world_dial(w, net_listener_address(l), "server");
    world_until_count(w, &w->servers, 2);
    world_until(w, &second->opened);
    net_listener_close(l);
    world_free(w);
}

static void test_gone_peer_makes_room(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct net_listener *l = listen_beside(w, 1);
    struct end *first = world_dial(w, net_listener_address(l), "server");

    (void)state;
    world_until_count(w, &w->servers, 1);
    net_conn_close(first->conn, false);
    world_until_count(w, &w->server_closed, 1);
    world_dial(w, net_listener_address(l), "server");
    world_until_count(w, &w->servers, 2);
    assert_true(w->server_ends[1].opened);
    net_listener_close(l);
    world_free(w);
}

static void test_connections_over_the_total_wait_and_are_served(void **state)
{
    struct world *w;

    (void)state;
    tls_context_limits(server_tls)->pending_max = FEW;
    w = world_new(server_tls, client_tls);
    for (size_t i = 0; i < FEW + MORE; i++)
        dial_as(w, i, net_listener_address(w->listener));
    world_until_count(w, &w->servers, FEW);
    turn(w);
    assert_int_equal(count_open(w), FEW);
    for (size_t i = 0; i < MORE; i++) {
        net_conn_accept(w->server_ends[i].conn, WORLD_FRAME_MAX);
        world_until_count(w, &w->servers, FEW + i + 1);
        turn(w);
        assert_int_equal(count_open(w), FEW + i + 1);
    }
    for (size_t i = 0; i < FEW + MORE; i++)
        world_until(w, &w->client_ends[i].opened);
    world_free(w);
}

enum { LONG_US = 1000000000 };

/* So that the first connection that is taken owes more than this test lasts. */
static void allow_no_time(void)
{
    tls_context_limits(server_tls)->pending = (struct budget_terms){LONG_US, 1, 1};
}

static void allow_time_again(void)
{
    tls_context_limits(server_tls)->pending = (struct budget_terms){1, LONG_US, LONG_US};
}

static void test_who_owes_time_waits_and_is_served_when_there_is_some(void **state)
{
    unsigned holders = server_tls->holders;
    struct world *w;

    (void)state;
    allow_no_time();
    w = world_new(server_tls, client_tls);
    dial_as(w, 0, net_listener_address(w->listener));
    dial_as(w, 1, net_listener_address(w->listener));
    turn(w);
    assert_int_equal(w->servers, 0);
    assert_int_equal(server_tls->holders, holders + 2); /* the listener, and one connection */
    allow_time_again();
    world_until_count(w, &w->servers, 2);
    world_until(w, &w->client_ends[0].opened);
    world_until(w, &w->client_ends[1].opened);
    world_free(w);
}

static void send_byte(struct net_conn *c)
{
    assert_int_equal(net_send(c, "!", 1), STATUS_OK);
}

/* From here on nothing is read from a pending connection: what it has sent since stays unread, and
 * how many frames came before is returned.  How many the listener's last credit is enough for is
 * the machine's business; on a busy one the handshake may have spent it. */
static size_t nothing_more_is_read(struct world *w, struct net_conn *from, const struct end *at)
{
    size_t read = at->frames + 1;

    allow_no_time();
    for (int i = 0; read != at->frames; i++) {
        assert_true(i < 1000);
        read = at->frames;
        send_byte(from);
        turn(w);
    }
    return read;
}

static void test_known_peers_are_read_from_while_others_wait(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct end *known = &w->server_ends[0], *other = &w->server_ends[1];
    size_t before;

    (void)state;
    world_dial(w, net_listener_address(w->listener), "server");
    world_until_count(w, &w->servers, 1);
    net_conn_accept(known->conn, WORLD_FRAME_MAX);
    world_until(w, &w->client_ends[0].opened);
    world_dial(w, net_listener_address(w->listener), "server");
    world_until_count(w, &w->servers, 2);
    world_until(w, &w->client_ends[1].opened);
    before = nothing_more_is_read(w, w->client_ends[1].conn, other);
    for (size_t i = 1; i <= 20; i++) {
        send_byte(w->client_ends[0].conn);
        world_until_count(w, &known->frames, i);
    }
    turn(w);
    assert_int_equal(other->frames, before);
    net_conn_accept(other->conn, WORLD_FRAME_MAX); /* nor does it wait once it is known */
    world_until_count(w, &other->frames, before + 1);
    world_free(w);
}

static void test_who_waits_is_read_from_when_there_is_time_again(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct end *end = &w->server_ends[0];
    size_t before;

    (void)state;
    world_dial(w, net_listener_address(w->listener), "server");
    world_until_count(w, &w->servers, 1);
    world_until(w, &w->client_ends[0].opened);
    before = nothing_more_is_read(w, w->client_ends[0].conn, end);
    allow_time_again();
    world_until_count(w, &end->frames, before + 1);
    world_free(w);
}

static void test_place_of_a_silent_connection_is_free_in_time(void **state)
{
    struct test_peer silent = {.silent = true};
    struct world *w;
    struct end *good;

    (void)state;
    tls_context_limits(server_tls)->pending_max = 1;
    tls_context_limits(server_tls)->handshake_ms = 30;
    w = world_new(server_tls, client_tls);
    silent.port = world_port(w);
    test_peer_start(&silent);
    while (w->servers == 0) /* the silent one has been taken, and dropped */
        uv_run(&w->loop, UV_RUN_ONCE);
    tls_context_limits(server_tls)->handshake_ms = WORLD_PATIENCE_MS;
    good = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &good->opened);
    test_peer_join(&silent);
    assert_int_equal(w->server_ends[0].err.status, STATUS_NET);
    world_free(w);
}

/* A connection from this address of loopback, which says nothing; with SOCK_NONBLOCK it may not be
 * there yet. */
static int knock(const struct world *w, const char *from, int flags)
{
    struct sockaddr_in own = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    inet_pton(AF_INET, from, &own.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    to.sin_port = htons((uint16_t)world_port(w));
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    assert_true(connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS);
    return fd;
}

static int say_nothing(const struct world *w, const char *from)
{
    return knock(w, from, 0);
}

/* Has the server ended it? */
static bool has_ended(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

    assert_true(n <= 0);
    return n == 0 || errno != EAGAIN;
}

static void test_who_shows_no_certificate_gives_way(void **state)
{
    struct world *w;
    struct end *good;
    int silent;

    (void)state;
    tls_context_limits(server_tls)->pending_max = 1;
    tls_context_limits(server_tls)->yield_ms = 1;
    w = world_new(server_tls, client_tls);
    silent = say_nothing(w, "127.0.0.2");
    turn(w);
    good = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &good->opened);
    assert_true(has_ended(silent));
    assert_says(&w->server_ends[0].err, STATUS_NET, "127.0.0.2");
    assert_says(&w->server_ends[0].err, STATUS_NET, "others wait");
    close(silent);
    world_free(w);
}

static void test_host_that_holds_the_most_gives_way(void **state)
{
    struct world *w;
    struct end *good;
    int alone, first, second;

    (void)state;
    tls_context_limits(server_tls)->pending_max = 3;
    w = world_new(server_tls, client_tls);
    alone = say_nothing(w, "127.0.0.2"); /* the oldest of all */
    first = say_nothing(w, "127.0.0.3");
    second = say_nothing(w, "127.0.0.3");
    turn(w);
    tls_context_limits(server_tls)->yield_ms = 0;
    good = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &good->opened);
    assert_true(has_ended(first));
    assert_false(has_ended(alone));
    assert_false(has_ended(second));
    close(alone);
    close(first);
    close(second);
    world_free(w);
}

static void test_who_has_shown_a_certificate_keeps_his_place(void **state)
{
    struct world *w;
    struct end *first, *second;

    (void)state;
    tls_context_limits(server_tls)->pending_max = 1;
    tls_context_limits(server_tls)->yield_ms = 0;
    w = world_new(server_tls, client_tls);
    first = world_dial(w, net_listener_address(w->listener), "server");
    world_until_count(w, &w->servers, 1);
    world_until(w, &first->opened);
    second = world_dial(w, net_listener_address(w->listener), "server");
    turn(w);
    assert_false(second->opened);
    assert_false(w->server_ends[0].closed);
    net_conn_accept(w->server_ends[0].conn, WORLD_FRAME_MAX);
    world_until(w, &second->opened);
    world_free(w);
}

static void test_of_one_key_the_newest_connection_waits(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    const char *address = net_listener_address(w->listener);
    struct end *first, *second, *other;

    (void)state;
    other = dial_as(w, 1, address);
    world_until_count(w, &w->servers, 1);
    first = dial_as(w, 0, address);
    world_until_count(w, &w->servers, 2);
    second = dial_as(w, 0, address);
    world_until_count(w, &w->servers, 3);
    world_until(w, &w->server_ends[1].closed);
    world_until(w, &first->closed);
    turn(w);
    assert_says(&w->server_ends[1].err, STATUS_NET, "a newer one of the same key");
    assert_false(second->closed);
    assert_false(other->closed); /* another key's */
    world_free(w);
}

static void test_who_is_accepted_is_not_ended_by_who_waits(void **state)
{
    struct world *w = world_new(server_tls, client_tls);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dial_as(w, 0, net_listener_address(w->listener));
        world_until_count(w, &w->servers, i + 1);
        if (i == 0)
            net_conn_accept(w->server_ends[0].conn, WORLD_FRAME_MAX);
    }
    turn(w);
    assert_false(w->server_ends[0].closed); /* which of them speaks for the key, its owner says */
    assert_false(w->server_ends[1].closed);
    world_free(w);
}

static size_t kernel_queue_max(void)
{
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "r");
    size_t n = 0;

    if (file == NULL || fscanf(file, "%zu", &n) != 1)
        n = 0;
    if (file != NULL)
        fclose(file);
    return n;
}

/* A dialler is told that it is connected as long as there is room in the kernel's queue. */
static bool is_connected(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int failed = 1;
    socklen_t n = sizeof failed;

    return poll(&p, 1, 0) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n) == 0 &&
           failed == 0;
}

/* Nobody is taken out of the queue here: the loop stands still. */
static void test_the_queue_is_as_long_as_is_served_before_a_dialler_gives_up(void **state)
{
    enum { LINE = 500 };
    struct world *w = world_new(server_tls, client_tls);
    size_t connected = 0;
    int fd[LINE];

    (void)state;
    for (size_t i = 0; i < LINE; i++) {
        char from[INET_ADDRSTRLEN];
        snprintf(from, sizeof from, "127.1.%zu.1", i / 4 + 1);
        fd[i] = knock(w, from, SOCK_NONBLOCK);
    }
    for (size_t i = 0; i < LINE; i++)
        connected += is_connected(fd[i]);
    if (kernel_queue_max() >= LINE)
        assert_int_equal(connected, LINE);
    for (size_t i = 0; i < LINE; i++)
        close(fd[i]);
    world_free(w);
}

static void test_closing_the_listener_ends_unfinished_handshakes(void **state)
{
    struct test_peer silent = {.silent = true};
    struct world *w = world_new(server_tls, client_tls);
    struct end *open = world_dial(w, net_listener_address(w->listener), "server");

    (void)state;
    world_until_count(w, &w->servers, 1);
    world_until(w, &open->opened);
    silent.port = world_port(w);
    test_peer_start(&silent);
    while (w->listener != NULL) { /* until the silent one stands in line */
        uv_run(&w->loop, UV_RUN_NOWAIT);
        if (w->server_ends[0].conn->pending_prev != NULL) {
            net_listener_close(w->listener);
            w->listener = NULL;
        }
    }
    world_until_count(w, &w->server_closed, 1);
    test_peer_join(&silent);
    assert_int_equal(w->server_ends[1].closes, 1);
    assert_int_equal(w->server_ends[1].err.status, STATUS_OK);
    assert_false(w->server_ends[0].closed); /* an open one is its owner's affair */
    world_free(w);
}

static enum status listen_status(const char *where, struct error *err)
{
    static const struct net_events events = {world_on_server_open, world_on_server_frame,
                                             world_on_server_close};
    struct net_listener *l;
    uv_loop_t loop;
    enum status s;

    uv_loop_init(&loop);
    s = net_listen(&l, &(struct net_side){&loop, server_tls, &events, NULL}, where, 1, err);
    if (s == STATUS_OK)
        net_listener_close(l);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return s;
}

static void test_place_to_listen_must_make_sense_and_be_free(void **state)
{
    struct world *w = world_new(server_tls, NULL);
    struct addrinfo *found;
    struct error err = {0};

    (void)state;
    assert_int_equal(listen_status("127.0.0.1:0", &err), STATUS_OK);
    if (getaddrinfo("localhost", NULL, NULL, &found) == 0) { /* a bare chroot has no hosts file */
        freeaddrinfo(found);
        assert_int_equal(listen_status("localhost:0", &err), STATUS_OK);
    }
    assert_int_equal(listen_status("127.0.0.1", &err), STATUS_CONFIG);
    assert_int_equal(listen_status("192.0.2.1:0", &err), STATUS_NET); /* no address of this host */
    assert_int_equal(listen_status(net_listener_address(w->listener), &err), STATUS_NET);
    assert_non_null(strstr(err.text, "in use"));
    assert_non_null(strstr(err.text, net_listener_address(w->listener)));
    world_free(w);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_address_over_its_limit_is_refused),
        TEST(test_accepted_peer_makes_room),
        TEST(test_gone_peer_makes_room),
        TEST(test_connections_over_the_total_wait_and_are_served),
        TEST(test_who_owes_time_waits_and_is_served_when_there_is_some),
        TEST(test_known_peers_are_read_from_while_others_wait),
        TEST(test_who_waits_is_read_from_when_there_is_time_again),
        TEST(test_place_of_a_silent_connection_is_free_in_time),
        TEST(test_who_shows_no_certificate_gives_way),
        TEST(test_host_that_holds_the_most_gives_way),
        TEST(test_who_has_shown_a_certificate_keeps_his_place),
        TEST(test_of_one_key_the_newest_connection_waits),
        TEST(test_who_is_accepted_is_not_ended_by_who_waits),
        TEST(test_the_queue_is_as_long_as_is_served_before_a_dialler_gives_up),
        TEST(test_closing_the_listener_ends_unfinished_handshakes),
        TEST(test_place_to_listen_must_make_sense_and_be_free),
    };
    return cmocka_run_group_tests(tests, setup_clients, teardown_clients);
}
