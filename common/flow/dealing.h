/* dealing.h -- the rows of everybody in coded shares, dealt in chunks before the first round, and
 * where to go on after an end (FedVS, Algorithm 1, lines 1 to 5).
 *
 * K rows of a split are one coded row (common/data/segments.h).  Each member seals shares of all
 * its coded rows for every other member, chunk by chunk: first those of the training rows, then
 * those of the test rows.  A chunk is one round; it has so many rows that a Share of the member
 * with the most inputs is about DEALING_SHARE_BYTES long, and never rows of both splits.
 *
 * Shares outlive their generation.  A member names its sharing by a digest, its *dealing*;
 * what it shares under that name never changes.  So a member that keeps its shares says of which
 * dealings they are, and of how many chunks, and dealing goes on behind what everybody has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_DEALING_H
#define COLONNADE_FLOW_DEALING_H

#include "common/config/plan.h"
#include "common/flow/agree.h"
#include "common/secagg/fedvs_terms.h"
#include "common/secagg/secagg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEALING_SHARE_BYTES = 1 << 20 };

struct dealing {
    uint32_t train_len, test_len; /* coded rows of each split */
    uint32_t chunk_rows;          /* coded rows of a chunk; the last of a split may have fewer */
    uint64_t chunks;              /* of both splits */
};

/* What one chunk is. */
struct dealing_chunk {
    bool test;      /* of the test rows */
    uint32_t first; /* coded row of its split */
    uint32_t rows;
};

/* The terms of n members, from their hellos.  STATUS_CONFIG as in fedvs_terms_init(). */
enum status dealing_terms(struct fedvs_terms *t, const struct plan *p,
                          const struct agree_hello *hellos, uint32_t n, struct error *err) MUST_USE;

/* The plan's shape and K, and all members' inputs and their field. */
void dealing_make(struct dealing *d, const struct plan *p, const struct fedvs_terms *t);

/* Chunk c < d->chunks (CHECK). */
struct dealing_chunk dealing_chunk(const struct dealing *d, uint64_t c);

/* SHA-256 over dealing || features || degree (4 bytes little-endian each) of all members in order:
 * what a member says as `holds` once it has shares of them.  The shapes are in it because field,
 * chunks and columns follow from them: shares that were cut for others are none of these. */
void dealing_holds(uint8_t out[WIRE_DIGEST_BYTES], const struct agree_hello *hellos, size_t n);

/* What members seal for each other in a round for this. */
enum secagg_part dealing_part(enum wire_purpose purpose);

/* The first chunk that has to be dealt: the least `held` when everybody holds shares of exactly
 * these dealings of these shapes, else 0.  Not below d->chunks: none. */
uint64_t dealing_start(const struct agree_hello *hellos, size_t n);

#endif
