/* frame.c -- the incremental frame parser.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/frame.h"

#include "common/base/check.h"

#include <string.h>

void frame_parser_init(struct frame_parser *p, size_t max)
{
    *p = (struct frame_parser){.max = max};
    buf_init(&p->body, 0);
}

void frame_parser_deinit(struct frame_parser *p)
{
    buf_deinit(&p->body);
    *p = (struct frame_parser){0};
}

void frame_parser_set_max(struct frame_parser *p, size_t max)
{
    p->max = max;
}

bool frame_partial(const struct frame_parser *p)
{
    return p->head_n > 0;
}

void frame_head_pack(uint8_t head[FRAME_HEAD], size_t n)
{
    CHECK(n > 0 && n <= UINT32_MAX);
    head[0] = (uint8_t)(n >> 24);
    head[1] = (uint8_t)(n >> 16);
    head[2] = (uint8_t)(n >> 8);
    head[3] = (uint8_t)n;
}

static size_t head_unpack(const uint8_t head[FRAME_HEAD])
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

/* Takes bytes of the header; true when it is whole. */
static bool take_head(struct frame_parser *p, uint8_t **in, size_t *in_n)
{
    size_t n = FRAME_HEAD - p->head_n;

    if (n > *in_n)
        n = *in_n;
    memcpy(p->head + p->head_n, *in, n);
    p->head_n += (unsigned)n;
    *in += n;
    *in_n -= n;
    return p->head_n == FRAME_HEAD;
}

/* The big buffer of an earlier phase is given back once a run of small frames shows that it is
 * over. */
static void forget_big_buffer(struct frame_parser *p)
{
    if (p->body.cap <= FRAME_KEEP || ++p->idle < FRAME_IDLE_FRAMES)
        return;
    buf_deinit(&p->body);
    p->idle = 0;
}

static enum status admit(struct frame_parser *p, struct error *err)
{
    size_t n = head_unpack(p->head);

    if (n == 0)
        return error_set(err, STATUS_PROTOCOL, "a frame of no bytes");
    if (n > p->max)
        return error_set(err, STATUS_LIMIT, "frame over the limit (%zu > %zu)", n, p->max);
    p->need = n;
    return STATUS_OK;
}

enum status frame_next(struct frame_parser *p, uint8_t **frame, size_t *frame_n, uint8_t **in,
                       size_t *in_n, struct error *err)
{
    enum status s;
    size_t n;

    *frame = NULL;
    *frame_n = 0;
    if (p->need == 0) {
        /* The frame handed out by the last call has been used by now. */
        p->body.len = 0;
        if (*in_n == 0 || !take_head(p, in, in_n))
            return STATUS_OK;
        s = admit(p, err);
        if (s != STATUS_OK)
            return s;
    }
    n = p->need - p->body.len;
    if (p->body.len == 0 && *in_n >= n) {
        *frame = *in;
        forget_big_buffer(p);
    } else {
        if (n > *in_n)
            n = *in_n;
        p->body.max = p->need;
        s = buf_append(&p->body, *in, n);
        if (s != STATUS_OK)
            return error_set(err, s, "frame of %zu bytes: %s", p->need, status_words(s));
        if (p->body.len == p->need) {
            *frame = p->body.data;
            p->idle = 0;
        }
    }
    *in += n;
    *in_n -= n;
    if (*frame != NULL) {
        *frame_n = p->need;
        p->need = 0;
        p->head_n = 0;
    }
    return STATUS_OK;
}
