/* lattice.c -- payloads of dithered quantisers: the scale, then codes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/compress/lattice_run.h"
#include "common/compress/lattice_scale.h"
#include "common/compress/lattice_stream.h"
#include "common/config/encoding.h"

#include <math.h>
#include <string.h>

enum { SCALE_BYTES = 4, CHUNK_MAX = LATTICE_RUN * LATTICE_DIMS };

float lattice_scale_max(uint32_t bits)
{
    return ldexpf(1, 127 - (int)bits);
}

uint32_t lattice_dims(enum plan_encoding kind)
{
    const uint32_t dims = encoding_row(kind)->dims;

    CHECK(dims > 0);
    return dims;
}

static size_t padded(uint32_t dims, size_t n)
{
    return (n + dims - 1) / dims * dims;
}

size_t lattice_bytes(enum plan_encoding kind, uint32_t bits, size_t n)
{
    return n == 0 ? 0 : SCALE_BYTES + bits_bytes(padded(lattice_dims(kind), n), bits);
}

/* --- chunks: at most LATTICE_RUN blocks, which begin at whole bytes --- */

struct chunk {
    struct lattice_cell cell;
    struct lattice_run run;
    struct prg stream; /* of dithers, chunk after chunk */
    uint16_t t[CHUNK_MAX], code[CHUNK_MAX];
};

/* Zeros from n on for the blocks that fill up a group. */
static void clear_group(uint16_t *v, size_t n, uint32_t dims)
{
    const size_t whole = (size_t)LATTICE_LANES * dims;

    if (n % whole != 0)
        memset(v + n, 0, (whole - n % whole) * sizeof *v);
}

/* The dithers of the chunk where `left` values are still to come.  Returns its blocks, which hold
 * `some` of these values; the last may have room for more. */
static size_t next_chunk(struct chunk *c, size_t left, size_t *some)
{
    const uint32_t dims = c->cell.dims;
    const size_t all = (left + dims - 1) / dims, blocks = all < LATTICE_RUN ? all : LATTICE_RUN;
    const size_t n = blocks * dims;

    lattice_stream_fill(&c->stream, c->t, n);
    clear_group(c->t, n, dims);
    lattice_run_dither(&c->cell, &c->run, c->t, blocks);
    *some = left < n ? left : n;
    return blocks;
}

static void encode_chunk(struct chunk *c, size_t blocks)
{
    const uint32_t dims = c->cell.dims;
    struct lattice_codes codes;

    for (size_t g = 0; g * LATTICE_LANES < blocks; g++) {
        uint16_t *to = c->code + g * LATTICE_LANES * dims;

        lattice_cell_encode(&c->cell, &codes, &c->run.m[g]);
        for (size_t l = 0; l < LATTICE_LANES; l++)
            for (uint32_t i = 0; i < dims; i++)
                to[l * dims + i] = codes.v[i][l];
    }
}

/* One group's n values, n <= d LATTICE_LANES. */
static void take_out(float *y, const struct lattice_group *p, uint32_t dims, size_t n, float scale)
{
    for (size_t l = 0; l * dims < n; l++)
        for (uint32_t i = 0; i < dims && l * dims + i < n; i++)
            y[l * dims + i] = scale * p->v[i][l];
}

/* y[n], n at most those of the chunk. */
static void decode_chunk(struct chunk *c, float *y, size_t n, float scale)
{
    const uint32_t dims = c->cell.dims;
    const size_t whole = (size_t)LATTICE_LANES * dims;
    struct lattice_codes codes;
    struct lattice_group p;

    for (size_t at = 0; at < n; at += whole) {
        for (size_t l = 0; l < LATTICE_LANES; l++)
            for (uint32_t i = 0; i < dims; i++)
                codes.v[i][l] = c->code[at + l * dims + i];
        lattice_cell_decode(&c->cell, &p, &codes, &c->run.u[at / whole]);
        take_out(y + at, &p, dims, n - at < whole ? n - at : whole, scale);
    }
}

/* --- payloads --- */

size_t lattice_pack_as(const struct lattice_fit *fit, uint8_t *out, const float *x, size_t n,
                       const uint8_t *key)
{
    const float scale = fit->square ? -fit->scale : fit->scale;
    struct chunk c;
    size_t overloads = 0;

    if (n == 0)
        return 0;
    memset(out, 0, lattice_bytes(fit->kind, fit->bits, n));
    if (fit->scale == 0)
        return 0;
    memcpy(out, &scale, SCALE_BYTES);
    out += SCALE_BYTES;
    lattice_cell_of(&c.cell, fit->kind, fit->bits, fit->square);
    lattice_stream_begin(&c.stream, key);
    for (size_t at = 0, some; at < n; at += some) {
        const size_t blocks = next_chunk(&c, n - at, &some);

        lattice_run_load(&c.cell, &c.run, x + at, some, fit->scale);
        overloads += lattice_run_quantise(&c.cell, &c.run, blocks);
        encode_chunk(&c, blocks);
        bits_pack16(out + bits_bytes(at, fit->bits), c.code, blocks * c.cell.dims, fit->bits);
    }
    lattice_stream_end(&c.stream);
    return overloads;
}

void lattice_pack(enum plan_encoding kind, uint32_t bits, uint8_t *out, const float *x, size_t n,
                  const uint8_t *key)
{
    struct lattice_fit fit;

    if (n == 0)
        return;
    lattice_scale_fit(&fit, kind, bits, x, n);
    lattice_pack_as(&fit, out, x, n, key);
}

static bool all_zero(const uint8_t *in, size_t n)
{
    unsigned any = 0;

    for (size_t i = 0; i < n; i++)
        any |= in[i];
    return any == 0;
}

static bool fit_unpack(struct lattice_fit *fit, enum plan_encoding kind, uint32_t bits,
                       const uint8_t *in)
{
    float scale;

    memcpy(&scale, in, SCALE_BYTES);
    *fit = (struct lattice_fit){kind, bits, signbit(scale) != 0, fabsf(scale)};
    if (fit->square && (lattice_dims(kind) == 1 || fit->scale == 0))
        return false;
    return fit->scale == 0 ||
           (fit->scale >= LATTICE_SCALE_MIN && fit->scale <= lattice_scale_max(bits));
}

bool lattice_unpack(enum plan_encoding kind, uint32_t bits, float *y, const uint8_t *in, size_t n,
                    const uint8_t *key)
{
    const size_t codes = padded(lattice_dims(kind), n) * bits;
    struct lattice_fit fit;
    struct chunk c;

    if (n == 0)
        return true;
    if (!fit_unpack(&fit, kind, bits, in))
        return false;
    in += SCALE_BYTES;
    if (codes % 8 != 0 && in[codes / 8] >> codes % 8 != 0)
        return false;
    if (fit.scale == 0) {
        memset(y, 0, n * sizeof *y);
        return all_zero(in, (codes + 7) / 8);
    }
    lattice_cell_of(&c.cell, kind, bits, fit.square);
    lattice_stream_begin(&c.stream, key);
    for (size_t at = 0, some; at < n; at += some) {
        const size_t blocks = next_chunk(&c, n - at, &some);

        bits_unpack16(c.code, in + bits_bytes(at, bits), blocks * c.cell.dims, bits);
        clear_group(c.code, blocks * c.cell.dims, c.cell.dims);
        decode_chunk(&c, y + at, some, fit.scale);
    }
    lattice_stream_end(&c.stream);
    return true;
}
