/* secagg.h -- an aggregation protocol: protect and relay at each party, combine at the server.
 *
 * One file per protocol (masked.c, coded.c, fedvs.c, clear.c) behind this interface and one row in
 * the table of secagg.c; adding one touches no session code.  After init nothing allocates.
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
#include "common/secagg/fedvs_terms.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The protocols.
 *
 * masked (Bonawitz et al. 2016, Protocol 0, made modular): w = ceil(log2(value_max M + 1)), for
 * fixed one bit more, for gaussian ceil(log2(2 R + 1)) (encode.h).  y_m = q_m + sum_{j>m} PRG(k_mj)
 * - sum_{j<m} PRG(k_mj) mod 2^w; ceil(64 / w) zero elements are appended and their sum must be 0.
 * Bit-packed at w bits.
 *
 * coded (Yu et al. 2019, Lagrange coding, on integer codes): p = the smallest prime above
 * max(value_max M, M + K + T), for gaussian max(2 R, M + K + T); the n codes, padded with zeros,
 * are K segments of ceil(n / K), T uniform ones join them, and member j's share is their
 * polynomial's value at alpha_j (common/lcc/points.h).  Members seal shares for each other
 * (`protect`), the server passes them on, each uploads the sum of the shares of all members
 * (`relay`), and any K + T uploads decode. Bit-packed at ceil(log2 p) bits.
 *
 * clear: the codes bit-packed at their own width, float32 little-endian, or what a compressor made
 * of all values of the upload at once; fusion concat keeps members apart.
 *
 * fedvs (Li, Yao, Liu 2023, Algorithm 1): Lagrange-coded data, dealt once, times Lagrange-coded
 * weights, dealt each round, in F_p (fedvs_terms.h).  A row of the coded data stands for K rows.
 * Before the first round the members deal subset keys (`deal_keys`, `take_keys`) and, unless they
 * have them from before, their data in chunks of rows (`deal`, `take`), each in a round of its own.
 * Then in each round members seal shares of their weights (`protect`), multiply, and add a share of
 * a random polynomial that vanishes where the sums are (zero.h), which is the upload (`relay`); any
 * 2 (K+T-1) + 1 uploads decode.  Bit-packed at 31 or 61 bits.
 */

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
    /* fedvs, of a relay: this party's shares of everybody's rows of the round's split, as
     * secagg_take() gave them, and which of its coded rows the round is about. */
    const void *data;
    const uint32_t *coded;
    uint32_t coded_n;
    /* Compressors: 32 bytes, public, new in each round: the same at all who pack and unpack. Member
     * m's stream has the key SHA-256("vfl/dither/1" || dither || m), so that no two members err
     * alike.  Else NULL. */
    const uint8_t *dither;
    /* topk, at who packs: `width` weights of the components; NULL: the mean of |x|. */
    const float *importance;
    /* Of secagg_alone and secagg_others: secagg_scratch_bytes() of the caller's, aligned for
     * floats. */
    void *scratch;
};

struct secagg_shape {
    struct encode encode;
    bool concat;
    bool partial;           /* clear: a round may close without some members (the papers' Ignore) */
    bool absent_zero;       /* partial: the sum over those present stands as it is */
    bool shown;             /* what a sum was made of is kept for secagg_show(); never partial */
    uint32_t parties, self; /* self: this party's index in the generation, 0..parties-1 */
    uint32_t values_max;    /* B * P of the largest round; fedvs: coded rows * K * P of it */
    uint32_t segments;      /* coded: K */
    uint32_t privacy;       /* coded: T, the members that learn nothing together */
    uint32_t deal_rows_max; /* fedvs: coded rows of the largest dealt chunk */
    struct fedvs_terms terms; /* fedvs */
};

/* What members seal for each other. */
enum secagg_part {
    SECAGG_PART_ROUND, /* coded: shares of codes; fedvs: of weights */
    SECAGG_PART_KEYS,  /* fedvs: subset keys */
    SECAGG_PART_DATA,  /* fedvs: shares of a chunk of rows */
};
enum { SECAGG_PARTS = SECAGG_PART_DATA + 1 };

