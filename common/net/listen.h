/* listen.h -- accepting connections, few at a time.  Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_LISTEN_H
#define COLONNADE_NET_LISTEN_H

#include "common/net/conn.h"

/* Time that goes to a connection which has not said who it is (threats E4): begins, and at its end
 * either more may follow, or the connection is not read from for a while.  A connection that is
 * known costs one comparison. */
struct listen_time {
    struct net_listener *listener; /* NULL: known */
    uint64_t from_us;
};
struct listen_time listen_time_begin(const struct net_conn *c);
void listen_time_end(const struct listen_time *t);
/* Nothing is to be read from it just now: it is one of the pending, and they owe time. */
bool listen_must_wait(struct net_conn *c);

/* It has shown its certificate.  Of one key one connection is pending, the newest: whoever has one
 * key, or a few, holds as many places and not all of them. */
void listen_shown(struct net_conn *c);

/* The connection is not pending any more (or never was). */
void listen_forget(struct net_conn *c);

#endif
