/* coded.c -- each member cuts its codes into shares for all, and uploads the sum of those it got.
 *
 *   p = the smallest prime above max(value_max M, M + K + T); gaussian: above max(2 R, M + K + T),
 *       R as in common/config/plan_noise.h
 *   rows of len = ceil(n / K): K segments of the n codes (zeros at the end), T uniform ones
 *   share j = the rows' polynomial at alpha_j (common/lcc), sealed for member j (share.h)
 *   upload of j = sum over all members i of share j of i, which is share j of the sum of the codes
 *
 * The uniform rows come from the system's generator whatever the noise comes from (threats B1), by
 * rejection; after each round its stream starts again from a key of its own, so that memory stolen
 * later does not open what was shared before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/coded.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/field/fp16_vec.h"
#include "common/secagg/coded_server.h"
#include "common/secagg/draw.h"
#include "common/secagg/lane.h"
#include "common/secagg/share.h"
#include "common/secagg/uploads.h"

#include <string.h>

enum { ENCODE_CHUNK = 2048, RANDOM_BYTES = 4096 };

/* --- the shape --- */

/* 0: none. */
static uint32_t prime_of(const struct secagg_shape *s)
{
    const uint64_t members = (uint64_t)s->parties + s->segments + s->privacy;
    const uint64_t most = s->encode.span > members ? s->encode.span : members;

    if (!s->encode.integers || s->concat || s->segments < 1 || s->privacy < 1)
        return 0;
    if ((uint64_t)s->segments + s->privacy > s->parties || most >= FP16_PRIME_MAX)
        return 0;
    return fp16_prime_above((uint32_t)most);
}

static uint32_t coded_width(const struct secagg_shape *s)
{
    const uint32_t p = prime_of(s);

    return p == 0 ? 0 : bits_width(p);
}

size_t coded_upload_values(const struct secagg_shape *s, size_t n)
{
    return n / s->segments + (n % s->segments != 0);
}

static uint32_t coded_quorum(const struct secagg_shape *s)
{
    return s->segments + s->privacy;
}

static size_t coded_payload_bytes(const struct secagg_shape *s, size_t n)
{
    return bits_bytes(coded_upload_values(s, n), coded_width(s));
}

/* A share has the size of the upload that is their sum. */
static size_t coded_part_bytes(const struct secagg_shape *s, enum secagg_part part, uint32_t from,
                               size_t n)
{
    (void)from;
    return part == SECAGG_PART_ROUND ? coded_payload_bytes(s, n) : 0;
}

enum status coded_lcc_init(struct lcc *c, const struct secagg_shape *s)
{
    const struct lcc_shape shape = {prime_of(s), s->parties, s->segments, s->privacy};

    return lcc_init(c, &shape, NULL);
}

/* --- a party --- */

struct coded_party {
    struct secagg_party base;
    uint32_t w;
    struct lcc lcc;
    struct share_keys keys;
    struct rng uniform; /* of the system */
    uint32_t *wide;     /* ENCODE_CHUNK codes */
    uint16_t *q;        /* K x len codes, the last ones zeros */
    uint16_t *rows;     /* (K + T) x CODED_CHUNK */
    uint16_t *shares;   /* M x CODED_CHUNK; of a relay: one member's */
    uint16_t *own;      /* len: this member's share of its own, then the sum */
    uint8_t *opened;    /* a packed share */
    uint8_t *random;    /* RANDOM_BYTES */
    size_t n;           /* of the round that was shared */
    bool shared;        /* and waits for its relay */
};

static void wipe(void *block, size_t n, size_t size)
{
    if (block != NULL)
        secret_wipe(block, n * size);
}

/* All scratch of a round, up to the largest. */
static void wipe_scratch(struct coded_party *p)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t len = coded_upload_values(s, s->values_max);

    wipe(p->wide, ENCODE_CHUNK, sizeof *p->wide);
    wipe(p->q, s->segments * len, sizeof *p->q);
    wipe(p->rows, (size_t)coded_quorum(s) * CODED_CHUNK, sizeof *p->rows);
    wipe(p->shares, (size_t)s->parties * CODED_CHUNK, sizeof *p->shares);
    wipe(p->own, len, sizeof *p->own);
    wipe(p->opened, bits_bytes(len, p->w), 1);
    wipe(p->random, RANDOM_BYTES, 1);
}

