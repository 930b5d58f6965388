/* idx.c -- the header of an IDX file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/idx.h"

#include <string.h>

enum { IDX_UNSIGNED_BYTE = 0x08 };

static enum status refuse(const struct stream *s, const char *reason, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s: %s", s->path, reason);
}

static enum status read_exactly(struct stream *s, uint8_t *out, size_t n, struct error *err)
{
    size_t got;
    enum status status = stream_read(s, out, n, &got, err);

    if (status != STATUS_OK)
        return status;
    return got == n ? STATUS_OK : refuse(s, "ends inside the IDX header", err);
}

static enum status refuse_dims(const struct stream *s, const struct array *a, size_t which,
                               struct error *err)
{
    if (which == a->rank)
        return error_set(err, STATUS_DATA, "%s: %zu rows of %zu columns are too large a table",
                         s->path, a->dim[0], a->columns);
    if (a->dim[which] == 0)
        return error_set(err, STATUS_DATA, "%s: IDX dimension %zu is 0", s->path, which + 1);
    return error_set(err, STATUS_DATA, "%s: IDX dimension %zu is too large: %zu", s->path,
                     which + 1, a->dim[which]);
}

static enum status open_idx(struct array *a, struct stream *s, struct error *err)
{
    uint8_t magic[4], dims[4 * ARRAY_RANK_MAX];
    size_t which;
    enum status status = read_exactly(s, magic, sizeof magic, err);

    if (status != STATUS_OK)
        return status;
    if (magic[0] != 0 || magic[1] != 0)
        return refuse(s, "not an IDX file", err);
    if (magic[2] != IDX_UNSIGNED_BYTE)
        return error_set(err, STATUS_DATA, "%s: IDX type 0x%02x, only 0x08 (unsigned byte) is read",
                         s->path, magic[2]);
    if (magic[3] == 0 || magic[3] > ARRAY_RANK_MAX)
        return error_set(err, STATUS_DATA, "%s: %u IDX dimensions, 1 to %d are read", s->path,
                         magic[3], ARRAY_RANK_MAX);
    *a = (struct array){.kind = 'u', .element = 1, .rank = magic[3]};
    status = read_exactly(s, dims, 4 * a->rank, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < a->rank; i++) {
        const uint8_t *b = dims + 4 * i;

        a->dim[i] = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
    }
    return array_measure(a, &which) ? STATUS_OK : refuse_dims(s, a, which, err);
}

const struct array_format IDX_FORMAT = {.name = "an IDX", .unit = 255, .open = open_idx};

size_t idx_header(uint8_t out[IDX_HEADER_MAX], const struct array *a)
{
    memcpy(out, (const uint8_t[]){0, 0, IDX_UNSIGNED_BYTE, (uint8_t)a->rank}, 4);
    for (size_t i = 0; i < a->rank; i++)
        for (size_t k = 0; k < 4; k++)
            out[4 + 4 * i + k] = (uint8_t)(a->dim[i] >> (24 - 8 * k));
    return 4 + 4 * a->rank;
}

/* No text begins with two bytes 0; every IDX file does. */
static enum status content_is_idx(bool *idx, const char *path, struct error *err)
{
    struct stream stream;
    char first[2];
    size_t n = 0;
    enum status s = stream_open(&stream, path, err);

    if (s == STATUS_OK)
        s = stream_read(&stream, first, sizeof first, &n, err);
    *idx = n == 2 && first[0] == 0 && first[1] == 0;
    stream_close(&stream);
    return s;
}

enum status idx_is(bool *idx, const char *path, struct error *err)
{
    *idx = stream_ends(path, ".idx");
    if (*idx || stream_is_csv(path))
        return STATUS_OK;
    return content_is_idx(idx, path, err);
}
