/* generation.h -- M parties and a server of one generation, for tests.
 *
 * Keys come from a keyed stream, so that every run draws the same ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_GENERATION_H
#define COLONNADE_TESTS_SECAGG_GENERATION_H

#include "common/secagg/secagg.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

enum { GENERATION_PARTIES_MAX = 50 };

struct generation {
    enum plan_aggregation aggregation;
    struct secagg_shape shape; /* self 0 */
    struct secagg_party *party[GENERATION_PARTIES_MAX];
    struct secagg_server *server;
    uint8_t *payload[GENERATION_PARTIES_MAX], *check[GENERATION_PARTIES_MAX];
    size_t payload_bytes, check_bytes; /* of shape.values_max values */
    /* Where members share: what each sealed for the others, and what the server passes on to one.
     */
    uint8_t *share[GENERATION_PARTIES_MAX], *tag[GENERATION_PARTIES_MAX], *sealed, *tags;
    uint8_t sid[32], broadcast[32];
    uint8_t dither[32]; /* of every round, unless a test changes it */
    struct secagg_pair (*pairs)[GENERATION_PARTIES_MAX]; /* [i][j] of the newest generation */
};

static inline struct plan generation_plan(enum plan_encoding encoding)
{
    struct plan p;

    plan_defaults(&p);
    p.protocol.encoding = encoding;
    p.protocol.pbm.trials = 16;
    p.protocol.pbm.beta = 0.25;
    p.protocol.clip = 1.0;
    p.protocol.fixed.bits = 10;
    p.privacy.delta = 1e-5;
    return p;
}

static inline struct secagg_shape generation_shape(const struct plan *p, uint32_t parties,
                                                   uint32_t values_max)
{
    struct secagg_shape s = {.parties = parties, .values_max = values_max};

    CHECK(encode_init(&s.encode, p, parties) == STATUS_OK);
    return s;
}

/* pairs[i][j], what i holds of j, of a fresh set of pairs. */
static inline void generation_pairs(struct secagg_pair pairs[][GENERATION_PARTIES_MAX],
                                    uint32_t parties, struct rng *r)
{
    for (uint32_t i = 0; i < parties; i++)
        for (uint32_t j = i + 1; j < parties; j++) {
            rng_fill(r, &pairs[i][j], sizeof pairs[i][j]);
            pairs[j][i] = pairs[i][j];
            memcpy(pairs[j][i].seal_to, pairs[i][j].seal_from, SECAGG_KEY_BYTES);
            memcpy(pairs[j][i].seal_from, pairs[i][j].seal_to, SECAGG_KEY_BYTES);
        }
}

static inline void generation_init(struct generation *g, enum plan_aggregation a,
                                   const struct secagg_shape *s, struct rng *r)
{
    static struct secagg_pair pairs[GENERATION_PARTIES_MAX][GENERATION_PARTIES_MAX];

    *g = (struct generation){.aggregation = a, .shape = *s, .dither = "dither"};
    CHECK(s->parties <= GENERATION_PARTIES_MAX);
    generation_pairs(pairs, s->parties, r);
    g->pairs = pairs;
    rng_fill(r, g->sid, sizeof g->sid);
    rng_fill(r, g->broadcast, sizeof g->broadcast);
    g->payload_bytes = secagg_payload_bytes(a, s, s->values_max);
    g->check_bytes = secagg_check_bytes(a, s);
    for (uint32_t m = 0; m < s->parties; m++) {
        struct secagg_shape own = *s;

        own.self = m;
        CHECK(secagg_party_new(&g->party[m], a, &own, pairs[m]) == STATUS_OK);
        /* Exact sizes, so that a sanitizer sees a write past the end. */
        g->payload[m] = mem_alloc(g->payload_bytes, 1);
        g->check[m] = mem_alloc(g->check_bytes, 1);
        g->share[m] = mem_alloc(secagg_share_bytes(a, s, SECAGG_PART_ROUND, 0, s->values_max), 1);
        g->tag[m] = mem_alloc(secagg_tag_bytes(a, s), 1);
    }
    g->sealed = mem_alloc(secagg_share_bytes(a, s, SECAGG_PART_ROUND, 0, s->values_max), 1);
    g->tags = mem_alloc(secagg_tag_bytes(a, s), 1);
    CHECK(secagg_server_new(&g->server, a, s) == STATUS_OK);
}

