/* connection.h -- the party's connection to its server: the socket to events, messages to the
 * socket.
 *
 * One at a time; when it is lost it is dialled again after a jittered, growing pause.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CONNECTION_H
#define COLONNADE_PARTY_CONNECTION_H

#include "common/flow/driver.h"
#include "common/net/net.h"
#include "common/wire/message.h"
#include "party/run.h"

struct connection {
    struct party_run *run;
    struct driver *driver;
    uv_loop_t *uv;
    uv_timer_t redial, delay;
    struct net_tls *tls;
    struct net_conn *conn;
    bool open; /* TLS is up and the server is the roster's */
    bool closed;
    uint64_t redial_ms;
    uint64_t away_ms; /* not 0: this side has left for so long */
    bool refused;     /* the server's last word was that it will not have this party */
    struct wire_unpacker unpacker;
    size_t frame_max;
    bool grows;                /* an offer or hellos have come since frame_max was looked at */
    struct buf frame, delayed; /* delayed: a frame that inject.delay holds back */
    struct wire_msg delayed_msg;
};

/* Before anything else; c->run and c->driver are there and outlive c. */
void connection_init(struct connection *c, uv_loop_t *uv);
enum status connection_load_tls(struct connection *c, struct error *err) MUST_USE;
/* The run has begun: room for messages. */
enum status connection_begin(struct connection *c, struct error *err) MUST_USE;
void connection_dial(struct connection *c);
void connection_close(struct connection *c); /* behind the last words */
void connection_deinit(struct connection *c);

/* STATUS_MEMORY: it could not be packed. */
enum status connection_send(struct connection *c, const struct action *a) MUST_USE;
/* Work has begun, or ended: then a connection that was lost meanwhile is dialled again. */
void connection_pause(struct connection *c, bool paused);
/* As one who has died: it is dialled again after so long. */
void connection_leave(struct connection *c, uint64_t away_ms);
/* For a reason of this side's the run cannot go on, and what work is for is not sent. */
void connection_end_run(struct connection *c, const struct error *why);
/* New certificates and CRL; a live connection is checked against them. */
void connection_reload(struct connection *c);

#endif
