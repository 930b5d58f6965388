/* input.h -- from the socket to on_frame.  Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_INPUT_H
#define COLONNADE_NET_INPUT_H

#include "common/net/conn.h"

/* Starts reading; false (and the connection fails) when the socket does not let it. */
bool input_start(struct net_conn *c);
/* Does what can be done with the bytes at hand: the handshake's next step, records, frames. */
void input_run(struct net_conn *c);
void input_deinit(struct net_conn *c);

#endif
