/* chacha.h -- the public random numbers of dithered quantisers: ChaCha20 (RFC 8439), 16 bits each.
 *
 * A dither must be the same at whoever packs and whoever unpacks, and uniform; it is no secret.
 * So it needs no cipher of common/crypto, whose contexts are allocated and can fail: this is a
 * function of key and place, and any thread may ask for any part.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_CHACHA_H
#define COLONNADE_COMPRESS_CHACHA_H

#include <stddef.h>
#include <stdint.h>

enum {
    CHACHA_KEY_BYTES = 32,
    CHACHA_RUN = 512, /* numbers that are made at a time: 16 blocks of the stream */
};

/* t[n]: numbers CHACHA_RUN * run, ... of the stream of this key with nonce 0 and a counter from 0,
 * each 2 bytes little-endian. */
void chacha_fill(uint16_t *t, size_t n, const uint8_t key[CHACHA_KEY_BYTES], uint32_t run);

#endif
