/* lattice_cell.h -- the geometry of one quantiser (lattice.h), sixteen blocks at a time: nearest
 * points, regions, codes.  Private to common/compress.
 *
 * Coordinates of points: Z: l = m.  A2: l = (m0 / 2, m1 sqrt(3) / 2), m0 and m1 of one parity.  E8:
 * l = m / 2, all m of one parity, their sum a multiple of 4.  m are whole numbers held as floats.
 * A2 in a square region is turned: l, dither and values are in the frame of the box, m is not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_LATTICE_CELL_H
#define COLONNADE_COMPRESS_LATTICE_CELL_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>

enum { LATTICE_DIMS = 8, LATTICE_LANES = 16 };

/* Of a region's extent, what a packer uses: the last bits of an unpacker may differ. */
#define LATTICE_ROOM 0.999F

/* Component i of block l of a group is v[i][l]; rows from d on are not touched. */
struct lattice_group {
    float v[LATTICE_DIMS][LATTICE_LANES];
};

struct lattice_codes {
    uint16_t v[LATTICE_DIMS][LATTICE_LANES];
};

struct lattice_cell {
    enum plan_encoding kind;
    bool square;
    uint32_t bits, dims;
    float size;              /* 2^b */
    float packing, covering; /* radii of L */
    float half[2];           /* square: half the sides of R, along the first and the other axes */
    /* A2, square: v = p e1 + q e2 (e1 = (1, 0), e2 at 60 degrees) lies along the first axis; rows
     * of L parallel to v are `row` apart and each is moved along v by `shift` |v| against the one
     * below. */
    float turn_cos, turn_sin, p, q, side, row;
    double shift;
};

void lattice_cell_of(struct lattice_cell *c, enum plan_encoding kind, uint32_t bits, bool square);

/* u = G t, t[d blocks] in 1/65536, block after block. */
void lattice_cell_dither(const struct lattice_cell *c, struct lattice_group *u, const uint16_t *t);
/* The point nearest to y + u: its coordinates m, and p = l - u. */
void lattice_cell_nearest(const struct lattice_cell *c, struct lattice_group *m,
                          struct lattice_group *p, const struct lattice_group *y,
                          const struct lattice_group *u);
/* outside[l] = 0 where p is in R, shrunk by LATTICE_ROOM; else 1. */
void lattice_cell_outside(const struct lattice_cell *c, float outside[LATTICE_LANES],
                          const struct lattice_group *p);
/* m modulo L', b bits for each component; and back to p = l - u in R. */
void lattice_cell_encode(const struct lattice_cell *c, struct lattice_codes *code,
                         const struct lattice_group *m);
void lattice_cell_decode(const struct lattice_cell *c, struct lattice_group *p,
                         const struct lattice_codes *code, const struct lattice_group *u);

#endif
