/* secagg.h -- an aggregation protocol: protect at each party, combine at the server.
 *
 * One file per protocol (masked.c, clear.c) behind this interface and one row in the table of
 * secagg.c; adding one touches no session code.  After init nothing allocates.
 *
 * masked (Bonawitz et al. 2016, Protocol 0, made modular): w = ceil(log2(value_max M + 1)); for
 * fixed one bit more.  y_m = q_m + sum_{j>m} PRG(k_mj) - sum_{j<m} PRG(k_mj) mod 2^w; ceil(64 / w)
 * zero elements are appended and their sum must be 0.  Bit-packed at w bits. clear: the codes
 * bit-packed at their own width, or float32 little-endian; fusion concat keeps them apart.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_SECAGG_H
#define COLONNADE_SECAGG_SECAGG_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"
#include "common/secagg/encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SECAGG_KEY_BYTES = 32,
    SECAGG_RATCHET_ROUNDS = 256,
    /* Of one call: a peer's round number must not buy more work than this. */
    SECAGG_RATCHET_STEPS_MAX = 1 << 20,
};

/* What makes a round's masks its own. */
struct secagg_round {
    uint8_t purpose; /* enum wire_purpose */
    uint64_t round;
    const uint8_t *sid;       /* 32 bytes */
    const uint8_t *broadcast; /* 32 bytes: SHA-256 of the last broadcast */
};

struct secagg_shape {
    struct encode encode;
    bool concat;
    uint32_t parties, self; /* self: this party's index in the generation, 0..parties-1 */
    uint32_t values_max;    /* B * P of the largest round */
};

struct secagg_party;  /* one generation's keys and scratch */
struct secagg_server; /* one generation's accumulator */

/* Bits of one value on the wire: w of masked, the code's own width in clear, 32 for floats.  0 when
 * no such shape exists (floats or concat under masks, sums beyond 32 bits). */
uint32_t secagg_width(enum plan_aggregation a, const struct secagg_shape *s);
/* Payload bytes of an upload of n values (without check elements), and bytes of its check part. The
 * check elements are packed on their own after the payload, in bytes of their own. */
size_t secagg_payload_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n);
size_t secagg_check_bytes(enum plan_aggregation a, const struct secagg_shape *s);

/* pair_keys: parties x SECAGG_KEY_BYTES, entry [self] ignored (NULL for clear); copied, the caller
 * wipes. */
enum status secagg_party_new(struct secagg_party **out, enum plan_aggregation a,
                             const struct secagg_shape *s, const uint8_t *pair_keys) MUST_USE;
void secagg_party_free(struct secagg_party *p); /* wipes; NULL is fine */
/* x[n] -> payload and check bytes (sizes as above).  Encodes with noise from `noise`, then
 * protects. STATUS_PROTOCOL when the round number does not grow (or is above 2^32), STATUS_DATA
 * when an x is not finite. */
enum status secagg_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise) MUST_USE;

enum status secagg_server_new(struct secagg_server **out, enum plan_aggregation a,
                              const struct secagg_shape *s) MUST_USE;
void secagg_server_free(struct secagg_server *p);
/* Opens a round of n values per party. */
void secagg_begin(struct secagg_server *p, size_t n);
/* One member's upload; sizes were checked against secagg_*_bytes.  STATUS_PROTOCOL when a clear
 * code is above value_max or a float is not in [-F, F], F = encode_float_max(), or a member uploads
 * twice. */
enum status secagg_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err) MUST_USE;
/* All members are in: out[n] = estimated sum (concat: n * parties values, row r of member m at
 * [r * parties * P + m * P], P = `width`).  STATUS_INTEGRITY when the check elements do not vanish
 * or a sum is above value_max * parties. */
enum status secagg_combine(struct secagg_server *p, float *out, uint32_t width,
                           struct error *err) MUST_USE;

#endif