static void coded_party_free(struct secagg_party *base)
{
    struct coded_party *p = (struct coded_party *)base;

    wipe_scratch(p);
    lcc_deinit(&p->lcc);
    share_deinit(&p->keys);
    rng_deinit(&p->uniform);
    mem_free(p->wide);
    mem_free(p->q);
    mem_free(p->rows);
    mem_free(p->shares);
    mem_free(p->own);
    mem_free(p->opened);
    mem_free(p->random);
    secret_free(p, 1, sizeof *p);
}

static bool make_scratch(struct coded_party *p, const struct secagg_shape *s)
{
    const size_t len = coded_upload_values(s, s->values_max);

    p->wide = mem_alloc(ENCODE_CHUNK, sizeof *p->wide);
    p->q = mem_alloc(s->segments * len, sizeof *p->q);
    p->rows = mem_alloc((size_t)coded_quorum(s) * CODED_CHUNK, sizeof *p->rows);
    p->shares = mem_alloc((size_t)s->parties * CODED_CHUNK, sizeof *p->shares);
    p->own = mem_alloc(len, sizeof *p->own);
    p->opened = mem_alloc(bits_bytes(len, p->w), 1);
    p->random = mem_alloc(RANDOM_BYTES, 1);
    return p->wide != NULL && p->q != NULL && p->rows != NULL && p->shares != NULL &&
           p->own != NULL && p->opened != NULL && p->random != NULL;
}

static enum status coded_party_new(struct secagg_party **out, const struct secagg_shape *s,
                                   const struct secagg_pair *pairs)
{
    struct coded_party *p;
    enum status st;

    CHECK(pairs != NULL);
    p = secret_alloc(1, sizeof *p);
    if (p == NULL)
        return STATUS_MEMORY;
    p->base.shape = *s;
    p->w = coded_width(s);
    st = coded_lcc_init(&p->lcc, s);
    if (st == STATUS_OK)
        st = share_init(&p->keys, s->parties, s->self, pairs);
    if (st == STATUS_OK)
        st = rng_init_system(&p->uniform);
    if (!make_scratch(p, s))
        st = st == STATUS_OK ? STATUS_MEMORY : st;
    if (st != STATUS_OK) {
        coded_party_free(&p->base);
        return st;
    }
    *out = &p->base;
    return STATUS_OK;
}

/* --- protect --- */

/* All codes of a round, in the order in which every protocol draws their noise. */
static void encode(struct coded_party *p, const float *x, size_t n, struct rng *noise)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t all = s->segments * coded_upload_values(s, n);

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < ENCODE_CHUNK ? n - at : ENCODE_CHUNK;
        encode_integers(&s->encode, p->wide, x + at, some, noise);
        if (s->encode.residues)
            encode_mod(p->q + at, p->wide, some, p->lcc.field.p);
        else
            lane_narrow(p->q + at, p->wide, some);
    }
    memset(p->q + n, 0, (all - n) * sizeof *p->q);
}

static void draw_uniform(struct coded_party *p, uint16_t *out, size_t n)
{
    size_t made = 0, used;

    while (made < n) {
        const size_t want = 2 * (n - made), bytes = want < RANDOM_BYTES ? want : RANDOM_BYTES;

        rng_fill(&p->uniform, p->random, bytes);
        made += fp16_vec_uniform(out + made, n - made, p->random, bytes, &used, &p->lcc.field);
    }
}

/* Columns at..at+some of all shares: packed into the parts of the others, and this member's own. */
static void share_chunk(struct coded_party *p, uint8_t *payload, size_t at, size_t some)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t len = coded_upload_values(s, p->n), part = bits_bytes(len, p->w);

    for (uint32_t k = 0; k < s->segments; k++)
        memcpy(p->rows + k * some, p->q + k * len + at, some * sizeof *p->rows);
    draw_uniform(p, p->rows + s->segments * some, s->privacy * some);
    lcc_encode(&p->lcc, p->shares, p->rows, some);
    for (uint32_t j = 0; j < s->parties; j++) {
        const uint16_t *share = p->shares + j * some;

        if (j == s->self)
            memcpy(p->own + at, share, some * sizeof *p->own);
        else
            bits_pack16(payload + share_part(&p->keys, j, part) + bits_bytes(at, p->w), share, some,
                        p->w);
    }
}

