/* world.h -- one loop with a listener and its diallers, and what each end has seen.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_NET_WORLD_H
#define COLONNADE_TESTS_NET_WORLD_H

#include "common/net/conn.h"
#include "common/net/net.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_peer.h"
#include "tests/lib/test_pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORLD_ENDS = 80, WORLD_PATIENCE_MS = 120000, WORLD_TICK_MS = 2, WORLD_FRAME_MAX = 1 << 21 };

struct world;

/* One end of a connection. */
struct end {
    struct world *world;
    struct net_conn *conn; /* NULL once it is gone */
    bool opened, closed;
    unsigned opens, closes;
    struct error err;
    uint8_t spki[NET_SPKI_BYTES];
    char address[ADDR_TEXT_MAX];
    size_t frames, bytes;
    uint64_t sum; /* of all bytes of all frames */
    struct net_traffic traffic;
};

/* `server_ends` fill up in the order in which connections open or, unopened, close. */
struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    unsigned ticks;
    struct net_tls *server_tls, *client_tls;
    struct net_listener *listener;
    struct end server_ends[WORLD_ENDS], client_ends[WORLD_ENDS];
    size_t servers, clients, server_closed;
    /* Hooks of a test; may be NULL. */
    void (*on_open)(struct end *e);
    void (*on_frame)(struct end *e, uint8_t *bytes, size_t n);
};

static inline void world_opened(struct end *e, struct net_conn *c, const uint8_t *spki)
{
    e->conn = c;
    e->opened = true;
    e->opens++;
    memcpy(e->spki, spki, NET_SPKI_BYTES);
    snprintf(e->address, sizeof e->address, "%s", net_conn_address(c));
    if (e->world->on_open != NULL)
        e->world->on_open(e);
}

static inline void world_closed(struct end *e, struct net_conn *c, const struct error *err)
{
    e->closed = true;
    e->closes++;
    e->err = *err;
    e->traffic = *net_conn_traffic(c);
    e->conn = NULL;
}

static inline void world_frame(struct end *e, uint8_t *bytes, size_t n)
{
    e->frames++;
    e->bytes += n;
    for (size_t i = 0; i < n; i++)
        e->sum += bytes[i];
    if (e->world->on_frame != NULL)
        e->world->on_frame(e, bytes, n);
}

static inline struct end *world_server_end(struct world *w, struct net_conn *c)
{
    struct end *e = net_conn_data(c);

    if (e != NULL)
        return e;
    assert_true(w->servers < WORLD_ENDS);
    e = &w->server_ends[w->servers++];
    e->world = w;
    net_conn_set_data(c, e);
    return e;
}

static inline void world_on_server_open(void *w, struct net_conn *c, const uint8_t *spki)
{
    world_opened(world_server_end(w, c), c, spki);
}

static inline void world_on_server_frame(void *w, struct net_conn *c, uint8_t *bytes, size_t n)
{
    world_frame(world_server_end(w, c), bytes, n);
}

static inline void world_on_server_close(void *w, struct net_conn *c, const struct error *err)
{
    world_closed(world_server_end(w, c), c, err);
    ((struct world *)w)->server_closed++;
}

static inline void world_on_client_open(void *e, struct net_conn *c, const uint8_t *spki)
{
    world_opened(e, c, spki);
}

static inline void world_on_client_frame(void *e, struct net_conn *c, uint8_t *bytes, size_t n)
{
    (void)c;
    world_frame(e, bytes, n);
}

static inline void world_on_client_close(void *e, struct net_conn *c, const struct error *err)
{
    world_closed(e, c, err);
}

static const struct net_events world_client_events = {world_on_client_open, world_on_client_frame,
                                                      world_on_client_close};

static inline void world_tick(uv_timer_t *timer)
{
    struct world *w = (struct world *)((char *)timer - offsetof(struct world, patience));

    if (++w->ticks > WORLD_PATIENCE_MS / WORLD_TICK_MS)
        fail_msg("nothing happened for %d ms", WORLD_PATIENCE_MS);
}

