/* fuzz_frame.c -- the frame parser against a naive reading of the same stream.
 *
 * Input: byte 0 chooses the maximum, byte 1 how the stream is cut into pieces; the rest is the
 * stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/net/frame.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    const uint8_t *at;
    size_t n, max;
};

/* The next frame of the whole stream, read at once.  *frame is NULL at the end or at the first
 * fault. */
static enum status read_naively(struct reading *r, const uint8_t **frame, size_t *n)
{
    uint32_t length;

    *frame = NULL;
    if (r->n < FRAME_HEAD)
        return STATUS_OK;
    length =
        (uint32_t)r->at[0] << 24 | (uint32_t)r->at[1] << 16 | (uint32_t)r->at[2] << 8 | r->at[3];
    if (length == 0)
        return STATUS_PROTOCOL;
    if (length > r->max)
        return STATUS_LIMIT;
    if (r->n - FRAME_HEAD < length)
        return STATUS_OK;
    *frame = r->at + FRAME_HEAD;
    *n = length;
    r->at += FRAME_HEAD + length;
    r->n -= FRAME_HEAD + length;
    return STATUS_OK;
}

/* Parses one piece; false once the stream has turned out to be bad. */
static bool parse_piece(struct frame_parser *p, struct reading *r, uint8_t *in, size_t n)
{
    while (n > 0) {
        const uint8_t *expected;
        uint8_t *frame;
        size_t frame_n, expected_n = 0;
        enum status s = frame_next(p, &frame, &frame_n, &in, &n, NULL);

        if (s == STATUS_OK && frame == NULL)
            continue;
        CHECK(read_naively(r, &expected, &expected_n) == s);
        if (s != STATUS_OK)
            return false;
        CHECK(expected != NULL && frame_n == expected_n && memcmp(frame, expected, frame_n) == 0);
    }
    CHECK(p->body.len <= p->max && p->body.cap <= 2 * p->max + 512);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_parser p;
    struct reading r;
    uint8_t piece[256];
    size_t step;
    bool good = true;

    if (size < 2)
        return 0;
    r = (struct reading){.at = data + 2, .n = size - 2, .max = (size_t)1 << (data[0] % 17)};
    step = data[1] == 0 ? sizeof piece : data[1];
    frame_parser_init(&p, r.max);
    for (size_t at = 2; good && at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        memcpy(piece, data + at, n);
        good = parse_piece(&p, &r, piece, n);
    }
    if (good) {
        const uint8_t *frame;
        size_t n;
        CHECK(read_naively(&r, &frame, &n) == STATUS_OK && frame == NULL);
    }
    frame_parser_deinit(&p);
    return 0;
}
