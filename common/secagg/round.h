/* round.h -- where in its key's stream a round begins.
 *
 *   IV = first 96 bits of SHA-256(label || purpose || round || sid || broadcast)
 *
 * purpose 1 byte, round 8 bytes little-endian, sid and broadcast 32 bytes each.  The label keeps
 * streams for different ends apart; members who saw different broadcasts get different streams.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ROUND_H
#define COLONNADE_SECAGG_ROUND_H

#include "common/crypto/digest.h"
#include "common/crypto/prg.h"
#include "common/secagg/secagg.h"

/* d is scratch. */
void round_iv(struct digest *d, uint8_t iv[PRG_IV_BYTES], const char *label,
              const struct secagg_round *r);

#endif
