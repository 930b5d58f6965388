/* prg.h -- the mask stream of one unordered pair of parties: AES-256-CTR, one context per pair.
 *
 * IV = 96 bits given per round || 32-bit big-endian block counter from 0 (design.md, Masked).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_PRG_H
#define COLONNADE_CRYPTO_PRG_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PRG_KEY_BYTES = 32, PRG_IV_BYTES = 12 };

struct prg {
    void *ctx; /* EVP_CIPHER_CTX */
};

enum status prg_init(struct prg *p, const uint8_t key[PRG_KEY_BYTES]) MUST_USE;
void prg_rekey(struct prg *p, const uint8_t key[PRG_KEY_BYTES]);
void prg_deinit(struct prg *p); /* safe on a zeroed struct; wipes the schedule */
void prg_seek(struct prg *p,
              const uint8_t iv[PRG_IV_BYTES]);     /* to block 0 of this IV; allocates nothing */
void prg_fill(struct prg *p, void *out, size_t n); /* the next n bytes of the stream */

#endif