/* UV_RUN_ONCE runs due timers and then waits for a socket; the tick lets the caller look in
 * between. */
static inline void world_be_patient(struct world *w)
{
    w->ticks = 0;
    uv_timer_start(&w->patience, world_tick, WORLD_TICK_MS, WORLD_TICK_MS);
}

/* Either context may be NULL when the test does without that side. */
static inline struct world *world_new(struct net_tls *server, struct net_tls *client)
{
    static const struct net_events events = {world_on_server_open, world_on_server_frame,
                                             world_on_server_close};
    struct world *w = calloc(1, sizeof *w);
    struct error err = {0};

    assert_non_null(w);
    w->server_tls = server;
    w->client_tls = client;
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->patience);
    uv_unref((uv_handle_t *)&w->patience);
    if (server != NULL)
        assert_int_equal(net_listen(&w->listener, &(struct net_side){&w->loop, server, &events, w},
                                    "127.0.0.1:0", WORLD_ENDS, &err),
                         STATUS_OK);
    return w;
}

static inline int world_port(const struct world *w)
{
    return atoi(strrchr(net_listener_address(w->listener), ':') + 1);
}

static inline struct end *world_dial(struct world *w, const char *address, const char *name)
{
    struct end *e = &w->client_ends[w->clients++];
    struct error err = {0};

    e->world = w;
    assert_int_equal(net_dial(&e->conn,
                              &(struct net_side){&w->loop, w->client_tls, &world_client_events, e},
                              address, name, &err),
                     STATUS_OK);
    return e;
}

/* Turns the loop until *flag. */
static inline void world_until(struct world *w, const bool *flag)
{
    world_be_patient(w);
    while (!*flag)
        uv_run(&w->loop, UV_RUN_ONCE);
    uv_timer_stop(&w->patience);
}

static inline void world_until_count(struct world *w, const size_t *count, size_t enough)
{
    world_be_patient(w);
    while (*count < enough)
        uv_run(&w->loop, UV_RUN_ONCE);
    uv_timer_stop(&w->patience);
}

/* Turns the loop until nothing is left in it, and checks that each connection ended exactly once.
 */
static inline void world_free(struct world *w)
{
    for (size_t i = 0; i < w->servers; i++)
        if (w->server_ends[i].conn != NULL)
            net_conn_close(w->server_ends[i].conn, false);
    for (size_t i = 0; i < w->clients; i++)
        if (w->client_ends[i].conn != NULL)
            net_conn_close(w->client_ends[i].conn, false);
    if (w->listener != NULL)
        net_listener_close(w->listener);
    world_be_patient(w);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < w->servers; i++)
        assert_int_equal(w->server_ends[i].closes, 1);
    for (size_t i = 0; i < w->clients; i++)
        assert_int_equal(w->client_ends[i].closes, 1);
    uv_close((uv_handle_t *)&w->patience, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
}

static inline struct net_identity world_identity(const struct test_pki *p, const char *name,
                                                 const char *ca, const char *crl)
{
    return (struct net_identity){.cert = test_pki_path(p, name, "pem"),
                                 .key = test_pki_path(p, name, "key"),
                                 .ca = ca,
                                 .crl = crl};
}

static inline struct net_tls *world_tls(bool server, const struct net_identity *id)
{
    struct error err = {0};
    struct net_tls *t;

    if (net_tls_new(&t, server, id, &err) != STATUS_OK)
        fail_msg("net_tls_new: %s", err.text);
    tls_context_limits(t)->handshake_ms = WORLD_PATIENCE_MS; /* a busy machine is no failure */
    tls_context_limits(t)->yield_ms = WORLD_PATIENCE_MS;
    return t;
}

/* --- what most test programs begin with
 * ------------------------------------------------------------ */

