/* lattice_cell.c -- Z, A2 and E8 in loops over sixteen blocks, which compilers turn into whole
 * registers.
 *
 * Everything is float32 with the operations as written (no contraction), so that a payload means
 * the same everywhere.  Roundings go to the nearest, ties to even, by adding and taking away
 * 1.5 * 2^23: numbers stay below 2^22.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_cell.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/config/encoding.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EACH_LANE for (int l = 0; l < LATTICE_LANES; l++)
#define EACH_DIM for (int i = 0; i < LATTICE_DIMS; i++)

#define ROOT3 1.7320508F
#define HALF_ROOT3 0.8660254F

INLINE float nearest_integer(float x)
{
    return (x + 0x1.8p23F) - 0x1.8p23F;
}

INLINE double nearest_whole(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* To multiply with: a choice that is no branch. */
#define WHEN(so) ((so) ? 1.0F : 0.0F)

/* --- Z --- */

INLINE void z_nearest(float m[restrict LATTICE_LANES], const float y[restrict LATTICE_LANES])
{
    EACH_LANE m[l] = nearest_integer(y[l]);
}

/* --- A2: the nearer of the nearest points of two rectangular lattices --- */

INLINE void a2_nearest(float m[2][LATTICE_LANES], float y[2][LATTICE_LANES])
{
    float a[2][LATTICE_LANES], b[2][LATTICE_LANES], first[LATTICE_LANES];

    EACH_LANE
    {
        const float x0 = y[0][l], x1 = y[1][l] * (1 / ROOT3);
        const float a0 = nearest_integer(x0), a1 = nearest_integer(x1);
        const float b0 = nearest_integer(x0 - 0.5F) + 0.5F;
        const float b1 = nearest_integer(x1 - 0.5F) + 0.5F;
        const float to_a = (x0 - a0) * (x0 - a0) + 3 * ((x1 - a1) * (x1 - a1));
        const float to_b = (x0 - b0) * (x0 - b0) + 3 * ((x1 - b1) * (x1 - b1));

        a[0][l] = a0;
        a[1][l] = a1;
        b[0][l] = b0;
        b[1][l] = b1;
        first[l] = WHEN(to_a <= to_b);
    }
    for (int i = 0; i < 2; i++)
        EACH_LANE m[i][l] = first[l] * (2 * a[i][l]) + (1 - first[l]) * (2 * b[i][l]);
}

/* --- E8: the nearer of the nearest points of D8 and of D8 + (1/2)^8 --- */

/* f: the nearest integers of one component; their sum, and how far the farthest is. */
INLINE void d8_round(float f[restrict LATTICE_LANES], float sum[restrict LATTICE_LANES],
                     float worst[restrict LATTICE_LANES], const float y[restrict LATTICE_LANES],
                     float shift)
{
    EACH_LANE
    {
        const float x = y[l] - shift, r = nearest_integer(x), d = fabsf(x - r);

        f[l] = r;
        sum[l] += r;
        worst[l] = d > worst[l] ? d : worst[l];
    }
}

/* Where the sum is odd the first component that is as far as the farthest goes to the integer on
 * its other side. */
INLINE void d8_even(float f[restrict LATTICE_LANES], float odd[restrict LATTICE_LANES],
                    float distance[restrict LATTICE_LANES],
                    const float worst[restrict LATTICE_LANES],
                    const float y[restrict LATTICE_LANES], float shift)
{
    EACH_LANE
    {
        const float x = y[l] - shift, d = x - f[l];
        const float flip = WHEN(fabsf(d) == worst[l]) * odd[l];
        const float r = f[l] + copysignf(flip, d);

        odd[l] -= flip;
        f[l] = r;
        distance[l] += (x - r) * (x - r);
    }
}

/* f: nearest point of D8 + shift, less the shift; D8: the integer points of even sum. */
INLINE void d8_nearest(float f[LATTICE_DIMS][LATTICE_LANES], float distance[LATTICE_LANES],
                       float y[LATTICE_DIMS][LATTICE_LANES], float shift)
{
    float sum[LATTICE_LANES] = {0}, worst[LATTICE_LANES] = {0}, odd[LATTICE_LANES];

    EACH_DIM d8_round(f[i], sum, worst, y[i], shift);
    EACH_LANE odd[l] = fabsf(sum[l] - 2 * nearest_integer(sum[l] * 0.5F));
    EACH_LANE distance[l] = 0;
    EACH_DIM d8_even(f[i], odd, distance, worst, y[i], shift);
}

