/* listen.h -- accepting connections, few at a time.  Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_LISTEN_H
#define COLONNADE_NET_LISTEN_H

#include "common/net/conn.h"

/* The connection is not pending any more (or never was). */
void listen_forget(struct net_conn *c);

#endif