/* What this member shares with another, from flow/agree. */
struct secagg_pair {
    uint8_t mask[SECAGG_KEY_BYTES];      /* the same at both */
    uint8_t seal_to[SECAGG_KEY_BYTES];   /* of what it seals to the other */
    uint8_t seal_from[SECAGG_KEY_BYTES]; /* of what the other seals to it */
};

struct secagg_party;  /* one generation's keys and scratch */
struct secagg_server; /* one generation's accumulator */

/* --- sizes: a round of n values per party --- */

/* Bits of one value on the wire: w of masked, those of the field of coded and fedvs, the code's own
 * width in clear, 32 for floats, a compressor's nominal ones.  0 when no such shape exists (floats
 * or concat under masks or coded, sums beyond 32 bits, a prime above FP16_PRIME_MAX, K + T above M,
 * no K or no T; fedvs: no terms).  Compressors are like floats in this. */
uint32_t secagg_width(enum plan_aggregation a, const struct secagg_shape *s);
/* Payload bytes of an upload (without check elements), and bytes of its check part.  The check
 * elements are packed on their own after the payload, in bytes of their own. */
size_t secagg_payload_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n);
size_t secagg_check_bytes(enum plan_aggregation a, const struct secagg_shape *s);
/* Does a party send shares to the others before its upload? */
bool secagg_shares(enum plan_aggregation a);
/* Are keys and data dealt before the first round? */
bool secagg_deals(enum plan_aggregation a);
/* Bytes of what member `from` seals for one other member; of what it seals for all of them, in
 * member order; and of what all others sealed for member `to`, in member order.  n: values of the
 * round, coded rows of a chunk of data, 0 of keys.  0 where there is no such part. */
size_t secagg_part_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                         enum secagg_part part, uint32_t from, size_t n);
size_t secagg_share_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                          enum secagg_part part, uint32_t from, size_t n);
size_t secagg_relay_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                          enum secagg_part part, uint32_t to, size_t n);
/* The tags of either: one for each other member, be its part empty. */
size_t secagg_tag_bytes(enum plan_aggregation a, const struct secagg_shape *s);

/* --- a party --- */

/* pairs: one for each member, entry [self] ignored (NULL for clear); copied, the caller wipes.
 * STATUS_CONFIG when there is no such shape, STATUS_POLICY when there is nobody to hide among. */
enum status secagg_party_new(struct secagg_party **out, enum plan_aggregation a,
                             const struct secagg_shape *s,
                             const struct secagg_pair *pairs) MUST_USE;
void secagg_party_free(struct secagg_party *p); /* wipes; NULL is fine */
/* x[n] -> payload and check: the upload's, or with shares the sealed shares and their tags (sizes
 * above).  Encodes with noise from `noise`, then protects.  fedvs: x is W, inputs[self] x P, and
 * `noise` rounds it.  STATUS_PROTOCOL when the round number does not grow (or jumps too far), or no
 * keys were taken.  Never for what x is: a value that is not finite counts as 0. */
enum status secagg_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise) MUST_USE;
/* With shares only: what the other members sealed for this one in round r, in member order without
 * itself -> payload, the upload (secagg_payload_bytes).  The round must be that of the last
 * protect, with its n, and is answered once, be the answer a failure: else STATUS_PROTOCOL.
 * STATUS_AUTH when a share does not open or is not of the field; *faulty is then the member it came
 * from (or not: the server may have damaged it). */
enum status secagg_relay(struct secagg_party *p, uint8_t *payload, const uint8_t *sealed,
                         const uint8_t *tags, size_t n, const struct secagg_round *r,
                         uint32_t *faulty, struct error *err) MUST_USE;

/* Where secagg_deals() only.  Every dealing is a round of its own, in numbers that grow with those
 * of the other rounds; deal and take of one round belong together, are done once, and fail like
 * protect and relay. */