INLINE void pick(float m[restrict LATTICE_LANES], const float first[restrict LATTICE_LANES],
                 const float a[restrict LATTICE_LANES], const float b[restrict LATTICE_LANES])
{
    EACH_LANE m[l] = first[l] * (2 * a[l]) + (1 - first[l]) * (2 * b[l] + 1);
}

INLINE void e8_nearest(float m[LATTICE_DIMS][LATTICE_LANES], float y[LATTICE_DIMS][LATTICE_LANES])
{
    float a[LATTICE_DIMS][LATTICE_LANES], b[LATTICE_DIMS][LATTICE_LANES];
    float da[LATTICE_LANES], db[LATTICE_LANES], first[LATTICE_LANES];

    d8_nearest(a, da, y, 0);
    d8_nearest(b, db, y, 0.5F);
    EACH_LANE first[l] = WHEN(da[l] <= db[l]);
    EACH_DIM pick(m[i], first, a[i], b[i]);
}

/* --- dithers: u = G t --- */

static void a2_turn_back(const struct lattice_cell *c, struct lattice_group *x)
{
    EACH_LANE
    {
        const float x0 = x->v[0][l], x1 = x->v[1][l];

        x->v[0][l] = c->turn_cos * x0 + c->turn_sin * x1;
        x->v[1][l] = c->turn_cos * x1 - c->turn_sin * x0;
    }
}

/* The middle of one of 2^16 equal pieces of [0, 1). */
INLINE float unit_of(uint16_t t)
{
    return ((float)t + 0.5F) * 0x1p-16F;
}

WIDE_CLONES static void dither_z(struct lattice_group *restrict u, const uint16_t *restrict t)
{
    EACH_LANE u->v[0][l] = unit_of(t[l]);
}

WIDE_CLONES static void dither_a2(struct lattice_group *restrict u, const uint16_t *restrict t)
{
    EACH_LANE
    {
        const float t0 = unit_of(t[2 * l]), t1 = unit_of(t[2 * l + 1]);

        u->v[0][l] = t0 + 0.5F * t1;
        u->v[1][l] = HALF_ROOT3 * t1;
    }
}

WIDE_CLONES static void dither_e8(struct lattice_group *restrict u, const uint16_t *restrict t)
{
    float last[LATTICE_LANES];

    EACH_DIM EACH_LANE u->v[i][l] = unit_of(t[LATTICE_DIMS * l + i]);
    EACH_LANE last[l] = 0.5F * u->v[7][l];
    EACH_LANE u->v[0][l] = 2 * u->v[0][l] - u->v[1][l] + last[l];
    for (int i = 1; i < 6; i++)
        EACH_LANE u->v[i][l] = u->v[i][l] - u->v[i + 1][l] + last[l];
    EACH_LANE u->v[6][l] += last[l];
    EACH_LANE u->v[7][l] = last[l];
}

void lattice_cell_dither(const struct lattice_cell *c, struct lattice_group *u, const uint16_t *t)
{
    switch (c->dims) {
    case 1: dither_z(u, t); break;
    case 2:
        dither_a2(u, t);
        a2_turn_back(c, u);
        break;
    default: dither_e8(u, t);
    }
}

/* --- nearest points --- */

WIDE_CLONES static void nearest_z(struct lattice_group *restrict m,
                                  struct lattice_group *restrict p,
                                  const struct lattice_group *restrict y,
                                  const struct lattice_group *restrict u)
{
    EACH_LANE
    {
        m->v[0][l] = nearest_integer(y->v[0][l] + u->v[0][l]);
        p->v[0][l] = m->v[0][l] - u->v[0][l];
    }
}

WIDE_CLONES static void nearest_a2(const struct lattice_cell *restrict c,
                                   struct lattice_group *restrict m,
                                   struct lattice_group *restrict p,
                                   const struct lattice_group *restrict y,
                                   const struct lattice_group *restrict u)
{
    const float turn_cos = c->turn_cos, turn_sin = c->turn_sin;
    float x[2][LATTICE_LANES], near[2][LATTICE_LANES];

    EACH_LANE
    {
        const float x0 = y->v[0][l] + u->v[0][l], x1 = y->v[1][l] + u->v[1][l];

        x[0][l] = turn_cos * x0 - turn_sin * x1;
        x[1][l] = turn_sin * x0 + turn_cos * x1;
    }
    a2_nearest(near, x);
    EACH_LANE
    {
        const float x0 = 0.5F * near[0][l], x1 = HALF_ROOT3 * near[1][l];

        m->v[0][l] = near[0][l];
        m->v[1][l] = near[1][l];
        p->v[0][l] = turn_cos * x0 + turn_sin * x1 - u->v[0][l];
        p->v[1][l] = turn_cos * x1 - turn_sin * x0 - u->v[1][l];
    }
}

