/* shape.h -- an emulated link before the real one: delay, jitter, rate.  Private to common/net.
 *
 * A frame starts when the link is free, occupies it for its bits / rate, and leaves delay +- jitter
 * later (uniform), never before an earlier frame.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_SHAPE_H
#define COLONNADE_NET_SHAPE_H

#include "common/net/conn.h"

/* The timetable alone: microseconds in, microseconds out. */
struct shape_plan {
    struct net_shape rules;
    uint64_t free_us; /* when the link has sent all that was given to it */
    uint64_t last_us; /* when the last frame arrives at the other end */
};

/* When a frame of `bits`, given at now_us, is due.  `uniform` is drawn from [0, 1). */
uint64_t shape_due(struct shape_plan *p, uint64_t now_us, double bits, double uniform);

/* All take NULL for "no shape". */
enum status shape_send(struct shape *s, const uint8_t *bytes, size_t n) MUST_USE;
size_t shape_queued(const struct shape *s);
void shape_close(struct shape *s); /* closes its timer; drops what it holds */
void shape_free(struct shape *s);

#endif
