/* traffic.h -- bytes by party x direction x phase x message, counted where they happen.
 *
 * Three levels: payload (embeddings, shares, gradients), frame (length prefix and protobuf) and tls
 * (what went to the socket, which knows no messages).  Memory is fixed at init; adding costs a few
 * additions.  Not thread-safe: the loop thread counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_TRAFFIC_H
#define COLONNADE_METRICS_TRAFFIC_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { TRAFFIC_KINDS_MAX = 32 };

/* Up is party to server. */
enum traffic_direction { TRAFFIC_UP, TRAFFIC_DOWN, TRAFFIC_DIRECTIONS };
/* In the order of enum wire_phase. */
enum traffic_phase { TRAFFIC_SETUP, TRAFFIC_TRAIN, TRAFFIC_EVALUATE, TRAFFIC_PHASES };

struct traffic_cell {
    uint64_t count, payload, frame;
};

struct traffic_sum {
    uint64_t count, payload, frame, tls;
};

struct traffic {
    uint32_t parties, kinds;
    const char *const *names;  /* kinds names, as in summary.json */
    struct traffic_cell *cell; /* parties x directions x phases x kinds */
    uint64_t *tls;             /* parties x directions x phases */
};

/* `names` is kept by reference; kinds <= TRAFFIC_KINDS_MAX and parties >= 1 (CHECK). */
enum status traffic_init(struct traffic *t, uint32_t parties, const char *const *names,
                         uint32_t kinds) MUST_USE;
void traffic_deinit(struct traffic *t); /* safe on a zeroed struct */

/* Where a message is counted. */
struct traffic_at {
    uint32_t party;
    enum traffic_direction direction;
    enum traffic_phase phase;
    uint32_t kind; /* not read by traffic_add_tls */
};

/* One message of `frame` bytes, `payload` of them content. */
void traffic_add(struct traffic *t, struct traffic_at at, uint64_t payload, uint64_t frame);
/* Bytes written to or read from a socket. */
void traffic_add_tls(struct traffic *t, struct traffic_at at, uint64_t bytes);

/* Sums over all messages: of all parties, of one party in all phases, of one kind everywhere. */
struct traffic_sum traffic_of_phase(const struct traffic *t, enum traffic_direction d,
                                    enum traffic_phase p);
struct traffic_sum traffic_of_party(const struct traffic *t, uint32_t party,
                                    enum traffic_direction d);
struct traffic_cell traffic_of_kind(const struct traffic *t, uint32_t kind);

#endif