WIDE_CLONES static void nearest_e8(struct lattice_group *restrict m,
                                   struct lattice_group *restrict p,
                                   const struct lattice_group *restrict y,
                                   const struct lattice_group *restrict u)
{
    float x[LATTICE_DIMS][LATTICE_LANES];

    EACH_DIM EACH_LANE x[i][l] = y->v[i][l] + u->v[i][l];
    e8_nearest(m->v, x);
    EACH_DIM EACH_LANE p->v[i][l] = 0.5F * m->v[i][l] - u->v[i][l];
}

void lattice_cell_nearest(const struct lattice_cell *c, struct lattice_group *m,
                          struct lattice_group *p, const struct lattice_group *y,
                          const struct lattice_group *u)
{
    switch (c->dims) {
    case 1: nearest_z(m, p, y, u); break;
    case 2: nearest_a2(c, m, p, y, u); break;
    default: nearest_e8(m, p, y, u);
    }
}

/* --- regions --- */

INLINE void outside_box(const struct lattice_cell *c, float outside[LATTICE_LANES],
                        const struct lattice_group *p, int dims)
{
    EACH_LANE outside[l] = fabsf(p->v[0][l]) > c->half[0] * LATTICE_ROOM ? 1 : 0;
    for (int i = 1; i < dims; i++)
        EACH_LANE outside[l] = fabsf(p->v[i][l]) > c->half[1] * LATTICE_ROOM ? 1 : outside[l];
}

WIDE_CLONES static void outside_z(const struct lattice_cell *restrict c,
                                  float outside[restrict LATTICE_LANES],
                                  const struct lattice_group *restrict p)
{
    outside_box(c, outside, p, 1);
}

WIDE_CLONES static void outside_a2(const struct lattice_cell *restrict c,
                                   float outside[restrict LATTICE_LANES],
                                   const struct lattice_group *restrict p)
{
    const float shrink = 1 / (c->size * LATTICE_ROOM);
    float x[2][LATTICE_LANES], m[2][LATTICE_LANES];

    if (c->square) {
        outside_box(c, outside, p, 2);
        return;
    }
    for (int i = 0; i < 2; i++)
        EACH_LANE x[i][l] = p->v[i][l] * shrink;
    a2_nearest(m, x);
    EACH_LANE outside[l] = fabsf(m[0][l]) + fabsf(m[1][l]) > 0 ? 1 : 0;
}

WIDE_CLONES static void outside_e8(const struct lattice_cell *restrict c,
                                   float outside[restrict LATTICE_LANES],
                                   const struct lattice_group *restrict p)
{
    const float shrink = 1 / (c->size * LATTICE_ROOM);
    float x[LATTICE_DIMS][LATTICE_LANES], m[LATTICE_DIMS][LATTICE_LANES];

    if (c->square) {
        outside_box(c, outside, p, LATTICE_DIMS);
        return;
    }
    EACH_DIM EACH_LANE x[i][l] = p->v[i][l] * shrink;
    e8_nearest(m, x);
    EACH_LANE outside[l] = 0;
    EACH_DIM EACH_LANE outside[l] = fabsf(m[i][l]) > 0 ? 1 : outside[l];
}

void lattice_cell_outside(const struct lattice_cell *c, float outside[LATTICE_LANES],
                          const struct lattice_group *p)
{
    switch (c->dims) {
    case 1: outside_z(c, outside, p); break;
    case 2: outside_a2(c, outside, p); break;
    default: outside_e8(c, outside, p);
    }
}

/* --- codes --- */

WIDE_CLONES static void encode_z(const struct lattice_cell *restrict c,
                                 struct lattice_codes *restrict code,
                                 const struct lattice_group *restrict m)
{
    const int32_t low = (1 << c->bits) - 1;

    EACH_LANE code->v[0][l] = (uint16_t)((int32_t)m->v[0][l] & low);
}

/* round: l = i e1 + j e2, i and j modulo 2^b.  square: the row, p j - q i, modulo 2^(2b), in which
 * there is one point of the box; its lower half first. */
