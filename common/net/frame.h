/* frame.h -- cuts a stream of bytes into frames: a 4-byte big-endian length, then that many bytes.
 *
 * Pure: no socket, no TLS, no clock.  The length is compared with the current maximum before
 * anything is allocated, and the buffer grows with the bytes received, never to the length
 * announced (threats E1). A frame that lies whole in the input is handed out where it lies; only a
 * frame that arrives in pieces is copied.  A frame of no bytes is a protocol violation: no message
 * packs to nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_FRAME_H
#define COLONNADE_NET_FRAME_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_HEAD = 4,
    FRAME_KEEP = 65536,      /* a larger buffer is given back after ... */
    FRAME_IDLE_FRAMES = 256, /* ... so many frames in a row that did not need it */
};

struct frame_parser {
    size_t max;  /* the largest length that the next header may announce */
    size_t need; /* length of the frame in progress; 0 until its header is whole */
    unsigned head_n, idle;
    uint8_t head[FRAME_HEAD];
    struct buf body;
};

void frame_parser_init(struct frame_parser *p, size_t max);
void frame_parser_deinit(struct frame_parser *p); /* safe on a zeroed struct */

/* Applies to headers completed from now on; a frame whose header has been admitted may still
 * arrive. */
void frame_parser_set_max(struct frame_parser *p, size_t max);

/* Consumes from (*in, *in_n) up to the end of one frame.  *frame is the frame, valid until the next
 * call and as long as the input lives, or NULL when the input ended before it was whole.
 * STATUS_LIMIT: length over the maximum; STATUS_PROTOCOL: length 0; STATUS_MEMORY.  After a failure
 * the parser must not be used further. */
enum status frame_next(struct frame_parser *p, uint8_t **frame, size_t *frame_n, uint8_t **in,
                       size_t *in_n, struct error *err) MUST_USE;

/* Whether a frame has begun and is not whole. */
bool frame_partial(const struct frame_parser *p);

void frame_head_pack(uint8_t head[FRAME_HEAD], size_t n);

#endif
