/* output.h -- from net_send to the socket: records, one system call, and a queue for what is left.
 * Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_OUTPUT_H
#define COLONNADE_NET_OUTPUT_H

#include "common/net/conn.h"

/* Around each call that may make TLS write: begin says where to, flush hands it to the socket. */
void output_begin(struct net_conn *c);
void output_flush(struct net_conn *c);

/* Encrypts and writes one frame. */
enum status output_frame(struct net_conn *c, const uint8_t *bytes, size_t n) MUST_USE;

/* Bytes that the socket has not taken yet. */
size_t output_queued(const struct net_conn *c);
/* Whether all has been written and libuv has said so, which comes a turn later. */
bool output_idle(const struct net_conn *c);
void output_deinit(struct net_conn *c);

#endif