WIDE_CLONES static void encode_a2(const struct lattice_cell *restrict c,
                                  struct lattice_codes *restrict code,
                                  const struct lattice_group *restrict m)
{
    const int32_t low = (1 << c->bits) - 1, p = (int32_t)c->p, q = (int32_t)c->q;
    const uint32_t b = c->bits;

    if (!c->square) {
        EACH_LANE code->v[0][l] = (uint16_t)((int32_t)(0.5F * (m->v[0][l] - m->v[1][l])) & low);
        EACH_LANE code->v[1][l] = (uint16_t)((int32_t)m->v[1][l] & low);
        return;
    }
    EACH_LANE
    {
        const int32_t j = (int32_t)m->v[1][l], i = ((int32_t)m->v[0][l] - j) / 2;
        const int32_t row = p * j - q * i;

        code->v[0][l] = (uint16_t)(row & low);
        code->v[1][l] = (uint16_t)(row >> b & low);
    }
}

/* round: coordinates in the basis 2 f1, f2 - f1, ..., f7 - f6, (1/2)^8, modulo 2^b.  square: m is
 * 2 n + h; n modulo 2^b, but the sum of n is even, so in the place of n8's lowest bit stands h. */
WIDE_CLONES static void encode_e8(const struct lattice_cell *restrict c,
                                  struct lattice_codes *restrict code,
                                  const struct lattice_group *restrict m)
{
    const int32_t low = (1 << c->bits) - 1;
    int32_t x[LATTICE_DIMS][LATTICE_LANES], h[LATTICE_LANES];

    EACH_DIM EACH_LANE x[i][l] = (int32_t)m->v[i][l];
    EACH_LANE h[l] = c->square ? x[7][l] & 1 : x[7][l];
    EACH_DIM EACH_LANE x[i][l] = (x[i][l] - h[l]) / 2;
    if (c->square) {
        EACH_LANE x[7][l] = (x[7][l] & ~1) | h[l];
    } else {
        for (int i = 5; i >= 0; i--)
            EACH_LANE x[i][l] += x[i + 1][l];
        EACH_LANE x[0][l] /= 2;
        EACH_LANE x[7][l] = h[l];
    }
    EACH_DIM EACH_LANE code->v[i][l] = (uint16_t)(x[i][l] & low);
}

void lattice_cell_encode(const struct lattice_cell *c, struct lattice_codes *code,
                         const struct lattice_group *m)
{
    switch (c->dims) {
    case 1: encode_z(c, code, m); break;
    case 2: encode_a2(c, code, m); break;
    default: encode_e8(c, code, m);
    }
}

/* --- and back --- */

WIDE_CLONES static void decode_z(const struct lattice_cell *restrict c,
                                 struct lattice_group *restrict p,
                                 const struct lattice_codes *restrict code,
                                 const struct lattice_group *restrict u)
{
    const float size = c->size, shrink = 1 / c->size;

    EACH_LANE
    {
        const float x = (float)code->v[0][l] - u->v[0][l];

        p->v[0][l] = x - size * nearest_integer(x * shrink);
    }
}

WIDE_CLONES static void decode_a2_round(const struct lattice_cell *restrict c,
                                        struct lattice_group *restrict p,
                                        const struct lattice_codes *restrict code,
                                        const struct lattice_group *restrict u)
{
    const float size = c->size, shrink = 1 / c->size;
    float x[2][LATTICE_LANES], m[2][LATTICE_LANES];

    EACH_LANE
    {
        const float i = (float)code->v[0][l], j = (float)code->v[1][l];

        p->v[0][l] = i + 0.5F * j - u->v[0][l];
        p->v[1][l] = HALF_ROOT3 * j - u->v[1][l];
    }
    for (int i = 0; i < 2; i++)
        EACH_LANE x[i][l] = p->v[i][l] * shrink;
    a2_nearest(m, x);
    EACH_LANE p->v[0][l] -= size * (0.5F * m[0][l]);
    EACH_LANE p->v[1][l] -= size * (HALF_ROOT3 * m[1][l]);
}

/* Row k is k times the first row above; of the rows that the code may mean, the one in the box, and
 * in it the point in the box. */
WIDE_CLONES static void decode_a2_square(const struct lattice_cell *restrict c,
                                         struct lattice_group *restrict p,
                                         const struct lattice_codes *restrict code,
                                         const struct lattice_group *restrict u)
{
    const float rows = c->size * c->size, row = c->row, side = c->side, size = c->size;
    const float high = 2 * c->half[1], high_inverse = 1 / high, side_inverse = 1 / side;
    const double shift = c->shift;

    EACH_LANE
    {
        const float k = (float)code->v[0][l] + size * (float)code->v[1][l];
        const float turns = nearest_integer((k * row - u->v[1][l]) * high_inverse);
        const float in = k - turns * rows;
        const double along = (double)in * shift;
        const float x0 = (float)(along - nearest_whole(along)) * side - u->v[0][l];

        p->v[0][l] = x0 - side * nearest_integer(x0 * side_inverse);
        p->v[1][l] = in * row - u->v[1][l];
    }
}