static void wipe_round(struct coded_party *p, size_t n)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t len = coded_upload_values(s, n), some = len < CODED_CHUNK ? len : CODED_CHUNK;

    wipe(p->wide, n < ENCODE_CHUNK ? n : ENCODE_CHUNK, sizeof *p->wide);
    wipe(p->q, s->segments * len, sizeof *p->q);
    wipe(p->rows, coded_quorum(s) * some, sizeof *p->rows);
    wipe(p->shares, s->parties * some, sizeof *p->shares);
    wipe(p->random, RANDOM_BYTES, 1);
}

static enum status coded_protect(struct secagg_party *base, uint8_t *payload, uint8_t *check,
                                 const float *x, size_t n, const struct secagg_round *r,
                                 struct rng *noise)
{
    struct coded_party *p = (struct coded_party *)base;
    const size_t len = coded_upload_values(&base->shape, n), part = bits_bytes(len, p->w);
    enum status s = share_begin(&p->keys, r);

    if (s != STATUS_OK)
        return s;
    p->n = n;
    encode(p, x, n, noise);
    for (size_t at = 0, some; at < len; at += some) {
        some = len - at < CODED_CHUNK ? len - at : CODED_CHUNK;
        share_chunk(p, payload, at, some);
    }
    share_seal_all(&p->keys, payload, check, part);
    p->shared = true;
    wipe_round(p, n);
    draw_forget(&p->uniform);
    return STATUS_OK;
}

/* --- relay --- */

/* Adds what member j sealed to this member's own share. */
static enum status add_share(struct coded_party *p, uint32_t j, const uint8_t *sealed,
                             const uint8_t *tag, struct error *err)
{
    const size_t len = coded_upload_values(&p->base.shape, p->n), part = bits_bytes(len, p->w);

    if (!share_open(&p->keys, j, p->opened, sealed, part, tag))
        return error_set(err, STATUS_AUTH,
                         "a share that does not open: damaged, or not of this round, session, "
                         "broadcast or pair");
    for (size_t at = 0, some; at < len; at += some) {
        some = len - at < CODED_CHUNK ? len - at : CODED_CHUNK;
        bits_unpack16(p->shares, p->opened + bits_bytes(at, p->w), some, p->w);
        if (!fp16_vec_valid(p->shares, some, &p->lcc.field))
            return error_set(err, STATUS_AUTH, "a share that is not of the field of %u elements",
                             p->lcc.field.p);
        fp16_vec_add(p->own + at, p->shares, some, &p->lcc.field);
    }
    return STATUS_OK;
}

static enum status coded_relay(struct secagg_party *base, uint8_t *payload, const uint8_t *sealed,
                               const uint8_t *tags, size_t n, const struct secagg_round *r,
                               uint32_t *faulty, struct error *err)
{
    struct coded_party *p = (struct coded_party *)base;
    const size_t len = coded_upload_values(&base->shape, n), part = bits_bytes(len, p->w);
    enum status s = STATUS_OK;

    if (!p->shared || n != p->n || !share_is(&p->keys, r))
        return error_set(err, STATUS_PROTOCOL,
                         "shares of another round than the last, or for a second time");
    p->shared = false;
    for (uint32_t j = 0; j < base->shape.parties && s == STATUS_OK; j++) {
        if (j == base->shape.self)
            continue;
        s = add_share(p, j, sealed + share_part(&p->keys, j, part),
                      tags + share_part(&p->keys, j, AEAD_TAG_BYTES), err);
        if (s != STATUS_OK)
            *faulty = j;
    }
    if (s == STATUS_OK)
        bits_pack16(payload, p->own, len, p->w);
    wipe(p->own, len, sizeof *p->own);
    wipe(p->opened, part, 1);
    wipe(p->shares, len < CODED_CHUNK ? len : CODED_CHUNK, sizeof *p->shares);
    return s;
}

const struct secagg_ops coded_ops = {
    .width = coded_width,
    .payload_bytes = coded_payload_bytes,
    .quorum = coded_quorum,
    .part_bytes = coded_part_bytes,
    .party_new = coded_party_new,
    .party_free = coded_party_free,
    .protect = coded_protect,
    .relay = coded_relay,
    .server_new = coded_server_new,
    .server_free = coded_server_free,
    .begin = coded_server_begin,
    .add = uploads_server_add,
    .combine = uploads_server_combine,
    .show = coded_server_show,
    .late = uploads_server_late,
};