static inline void generation_deinit(struct generation *g)
{
    for (uint32_t m = 0; m < g->shape.parties; m++) {
        secagg_party_free(g->party[m]);
        mem_free(g->payload[m]);
        mem_free(g->check[m]);
        mem_free(g->share[m]);
        mem_free(g->tag[m]);
    }
    mem_free(g->sealed);
    mem_free(g->tags);
    secagg_server_free(g->server);
}

static inline struct secagg_round generation_round(const struct generation *g, uint64_t number)
{
    return (struct secagg_round){
        .round = number, .sid = g->sid, .broadcast = g->broadcast, .dither = g->dither};
}

/* Party m's upload of x[n] into payload[m], check[m]; where members share, its shares. */
static inline enum status generation_protect(struct generation *g, uint32_t m, const float *x,
                                             size_t n, const struct secagg_round *round,
                                             struct rng *noise)
{
    if (secagg_shares(g->aggregation))
        return secagg_protect(g->party[m], g->share[m], g->tag[m], x, n, round, noise);
    return secagg_protect(g->party[m], g->payload[m], g->check[m], x, n, round, noise);
}

/* Where the part for `to` begins in what `from` made for all others, in parts. */
static inline size_t generation_part(uint32_t from, uint32_t to)
{
    return to < from ? to : to - 1;
}

/* The server's part of sharing n values: `sealed` and `tags` become what is for member `to`. */
static inline void generation_route(struct generation *g, uint32_t to, size_t n)
{
    const size_t part = secagg_payload_bytes(g->aggregation, &g->shape, n), tag = 16;
    size_t k = 0;

    for (uint32_t from = 0; from < g->shape.parties; from++) {
        if (from == to)
            continue;
        memcpy(g->sealed + k * part, g->share[from] + generation_part(from, to) * part, part);
        memcpy(g->tags + k * tag, g->tag[from] + generation_part(from, to) * tag, tag);
        k++;
    }
}

/* Member m's answer to `sealed` and `tags` as they lie, into payload[m]. */
static inline enum status generation_answer(struct generation *g, uint32_t m, size_t n,
                                            const struct secagg_round *round, uint32_t *faulty)
{
    struct error err = {0};
    enum status s =
        secagg_relay(g->party[m], g->payload[m], g->sealed, g->tags, n, round, faulty, &err);

    CHECK(err.status == s);
    return s;
}

/* All members' uploads from all their shares; nothing where members do not share. */
static inline enum status generation_relay(struct generation *g, size_t n,
                                           const struct secagg_round *round)
{
    uint32_t faulty;

    for (uint32_t m = 0; m < g->shape.parties && secagg_shares(g->aggregation); m++) {
        enum status s;

        generation_route(g, m, n);
        s = generation_answer(g, m, n, round, &faulty);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

/* The server's side of a round with the uploads as they lie. */
static inline enum status generation_combine(struct generation *g, float *out, size_t n,
                                             uint32_t width, struct error *err)
{
    secagg_begin(g->server, n);
    secagg_dither(g->server, g->dither);
    for (uint32_t m = 0; m < g->shape.parties; m++) {
        enum status s = secagg_add(g->server, m, g->payload[m], g->check[m], err);

        if (s != STATUS_OK)
            return s;
    }
    return secagg_combine(g->server, out, width, err);
}

/* x that the fixed encoding turns into code q. */
static inline float generation_value(const struct secagg_shape *s, uint32_t q)
{
    return (float)(2.0 * (double)s->encode.clip * q / s->encode.value_max - (double)s->encode.clip);
}

/* Members that name a round alike get on; with any other number, purpose, sid or broadcast they
 * come to `refusal`. */
static inline void generation_expect_one_name(enum status (*meet)(const struct secagg_round *theirs,
                                                                  const struct secagg_round *own),
                                              enum status refusal)
{
    static uint8_t sid[32] = {1}, broadcast[32] = {2}, other[32] = {3};
    static uint8_t flipped[32] = {2, [31] = 0x80};
    const struct secagg_round theirs = {.round = 5, .sid = sid, .broadcast = broadcast};
    struct secagg_round own[5] = {theirs, theirs, theirs, theirs, theirs};

    own[0].round = 6;
    own[1].round = 256 + 5;
    own[2].purpose = 1;
    own[3].sid = other;
    own[4].broadcast = flipped;
    CHECK(meet(&theirs, &theirs) == STATUS_OK);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        CHECK(meet(&theirs, &own[i]) == refusal);
}

#endif
