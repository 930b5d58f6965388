/* record.c -- structs field by field.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/record.h"

#include "common/base/le.h"

#include <string.h>

size_t record_bytes(const struct record_field *field, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += field[i].bytes;
    return bytes;
}

/* A number as the wide one that holds it; a double by its bits. */
static uint64_t number(const struct record_field *f, const uint8_t *from)
{
    uint32_t narrow;
    uint64_t wide = 0;

    if (f->kind == RECORD_BOOL)
        return *(const bool *)from;
    if (f->kind != RECORD_U32) {
        memcpy(&wide, from, sizeof wide);
        return wide;
    }
    memcpy(&narrow, from, sizeof narrow);
    return narrow;
}

static uint8_t *write_field(uint8_t *to, const struct record_field *f, const uint8_t *from)
{
    if (f->kind != RECORD_BYTES)
        return le_put(to, number(f, from), f->bytes);
    memcpy(to, from, f->bytes);
    return to + f->bytes;
}

void record_write(uint8_t *to, const struct record_field *field, size_t n, const void *from)
{
    for (size_t i = 0; i < n; i++)
        to = write_field(to, &field[i], (const uint8_t *)from + field[i].at);
}

enum status record_print(struct buf *out, const struct record_field *field, size_t n,
                         const void *from)
{
    const size_t bytes = record_bytes(field, n);
    enum status s = buf_reserve(out, bytes);

    if (s != STATUS_OK)
        return s;
    record_write(out->data + out->len, field, n, from);
    out->len += bytes;
    return STATUS_OK;
}

static bool parse_field(uint8_t *to, const struct record_field *f, const uint8_t *bytes)
{
    uint64_t wide;
    uint32_t narrow;

    if (f->kind == RECORD_BYTES) {
        memcpy(to, bytes, f->bytes);
        return true;
    }
    wide = le_take(&bytes, f->bytes);
    narrow = (uint32_t)wide;
    if (f->kind == RECORD_BOOL)
        *(bool *)to = wide == 1;
    else if (f->kind == RECORD_U32)
        memcpy(to, &narrow, sizeof narrow);
    else
        memcpy(to, &wide, sizeof wide);
    return f->kind != RECORD_BOOL || wide <= 1;
}

bool record_parse(void *to, const struct record_field *field, size_t n, const uint8_t *bytes)
{
    bool good = true;

    for (size_t i = 0; i < n && good; i++) {
        good = parse_field((uint8_t *)to + field[i].at, &field[i], bytes);
        bytes += field[i].bytes;
    }
    return good;
}
