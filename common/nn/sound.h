/* sound.h -- which rows of a batch are finite all through, and nothing in place of those that are
 * not.
 *
 * A record whose pass is not finite must add exactly nothing to a sum over rows: 0 times an
 * infinity is no 0, so both factors of each product are taken out.  Here no branch and no
 * address depends on which rows these are (tests/valgrind/test_noise.c watches it); the passes in
 * between are arithmetic, and dpsgd.c branches on whether a norm was beyond its bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_SOUND_H
#define COLONNADE_NN_SOUND_H

#include <stddef.h>
#include <stdint.h>

/* sound[rows]: all bits for each. */
void sound_begin(uint32_t *sound, size_t rows);
/* sound[r] becomes 0 when a value of row r of x (rows x cols) is not finite. */
void sound_look(uint32_t *sound, const float *x, size_t rows, size_t cols);
/* Rows of x that are not sound become zeros. */
void sound_keep(float *x, const uint32_t *sound, size_t rows, size_t cols);
/* How many are not. */
uint32_t sound_lost(const uint32_t *sound, size_t rows);

#endif