/* Fresh subset keys of the system's generator, once in a generation. */
enum status secagg_deal_keys(struct secagg_party *p, uint8_t *sealed, uint8_t *tags,
                             const struct secagg_round *r) MUST_USE;
enum status secagg_take_keys(struct secagg_party *p, const uint8_t *sealed, const uint8_t *tags,
                             const struct secagg_round *r, uint32_t *faulty,
                             struct error *err) MUST_USE;
/* x: K * rows x d_self, segment by segment, rows that only fill up a segment 0.  masks: the uniform
 * elements of the shares, so that the caller can deal a chunk again as it was; a stream of the
 * system's generator or one that nobody else knows. */
enum status secagg_deal(struct secagg_party *p, uint8_t *sealed, uint8_t *tags, const float *x,
                        uint32_t rows, const struct secagg_round *r, struct rng *masks) MUST_USE;
/* shares: rows x inputs_n elements of the field, of each row member by member. */
enum status secagg_take(struct secagg_party *p, void *shares, const uint8_t *sealed,
                        const uint8_t *tags, uint32_t rows, const struct secagg_round *r,
                        uint32_t *faulty, struct error *err) MUST_USE;
/* Weights that were cut off at w_max so far, each time they were. */
uint64_t secagg_clipped(const struct secagg_party *p);

/* y[n]: what this party takes out of the round's sum again as its own part of x[n]; never its
 * noise:
 *
 *   pbm, gaussian   x clipped to [-C, C], which is the mean of what was sent (gaussian: to half a
 *                   step of the grid)
 *   fixed           the estimate of its codes         } bit for bit what the server makes of
 *   float32         x clipped                         } such an upload
 *   compressors     what the upload unpacks to        }
 *
 * As for protect, an x that is not finite counts as 0.  No overlap with y, which is as secret as x.
 * Compressors use the round's dither, importance and scratch. */
void secagg_alone(const struct secagg_shape *s, float *y, const float *x, size_t n,
                  const struct secagg_round *r);
/* Scratch of secagg_alone and secagg_others; 0 where the members are added up at the server. */
size_t secagg_scratch_bytes(const struct secagg_shape *s, size_t n);

/* --- the server --- */

enum status secagg_server_new(struct secagg_server **out, enum plan_aggregation a,
                              const struct secagg_shape *s) MUST_USE;
void secagg_server_free(struct secagg_server *p);
/* Opens a round of n values per party. */
void secagg_begin(struct secagg_server *p, size_t n);
/* fedvs: the same, of whose values only the first `real` belong to rows; the others must be 0. */
void secagg_begin_padded(struct secagg_server *p, size_t n, size_t real);
/* Compressors: the dither of the round that was just opened; before its first upload. */
void secagg_dither(struct secagg_server *p, const uint8_t dither[SECAGG_KEY_BYTES]);
/* One member's upload; sizes were checked against secagg_*_bytes.  STATUS_PROTOCOL when a clear
 * code of pbm or fixed is above value_max, a float is not in [-C, C], what a compressor made is
 * malformed, an element is not of the field, or a member uploads twice. */
enum status secagg_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err) MUST_USE;
/* How many members a combine needs: all; coded: K + T; fedvs: 2 (K+T-1) + 1; clear and partial: 1.
 */
uint32_t secagg_quorum(const struct secagg_server *p);
/* A quorum is in: out[n] = estimated sum (concat: n * parties values, row r of member m at
 * [r * parties * P + m * P], P = `width`; of a padded round the `real` values).  STATUS_INTEGRITY
 * when the check elements do not vanish, a sum is one of none (encode_is_sum(); fedvs: the bound),
 * padding is not 0, or uploads contradict each other and it cannot be told which are wrong (more
 * may be added, and combined again).  Clear without some members (partial): the sum
 * over those present times M / |S| (absent_zero: as it is), and zeros where the absent would stand
 * in a concatenation. */
enum status secagg_combine(struct secagg_server *p, float *out, uint32_t width,
                           struct error *err) MUST_USE;

