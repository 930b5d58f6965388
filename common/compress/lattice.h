/* lattice.h -- dithered quantisers on nested lattices: Z (scalar), A2 (the hexagonal one), E8.
 *
 * Nearest points: Conway & Sloane 1982.  The wire format: docs/protocol.md, 3.20.  The geometry is
 * in lattice_cell.h, blocks that overload in lattice_run.h, the choice of scales in
 * lattice_scale.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_LATTICE_H
#define COLONNADE_COMPRESS_LATTICE_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A vector of n floats, padded with zeros, is cut into blocks x of d = 1, 2, 8 components.  With a
 * scale s for the whole message and, for each block, a dither u uniform over a cell of the lattice
 * L:
 *
 *     pack      l = the point of L nearest to x / s + u       sent: l modulo a coarse lattice L'
 *     unpack    s times (l - u), brought into the region R around 0 that L' tiles space with
 *
 * L / L' has 2^(b d) elements: b bits a component.  So what comes back is x + s e with e uniform
 * over the Voronoi cell of L around 0, whatever x is: no bias, a squared error of s^2 G V^(2/d) a
 * component (Zamir & Feder 1996).  Only where x / s + e is outside R a block overloads; it is then
 * moved towards 0, no farther than needed.
 *
 * Regions, either for a message as its values ask for:
 *     round     L' = 2^b L, R its Voronoi cell: for values with tails (Conway & Sloane 1983)
 *     square    R a box, sides along the components: for values with bounds, as tanh gives them.
 *               E8: 2^b in each direction.  A2: the plane is turned so that the lattice vector v
 *               of lattice_cell.c lies along the first component; |v| by 2^(2b) sqrt(3) / (2 |v|).
 *               Z: the same as round, which is what is sent.
 * Within a box E8 gains 0.65 dB over Z and A2 0.17 dB (Conway & Sloane 1999, chapter 2); round
 * regions gain more. */

/* How a message is packed.  Kind and bits are the plan's, scale and region its own. */
struct lattice_fit {
    enum plan_encoding kind; /* one with a lattice */
    uint32_t bits;
    bool square;
    float scale; /* s > 0; 0: everything is 0 */
};

/* Scales are 0 or in [2^-100, 2^(127 - b)]: what comes back is finite. */
#define LATTICE_SCALE_MIN 0x1p-100F
float lattice_scale_max(uint32_t bits);

/* d: 1 (Z), 2 (A2), 8 (E8). */
uint32_t lattice_dims(enum plan_encoding kind);

size_t lattice_bytes(enum plan_encoding kind, uint32_t bits, size_t n);

/* x finite; beyond +-2^125 it is cut off there.  key: 32 bytes (lattice_stream.h). */
void lattice_pack(enum plan_encoding kind, uint32_t bits, uint8_t *out, const float *x, size_t n,
                  const uint8_t *key);
/* The same with a scale and region of the caller's.  Returns how many blocks overloaded. */
size_t lattice_pack_as(const struct lattice_fit *fit, uint8_t *out, const float *x, size_t n,
                       const uint8_t *key);
/* False: the scale is no number or out of range, a square Z, codes without a scale, or spare bits
 * that are not 0. */
bool lattice_unpack(enum plan_encoding kind, uint32_t bits, float *y, const uint8_t *in, size_t n,
                    const uint8_t *key) MUST_USE;

#endif
