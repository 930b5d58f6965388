/* lattice_stream.h -- the numbers behind a message's dithers: AES-256-CTR under the message's key,
 * 16 bits a component, little-endian.
 *
 * A dither must be uniform and the same at whoever packs and whoever unpacks; it is no secret.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_LATTICE_STREAM_H
#define COLONNADE_COMPRESS_LATTICE_STREAM_H

#include "common/crypto/prg.h"

/* Makes cipher contexts for two threads, for good; after that neither takes memory any more.  To be
 * called before the first message, again as often as one likes.  A status of kind LOCAL when memory
 * is short. */
enum status lattice_stream_ready(void) MUST_USE;

/* From the stream's beginning (IV and counter 0) on.  A thread more than was made ready takes a
 * context from OpenSSL, without which nothing works (CHECK). */
void lattice_stream_begin(struct prg *stream, const uint8_t key[PRG_KEY_BYTES]);
void lattice_stream_fill(struct prg *stream, uint16_t *t, size_t n); /* the next n numbers */
void lattice_stream_end(struct prg *stream);

#endif
