/* link.h -- one connection at the server: whose it is, what has passed over it, its last words.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_LINK_H
#define COLONNADE_SERVER_LINK_H

#include "common/base/log.h"
#include "common/metrics/traffic.h"
#include "common/net/net.h"
#include "common/wire/message.h"

struct link {
    struct net_conn *conn;
    struct link *next;
    uint32_t peer; /* roster index */
    bool joined;   /* its frames go to the session */
    bool refused;  /* it has had its last words: nothing it says counts any more */
    uint64_t opened_us, tls_in, tls_out;
};

/* Counts a message of `frame` bytes, and the socket bytes since the last count, once the link has
 * joined; what came before that is then counted with the join. */
void link_count(struct link *k, struct traffic *t, enum traffic_direction d,
                const struct wire_msg *m, size_t frame);

/* Sends the packed message m; when that fails the connection closes by itself and says why. */
void link_send(struct link *k, struct traffic *t, const struct buf *frame,
               const struct wire_msg *m);

/* Words for a connection that is about to end, whether or not it belongs to a party yet. */
void link_refuse(struct link *k, struct traffic *t, struct buf *scratch, enum status_kind kind,
                 const char *text);

/* Of warnings that whoever is at the other end can cause, few: of all connections that have not
 * joined (NULL: nor shaken hands) together, and of each party. */
struct link_few {
    struct log_few strangers, party[WIRE_MEMBERS_MAX];
};
void link_warn(const struct link *k, struct link_few *few, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