/* How far the last combine could check itself. */
enum secagg_verdict {
    SECAGG_EXACT,      /* masked, clear: there is nothing to be in doubt of */
    SECAGG_UNVERIFIED, /* coded, fedvs: exactly a quorum of uploads, which agree with anything */
    SECAGG_CONSISTENT, /* the same: more, and all lie on one polynomial */
    SECAGG_LOCATED,    /* the same: some do not, and the sum was decoded without them */
};
/* Of the last combine, when it was well.  *faulty, *faulty_n: the members whose uploads did not
 * fit, or for whom a dealer's share was wrong; the server's, until its next combine. */
enum secagg_verdict secagg_verdict(const struct secagg_server *p, const uint8_t **faulty,
                                   size_t *faulty_n);
/* Coded and fedvs: an upload of `bytes` bytes to the round that was combined last, come after that,
 * perhaps after the next secagg_begin.  STATUS_OK when it lies on the decoded polynomial,
 * STATUS_INTEGRITY when not, STATUS_PROTOCOL when malformed, a repeat, or no round was combined.
 * Changes no verdict.
 */
enum status secagg_late(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                        size_t bytes, struct error *err) MUST_USE;
/* How many members are in, and the others in ascending order (absent: PLAN_PARTIES_MAX, or NULL).
 */
uint32_t secagg_present(const struct secagg_server *p, uint8_t *absent);

/* One upload of n values in clear to what that party alone amounts to: out[n].  The checks, and
 * their statuses, are those of secagg_add.  dither: the round's, NULL without compressors. */
enum status secagg_open(const struct secagg_shape *s, float *out, const uint8_t *payload, size_t n,
                        uint32_t member, const uint8_t *dither, struct error *err) MUST_USE;

/* --- what was added up, shown to the parties (protocol.local_view: refreshed) --- */

/* A party that computes gradients itself needs the sum of the others' embeddings.  It is shown what
 * the server was given, not a bit more, noise and all:
 *
 *   concat or compressors   the payloads of all members as they came, in member order
 *   integers                the n sums of codes, bit-packed at encode.sum_bits; of gaussian the
 *                           residues mod 2^that
 *   floats                  the n sums as they were combined, float32 little-endian
 *
 * Under masked and coded the server was given sums of codes alone, so parties learn no other
 * member's code, nor anything of the masks or shares.  But a party that keeps its own codes, which
 * secagg_others() does not ask for, can take them out: to such a one the noise of a sum is that of
 * the M - 1 others, as it is to a server that colludes with one party, and of two members each can
 * learn the codes of the other.  In clear the parties see what the server sees.
 */
/* Bytes of that for n values; 0 when no such shape exists. */
size_t secagg_shown_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n);
/* out[secagg_shown_bytes] of the round that was combined last, well; until the next
 * secagg_begin.  Only with shape.shown. */
void secagg_show(const struct secagg_server *p, uint8_t *out);
/* shown[secagg_shown_bytes] and own[n], this party's secagg_alone() of that round -> what all
 * others amount to: n values, the estimate of the sum of all less own, rounded to float twice (the
 * estimate, then the difference); concat: n * parties values as secagg_combine() lays them out, the
 * own columns 0.  What is shown of the own payload is not looked at.
 *
 * Of noisy encodings the party's noise stays in what is left, beside that of the others: so
 *
 *   model_{t+1} = f(sums released up to t, the party's data)
 *
 * and each release is of data and earlier releases, which is what adaptive composition is about. A
 * party that subtracted what it sent, noise and all, would release functions of that noise in later
 * rounds, and no accountant of sums could say what they give away.
 *
 * STATUS_PROTOCOL, and out holds anything: a sum of codes above value_max M (pbm, fixed); a sum of
 * floats beyond M C or not finite; a payload that secagg_add would refuse; padding that is not 0.
 * It depends on what is shown and on the shape, never on own: whoever shows sums learns nothing of
 * it by seeing which are refused. */
enum status secagg_others(const struct secagg_shape *s, float *out, const uint8_t *shown,
                          const float *own, size_t n, uint32_t width, const struct secagg_round *r,
                          struct error *err) MUST_USE;

#endif
