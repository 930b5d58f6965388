/* draw.h -- uniform elements of a field out of streams of bytes, by rejection.
 *
 * Words are taken from the stream one after another, whatever the sizes asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_DRAW_H
#define COLONNADE_SECAGG_DRAW_H

#include "common/crypto/prg.h"
#include "common/crypto/rng.h"
#include "common/field/field.h"

#include <stddef.h>
#include <stdint.h>

enum { DRAW_BYTES = 8192 /* of stream that are read at once */ };

/* out[n] from the next words; random: DRAW_BYTES of scratch, which the caller wipes. */
void draw_from_rng(const struct field *f, void *out, size_t n, struct rng *r, uint8_t *random);
void draw_from_prg(const struct field *f, void *out, size_t n, struct prg *g, uint8_t *random);

/* What was drawn cannot be drawn again: the stream goes on from a key out of itself. */
void draw_forget(struct rng *r);

#endif
