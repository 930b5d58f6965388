/* connections.h -- who is connected to the server: sockets to events, messages to sockets.
 *
 * One link (link.h) per connection; it becomes a party's when its join has been read, and then
 * replaces that party's older link.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_CONNECTIONS_H
#define COLONNADE_SERVER_CONNECTIONS_H

#include "common/flow/driver.h"
#include "common/net/net.h"
#include "common/wire/message.h"
#include "server/link.h"
#include "server/run.h"

struct connections {
    struct server_run *run;
    struct driver *driver;
    struct net_tls *tls;
    struct net_listener *listener;
    struct link *links, *party[WIRE_MEMBERS_MAX];
    bool barred[WIRE_MEMBERS_MAX]; /* no longer in the roster file */
    bool closed;
    struct wire_unpacker unpacker;
    struct buf frame;
    size_t up_max, queue_max;
    struct link_few few;
};

/* Listens, and says where in the state directory.  c->run has begun; it and c->driver outlive c.
 * Whatever the answer, c is closed, and given back when the loop has run out. */
enum status connections_open(struct connections *c, uv_loop_t *uv, struct error *err) MUST_USE;
void connections_close(struct connections *c); /* behind everybody's last words */
void connections_deinit(struct connections *c);

/* STATUS_MEMORY: it could not be packed. */
enum status connections_send(struct connections *c, const struct action *a) MUST_USE;
void connections_drop(struct connections *c, const struct action *a);

void connections_pause(struct connections *c, bool paused);
/* What the members say of their bottoms may ask for larger messages (fedvs). */
void connections_follow_sizes(struct connections *c);
/* Of those that have not joined in time, the end. */
void connections_tick(struct connections *c, uint64_t now_us);
/* New certificates and CRL for new connections; live ones are checked against them.  Parties that
 * are no longer in the roster file are shut out; new ones need a restart, since the plan is for a
 * fixed set. */
void connections_reload(struct connections *c);

#endif
