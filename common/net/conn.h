/* conn.h -- one connection: its parts, its states and its end.  Private to common/net.
 *
 *     DIALLING -> HANDSHAKE -> OPEN -> FLUSHING -> LINGERING -> CLOSING -> gone
 *
 * Any state may go to CLOSING at once.  FLUSHING: this side has ended the connection and what is
 * queued is being written.  LINGERING: all is written and the socket is shut for writing; waiting
 * for the peer's end (or a short while), since a socket closed with unread input would be reset and
 * the last bytes lost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_CONN_H
#define COLONNADE_NET_CONN_H

#include "common/net/addr.h"
#include "common/net/frame.h"
#include "common/net/net.h"
#include "common/net/tls.h"

enum conn_state {
    CONN_DIALLING,
    CONN_HANDSHAKE,
    CONN_OPEN,
    CONN_FLUSHING,
    CONN_LINGERING,
    CONN_CLOSING,
};

enum { CONN_QUEUE_MAX = 1 << 20 }; /* until net_conn_set_queue_max */

struct dial;
struct shape;

struct net_conn {
    uv_tcp_t tcp;
    uv_timer_t read_timer;  /* handshake, then the frame in progress, or the turn after a pause */
    uv_timer_t write_timer; /* a stuck queue, then flushing, then lingering */
    uv_timer_t recheck_timer;
    unsigned handles; /* libuv handles and requests that have yet to call back */
    enum conn_state state;
    struct net_tls *context;
    struct tls *tls;
    struct net_events events;
    void *owner, *data;
    struct net_traffic traffic;
    struct error err;
    struct sockaddr_storage peer;
    char address[ADDR_TEXT_MAX];
    uint8_t key[NET_SPKI_BYTES]; /* digest of the peer's; zeros before it has shown one */

    /* input.c */
    bool paused, in_input, peer_ended, plain_is_kept;
    struct frame_parser parser;
    uint8_t *plain; /* decrypted and not yet cut into frames */
    size_t plain_n;
    struct buf kept_plain; /* the same, over a pause */
    uint64_t frame_since;  /* when the frame in progress began; 0: none */

    /* output.c */
    struct buf flying;  /* handed to libuv, hence immovable; empty: the socket takes all */
    struct buf waiting; /* written when it has landed */
    uv_write_t write_req;
    uv_shutdown_t shutdown_req;
    int write_error;
    size_t queue_max;

    struct net_listener *listener; /* as long as it is pending there */
    struct net_conn *pending_prev, *pending_next;
    uint64_t pending_since; /* ms of the loop */
    bool waits;             /* not read from until the pending owe no time */
    struct dial *dial;
    struct shape *shape;
};

/* NULL when memory is short.  The TCP handle is ready for accept or connect; the handshake timer
 * runs. */
struct net_conn *conn_new(uv_loop_t *loop, struct net_tls *context, const struct net_events *events,
                          void *owner);
/* TCP is up: the TLS handshake begins.  peer_name as in tls_open. */
void conn_start(struct net_conn *c, const char *peer_name);

/* TLS is up: from now on the peer's certificate is looked at again and again. */
void conn_opened(struct net_conn *c);

/* Notes the reason (the first one counts), with the peer's address before it. */
void conn_blame(struct net_conn *c, enum status s, const char *fmt, ...) PRINTF_LIKE(3, 4);
void conn_close_now(struct net_conn *c);
/* blame and close_now. */
void conn_fail(struct net_conn *c, enum status s, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Ends it after what is queued (an alert, perhaps) has been written. */
void conn_finish(struct net_conn *c);
/* To be called when a queue has run empty. */
void conn_drained(struct net_conn *c);
/* The close callback of each handle. */
void conn_handle_closed(uv_handle_t *handle);

#endif
