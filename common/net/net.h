/* net.h -- frames over mutual TLS 1.3 over libuv: listen, dial, send, receive.  Knows no message.
 *
 * A frame is a 4-byte big-endian length and that many bytes.  The length is checked against the
 * connection's current maximum before anything is allocated; the receive buffer grows with received
 * bytes.  Every wait has a deadline (limits below).  A peer's fault costs that peer: on_close names
 * it.  Those that are not accepted yet share a part of the thread's time; the rest is for the
 * others.
 *
 * Callbacks run on the loop thread.  net_conn_close may be called from any of them; on_close is
 * then still called exactly once, after which the connection is gone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_NET_H
#define COLONNADE_NET_NET_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    NET_HANDSHAKE_MS = 10000,   /* TCP + TLS */
    NET_BODY_BASE_MS = 10000,   /* header to whole frame: this + size / NET_RATE_MIN */
    NET_RATE_MIN = 65536,       /* bytes per second */
    NET_WRITE_STUCK_MS = 30000, /* a write queue over its limit for this long drops the peer */
    NET_RECHECK_MS = 600000,    /* the peer's certificate again, as long as it is there (D5) */
    NET_LINGER_MS = 1000,       /* after the last byte: wait for the peer's end, so it arrives */
    NET_PENDING_MAX = 64, /* connections not accepted by net_conn_accept yet; more must wait */
    NET_YIELD_MS = 1000,  /* one without a certificate keeps its place for this while others wait */
    NET_PENDING_SHARE = 5, /* these may take 1/5 of the loop thread's time, and besides ... */
    NET_PENDING_BURST_US = 50000, /* ... this once, which lets 100 parties in that start together */
    NET_PENDING_DEBT_US = NET_PENDING_MAX * NET_PENDING_BURST_US, /* the most they can owe */
    NET_FRAME_PREAUTH_MAX = 4096,
    NET_SPKI_BYTES = 32,
};

struct net_tls; /* a TLS context of one role */
struct net_listener;
struct net_conn;

struct net_identity {
    const char *cert, *key, *ca, *crl; /* PEM paths; crl may be NULL or "" */
};

/* Bytes on the socket and frames, since the start of the connection. */
struct net_traffic {
    uint64_t tls_in, tls_out, records_in, records_out;
};

struct net_events {
    /* TLS is up.  spki: SHA-256 of the peer's SubjectPublicKeyInfo.  The peer may send frames of at
     * most NET_FRAME_PREAUTH_MAX bytes until net_conn_accept. */
    void (*on_open)(void *owner, struct net_conn *c, const uint8_t spki[NET_SPKI_BYTES]);
    /* A whole frame; `bytes` live until the callback returns. */
    void (*on_frame)(void *owner, struct net_conn *c, uint8_t *bytes, size_t n);
    /* The connection ended; err->status is STATUS_OK after an orderly end by this side, else
     * err->text begins with the peer's address.  Also called for an accepted connection that never
     * opened. */
    void (*on_close)(void *owner, struct net_conn *c, const struct error *err);
};

/* An emulated link: frames leave no sooner than delay +- jitter after net_send, at most rate bits
 * per second (0: not shaped).  Timers of the loop; nothing blocks. */
struct net_shape {
    double delay_ms, jitter_ms, rate_mbit;
};

/* Who listens or dials: copied. */
struct net_side {
    uv_loop_t *loop;
    struct net_tls *tls;
    const struct net_events *events;
    void *owner; /* given back to the events */
};

/* TLS 1.3 only, ALPN vfl/1, no tickets, no early data, both sides verified (threats D3, D4). */
enum status net_tls_new(struct net_tls **out, bool server, const struct net_identity *id,
                        struct error *err) MUST_USE;
/* Connections and listeners keep what they need of it.  One context serves one loop thread. */
void net_tls_free(struct net_tls *t);
/* New files for connections made from now on; on failure the old ones stay.  Live ones:
 * net_conn_recheck. */
enum status net_tls_reload(struct net_tls *t, const struct net_identity *id,
                           struct error *err) MUST_USE;
/* SHA-256 of this side's own SubjectPublicKeyInfo, and seconds until its certificate expires. */
void net_tls_own(const struct net_tls *t, uint8_t spki[NET_SPKI_BYTES], int64_t *expires_in_s);

enum status net_listen(struct net_listener **out, const struct net_side *side,
                       const char *host_port, unsigned pending_per_address,
                       struct error *err) MUST_USE;
/* "host:port" with the real port. */
const char *net_listener_address(const struct net_listener *l);
void net_listener_close(struct net_listener *l);

/* Resolves, connects, shakes hands; the peer's certificate must carry `peer_name` as a DNS SAN. */
enum status net_dial(struct net_conn **out, const struct net_side *side, const char *host_port,
                     const char *peer_name, struct error *err) MUST_USE;

/* The peer is known: it no longer counts as pending, and may send frames up to frame_max. */
void net_conn_accept(struct net_conn *c, size_t frame_max);
void net_conn_set_frame_max(struct net_conn *c, size_t frame_max);
/* Write queue above which the peer is "stuck" (1 MiB until this is called).  Twice of it closes at
 * once. */
void net_conn_set_queue_max(struct net_conn *c, size_t bytes);
void net_conn_shape(struct net_conn *c, const struct net_shape *shape);

/* Queues one frame (copied into TLS at once).  After a failure the connection closes by itself. */
enum status net_send(struct net_conn *c, const void *bytes, size_t n) MUST_USE;
/* Stops reading, so that a peer's later frames wait in the socket; and starts again. */
void net_conn_pause(struct net_conn *c, bool paused);
/* flush: what is queued is written first (bounded by NET_WRITE_STUCK_MS). */
void net_conn_close(struct net_conn *c, bool flush);
const struct net_traffic *net_conn_traffic(const struct net_conn *c);
const char *net_conn_address(const struct net_conn *c); /* "ip:port" of the peer */
/* SAN DNS names of the peer's certificate: whether `name` is among them. */
bool net_conn_has_name(const struct net_conn *c, const char *name);
/* The peer's certificate against the context's present CA and CRL, and the clock (threats D5); when
 * it does not hold any more, the connection closes with STATUS_AUTH and the answer is false.  Done
 * by itself every NET_RECHECK_MS; after net_tls_reload the owner need not wait for that. */
bool net_conn_recheck(struct net_conn *c);
/* A pointer of the owner's. */
void net_conn_set_data(struct net_conn *c, void *data);
void *net_conn_data(const struct net_conn *c);

#endif
