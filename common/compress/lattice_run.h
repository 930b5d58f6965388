/* lattice_run.h -- a run of blocks through a quantiser, those that overload moved until they do
 * not.  Private to common/compress.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_LATTICE_RUN_H
#define COLONNADE_COMPRESS_LATTICE_RUN_H

#include "common/compress/lattice_cell.h"

#include <stddef.h>

enum { LATTICE_RUN_GROUPS = 32, LATTICE_RUN = LATTICE_RUN_GROUPS * LATTICE_LANES };

/* Block k of a run is lane k % LATTICE_LANES of group k / LATTICE_LANES. */
struct lattice_run {
    struct lattice_group y[LATTICE_RUN_GROUPS]; /* x / s; changed where a block overloads */
    struct lattice_group u[LATTICE_RUN_GROUPS]; /* dithers */
    struct lattice_group m[LATTICE_RUN_GROUPS]; /* out: coordinates of points */
    struct lattice_group p[LATTICE_RUN_GROUPS]; /* out: what an unpacker has, before the scale */
};

/* y = x / s of n <= d LATTICE_LANES components, zeros to the end; cut off at +-most. */
void lattice_run_load_group(struct lattice_group *y, uint32_t dims, const float *x, size_t n,
                            float scale, float most);
/* y = x / s of n <= d LATTICE_RUN components, zeros up to whole groups; cut off where every block
 * overloads anyway. */
void lattice_run_load(const struct lattice_cell *c, struct lattice_run *r, const float *x, size_t n,
                      float scale);
/* u of whole groups from their dithers (t as lattice_cell_dither has it). */
void lattice_run_dither(const struct lattice_cell *c, struct lattice_run *r, const uint16_t *t,
                        size_t blocks);
/* From y and u to m and p of the first `blocks`.  Returns how many overloaded. */
size_t lattice_run_quantise(const struct lattice_cell *c, struct lattice_run *r, size_t blocks);

#endif