WIDE_CLONES static void decode_e8(const struct lattice_cell *restrict c,
                                  struct lattice_group *restrict p,
                                  const struct lattice_codes *restrict code,
                                  const struct lattice_group *restrict u)
{
    const float size = c->size, shrink = 1 / c->size;
    float x[LATTICE_DIMS][LATTICE_LANES], m[LATTICE_DIMS][LATTICE_LANES];
    int32_t n[LATTICE_DIMS][LATTICE_LANES], h[LATTICE_LANES];

    EACH_DIM EACH_LANE n[i][l] = code->v[i][l];
    if (c->square) {
        EACH_LANE h[l] = n[7][l] & 1;
        EACH_LANE n[7][l] &= ~1;
        for (int i = 0; i < 7; i++)
            EACH_LANE n[7][l] ^= n[i][l] & 1;
    } else {
        EACH_LANE h[l] = n[7][l];
        EACH_LANE n[7][l] = 0;
        EACH_LANE n[0][l] *= 2;
        for (int i = 0; i < 6; i++)
            EACH_LANE n[i][l] -= n[i + 1][l];
    }
    EACH_DIM EACH_LANE p->v[i][l] = 0.5F * (float)(2 * n[i][l] + h[l]) - u->v[i][l];
    EACH_DIM EACH_LANE x[i][l] = p->v[i][l] * shrink;
    if (c->square) {
        EACH_DIM EACH_LANE p->v[i][l] -= size * nearest_integer(x[i][l]);
    } else {
        e8_nearest(m, x);
        EACH_DIM EACH_LANE p->v[i][l] -= size * (0.5F * m[i][l]);
    }
}

void lattice_cell_decode(const struct lattice_cell *c, struct lattice_group *p,
                         const struct lattice_codes *code, const struct lattice_group *u)
{
    switch (c->dims) {
    case 1: decode_z(c, p, code, u); break;
    case 2:
        if (c->square)
            decode_a2_square(c, p, code, u);
        else
            decode_a2_round(c, p, code, u);
        break;
    default: decode_e8(c, p, code, u);
    }
}

/* --- a cell --- */

/* For each b the v = p e1 + q e2 without a common divisor whose box, |v| by 4^b sqrt(3) / (2 |v|),
 * is nearest to a square; and d = 2 <v, g> modulo 2 |v|^2 for a g in the first row above 0. */
static const struct a2_box {
    int32_t p, q, d;
} a2_boxes[] = {
    {1, 1, -3},   {3, 1, -7},    {7, 1, -15},     {11, 6, -79},
    {25, 8, 215}, {58, 3, 2325}, {79, 58, -5385}, {223, 28, -4071},
};

static void a2_square_of(struct lattice_cell *c)
{
    const struct a2_box *b = &a2_boxes[c->bits - 1];
    const double root3 = sqrt(3), p = b->p, q = b->q, norm = p * p + p * q + q * q;
    const double side = sqrt(norm), row = root3 / (2 * side);

    c->turn_cos = (float)((p + q / 2) / side);
    c->turn_sin = (float)(q * root3 / 2 / side);
    c->p = (float)p;
    c->q = (float)q;
    c->side = (float)side;
    c->row = (float)row;
    c->shift = b->d / (2 * norm);
    c->half[0] = (float)(side / 2);
    c->half[1] = (float)(row * (double)c->size * (double)c->size / 2);
}

void lattice_cell_of(struct lattice_cell *c, enum plan_encoding kind, uint32_t bits, bool square)
{
    CHECK(bits >= 1 && bits <= 8);
    *c = (struct lattice_cell){.kind = kind, .bits = bits, .size = (float)(1 << bits)};
    c->half[0] = c->half[1] = c->size / 2;
    c->turn_cos = 1;
    c->dims = encoding_row(kind)->dims;
    c->square = square && c->dims > 1;
    switch (c->dims) {
    case 1: c->packing = c->covering = 0.5F; break;
    case 2:
        c->packing = 0.5F;
        c->covering = 1 / ROOT3;
        if (c->square)
            a2_square_of(c);
        break;
    default: c->packing = 0.70710678F; c->covering = 1;
    }
}