static struct test_pki pki; /* its CA has issued "server" and "p1" */
static struct net_tls *server_tls, *client_tls;
static struct tls_limits world_usual_limits;

static inline int setup(void **state)
{
    struct net_identity id;

    (void)state;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_issue(&pki, &(struct test_cert){.name = "server", .eku = TEST_EKU_SERVER});
    test_pki_issue(&pki, &(struct test_cert){.name = "p1"});
    id = world_identity(&pki, "server", pki.ca, NULL);
    server_tls = world_tls(true, &id);
    id = world_identity(&pki, "p1", pki.ca, "");
    client_tls = world_tls(false, &id);
    world_usual_limits = *tls_context_limits(server_tls);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    net_tls_free(server_tls);
    net_tls_free(client_tls);
    test_pki_deinit(&pki);
    return 0;
}

/* Each test begins with the limits of the daemons, and patience for handshakes. */
static inline int usual_limits(void **state)
{
    (void)state;
    *tls_context_limits(server_tls) = world_usual_limits;
    *tls_context_limits(client_tls) = world_usual_limits;
    return 0;
}

static inline void assert_says(const struct error *err, enum status s, const char *words)
{
    if (err->status != s || strstr(err->text, words) == NULL)
        fail_msg("expected status %d and '%s', got %d: %s", (int)s, words, (int)err->status,
                 err->text);
}

static inline void world_join_files(const char *out, const char *a, const char *b)
{
    const char *const in[] = {a, b};
    FILE *to = fopen(out, "w");

    assert_non_null(to);
    for (int i = 0; i < 2; i++) {
        FILE *from = fopen(in[i], "r");
        assert_non_null(from);
        for (int c = fgetc(from); c != EOF; c = fgetc(from))
            fputc(c, to);
        fclose(from);
    }
    fclose(to);
}

static inline void accept_peer(struct end *e)
{
    net_conn_accept(e->conn, WORLD_FRAME_MAX);
}

/* A world with one open connection between client_ends[0] and server_ends[0]. */
static inline struct world *connected(void (*on_frame)(struct end *, uint8_t *, size_t))
{
    struct world *w = world_new(server_tls, client_tls);

    w->on_open = accept_peer;
    w->on_frame = on_frame;
    world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &w->client_ends[0].opened);
    world_until(w, &w->server_ends[0].opened);
    return w;
}

static inline void echo_by_server(struct end *e, uint8_t *bytes, size_t n)
{
    if (e >= e->world->server_ends && e < e->world->server_ends + WORLD_ENDS)
        assert_int_equal(net_send(e->conn, bytes, n), STATUS_OK);
}

static inline uint8_t *pattern(size_t n)
{
    uint8_t *bytes = malloc(n);

    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    return bytes;
}

/* A peer with a good certificate that sends these bytes. */
static inline struct test_peer rogue(const void *bytes, size_t n)
{
    return (struct test_peer){.alpn = "vfl/1",
                              .cert = test_pki_path(&pki, "p1", "pem"),
                              .key = test_pki_path(&pki, "p1", "key"),
                              .bytes = bytes,
                              .n = n};
}

/* Lets a peer loose on a server and returns how the server ended the connection. */
static inline struct error end_of(struct net_tls *tls, struct test_peer *peer,
                                  void (*on_open)(struct end *), size_t *frames)
{
    struct world *w = world_new(tls, NULL);
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

/* The same of a client that dials the peer; one that refuses it has never had it open. */
static inline struct error end_of_dial(struct net_tls *tls, struct test_peer *peer)
{
    struct world *w = world_new(NULL, tls);
    char address[64];
    struct error err;
    struct end *e;

    test_peer_start(peer);
    snprintf(address, sizeof address, "127.0.0.1:%d", peer->port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    test_peer_join(peer);
    err = e->err;
    if (err.status == STATUS_AUTH || err.status == STATUS_PROTOCOL)
        assert_false(e->opened);
    world_free(w);
    return err;
}

#endif
