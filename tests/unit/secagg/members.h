/* members.h -- M members of fedvs and a server, who deal and run whole rounds, for tests.
 *
 * Keys, records and noise come from keyed streams, so that every run draws the same ones; masks and
 * subset keys are the product's own, from the system.  What sums should be is computed here in
 * plain integers, from the records and with the same noise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_MEMBERS_H
#define COLONNADE_TESTS_SECAGG_MEMBERS_H

#include "common/secagg/secagg.h"

enum { MEMBERS_MAX = 12, MEMBERS_TAG = 16 };

struct members_case {
    uint32_t parties, segments, privacy, width;
    uint32_t rows;       /* of records: N */
    uint32_t chunk_rows; /* coded rows that are dealt at once; 0: all */
    uint32_t features[MEMBERS_MAX], degree[MEMBERS_MAX];
    enum plan_prime prime;
    uint32_t x_bits, w_bits;
    double x_max, w_max;
};

struct members {
    struct members_case c;
    struct secagg_shape shape; /* self 0 */
    uint32_t len;              /* coded rows */
    uint64_t number;           /* of the last round */
    uint8_t sid[32], broadcast[32];
    struct secagg_pair pairs[MEMBERS_MAX][MEMBERS_MAX];
    struct secagg_party *party[MEMBERS_MAX];
    struct secagg_server *server;
    float *x[MEMBERS_MAX];      /* rows x features */
    float *w[MEMBERS_MAX];      /* inputs x P */
    uint8_t *data[MEMBERS_MAX]; /* len x inputs_n elements: shares that member m has */
    uint8_t *share[MEMBERS_MAX], *tag[MEMBERS_MAX]; /* what member m sealed */
    uint8_t *sealed, *tags;                         /* what is for one member */
    uint8_t *payload[MEMBERS_MAX];
    float *chunk; /* K x chunk_rows x features */
};

/* Small shapes that exist: M, K, T, P, degrees and all else at random. */
struct members_case members_random_case(struct rng *r, enum plan_prime prime);
struct plan members_plan(const struct members_case *c);

/* Keys, records and weights from r; nothing is dealt yet. */
void members_init(struct members *g, const struct members_case *c, struct rng *r);
void members_deinit(struct members *g);

/* The next round's name, without rows. */
struct secagg_round members_round(struct members *g);
/* `sealed` and `tags` become what all others sealed for `to`. */
void members_route(struct members *g, uint32_t to, enum secagg_part part, size_t n);
/* Where the part of `from` for `to` begins in share[from]. */
size_t members_part(const struct members *g, uint32_t from, uint32_t to, enum secagg_part part,
                    size_t n);

/* All deal and all take; every status is STATUS_OK (CHECK). */
void members_deal_keys(struct members *g);
void members_deal_data(struct members *g);
/* Member m's coded rows at..at+rows, with the masks that it always draws for them. */
enum status members_deal_chunk(struct members *g, uint32_t m, uint32_t at, uint32_t rows,
                               const struct secagg_round *round);

/* New weights, some of them beyond w_max. */
void members_draw_weights(struct members *g, struct rng *r);
/* Member m's weights in round r, quantised with the noise of that round. */
enum status members_protect(struct members *g, uint32_t m, const struct secagg_round *r);
/* Member m's result, from all that was sealed. */
enum status members_relay(struct members *g, uint32_t m, const struct secagg_round *r,
                          uint32_t *faulty);
/* A whole round of these coded rows: all protect and relay (CHECK). */
struct secagg_round members_run(struct members *g, const uint32_t *coded, uint32_t coded_n);

/* The values of a round of so many coded rows: K of them, P each. */
size_t members_values(const struct members *g, uint32_t coded_n);
/* How many of them are of records, when these are the coded rows. */
size_t members_real(const struct members *g, const uint32_t *coded, uint32_t coded_n);
/* sums[values], segment by segment, in plain integers. */
void members_sums(const struct members *g, int64_t *sums, const struct secagg_round *r);
/* W of member m in that round, in units of 2^-w_bits: inputs x P. */
void members_weights(const struct members *g, uint32_t m, int64_t *out,
                     const struct secagg_round *r);
/* The columns of a row (zeros beyond the records), in units of 2^-x_bits: inputs. */
void members_inputs(const struct members *g, uint32_t m, int64_t *out, uint32_t row);
/* Ascending coded rows, `n` of them. */
void members_draw_coded(const struct members *g, uint32_t *coded, uint32_t n, struct rng *r);
/* 0 .. n-1 in random order. */
void members_shuffle(uint32_t *order, uint32_t n, struct rng *r);

#endif
