/* clear.c -- the baseline: codes as they are.  The server sees every embedding; plans that use this
 * are marked plaintext and refused by default policies.
 *
 * Integers travel bit-packed at their own width and are added on arrival, since integer sums do not
 * depend on the order.  Floats do, so they wait in a slot for each member and are added in member
 * order; so do what compressors sent, unpacked, and the members of a concatenation, which are never
 * added at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/clear.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/secagg/lane.h"
#include "common/secagg/others.h"

#include <string.h>

enum { CHUNK = 2048 }; /* values at a time; a multiple of 8, so that chunks begin at whole bytes */

static uint32_t clear_width(const struct secagg_shape *s)
{
    if (s->encode.compressed)
        return s->encode.compress.bits;
    if (!s->encode.integers)
        return 32;
    if (!s->concat && s->encode.span > UINT32_MAX)
        return 0; /* the sums are held in 32 bits */
    return s->encode.code_bits;
}

static size_t clear_payload_bytes(const struct secagg_shape *s, size_t n)
{
    return s->encode.compressed ? compress_bytes(&s->encode.compress, n)
                                : bits_bytes(n, clear_width(s));
}

static uint32_t clear_quorum(const struct secagg_shape *s)
{
    return s->partial ? 1 : s->parties;
}

static size_t chunk_at(size_t n, size_t at)
{
    return n - at < CHUNK ? n - at : CHUNK;
}

/* --- a party --- */

struct clear_party {
    struct secagg_party base;
    uint32_t q[CHUNK];
    uint16_t lanes[CHUNK];
    float y[CHUNK];
    float *clipped; /* compressors: values_max */
};

static void clear_party_free(struct secagg_party *base)
{
    struct clear_party *p = (struct clear_party *)base;

    if (p->clipped != NULL)
        secret_wipe(p->clipped, p->base.shape.values_max * sizeof *p->clipped);
    mem_free(p->clipped);
    secret_wipe(p, sizeof *p);
    mem_free(p);
}

static enum status clear_party_new(struct secagg_party **out, const struct secagg_shape *s,
                                   const struct secagg_pair *pairs)
{
    struct clear_party *p = mem_alloc(1, sizeof *p);

    (void)pairs;
    if (p == NULL)
        return STATUS_MEMORY;
    if (s->encode.compressed) {
        p->clipped = mem_alloc(s->values_max, sizeof *p->clipped);
        if (p->clipped == NULL) {
            clear_party_free(&p->base);
            return STATUS_MEMORY;
        }
    }
    *out = &p->base;
    return STATUS_OK;
}

static void put_integers(struct clear_party *p, uint8_t *to, const float *x, size_t n, uint32_t w,
                         struct rng *noise)
{
    encode_integers(&p->base.shape.encode, p->q, x, n, noise);
    if (w > 16) {
        bits_pack32(to, p->q, n, w);
        return;
    }
    lane_narrow(p->lanes, p->q, n);
    bits_pack16(to, p->lanes, n, w);
}

/* All values of an upload at once: they have a scale in common. */
static void protect_bytes(struct clear_party *p, uint8_t *payload, const float *x, size_t n,
                          const struct secagg_round *r)
{
    uint8_t key[COMPRESS_KEY_BYTES];
    const struct compress_round round = {key, r->importance};

    CHECK(r->dither != NULL);
    compress_key(key, r->dither, (uint16_t)p->base.shape.self);
    encode_pack(&p->base.shape.encode, payload, p->clipped, x, n, &round);
}

static enum status clear_protect(struct secagg_party *base, uint8_t *payload, uint8_t *check,
                                 const float *x, size_t n, const struct secagg_round *r,
                                 struct rng *noise)
{
    struct clear_party *p = (struct clear_party *)base;
    const uint32_t w = clear_width(&base->shape);

    (void)check;
    if (base->shape.encode.compressed)
        protect_bytes(p, payload, x, n, r);
    for (size_t at = 0; at < n && !base->shape.encode.compressed; at += CHUNK) {
        uint8_t *to = payload + bits_bytes(at, w);
        size_t some = chunk_at(n, at);

        if (base->shape.encode.integers) {
            put_integers(p, to, x + at, some, w, noise);
        } else {
            encode_clip(&base->shape.encode, p->y, x + at, some);
            memcpy(to, p->y, some * sizeof *p->y);
        }
    }
    return STATUS_OK;
}

/* --- one upload --- */

/* Scratch for a chunk of codes. */
struct clear_codes {
    uint32_t q[CHUNK];
    uint16_t lanes[CHUNK];
};

/* The codes at..at+some of an upload, into c->q. */
static void get_integers(const struct secagg_shape *s, struct clear_codes *c,
                         const uint8_t *payload, size_t at, size_t some)
{
    const uint32_t w = clear_width(s);
    const uint8_t *from = payload + bits_bytes(at, w);

    if (w > 16) {
        bits_unpack32(c->q, from, some, w);
        return;
    }
    bits_unpack16(c->lanes, from, some, w);
    lane_widen(c->q, c->lanes, some);
}

static enum status check_integers(const struct secagg_shape *s, struct clear_codes *c,
                                  const uint8_t *payload, size_t n, struct error *err)
{
    if (!bits_clean(payload, n, clear_width(s)))
        return error_set(err, STATUS_PROTOCOL, "it ends in bits that are not 0");
    for (size_t at = 0; at < n; at += CHUNK) {
        get_integers(s, c, payload, at, chunk_at(n, at));
        if (!encode_is_code(&s->encode, c->q, chunk_at(n, at)))
            return error_set(err, STATUS_PROTOCOL, "a code above %u", s->encode.value_max);
    }
    return STATUS_OK;
}

static enum status open_floats(const struct secagg_shape *s, float *out,
                               const struct clear_upload *u, struct error *err)
{
    const float max = s->encode.clip;

    memcpy(out, u->payload, u->n * sizeof *out);
    if (!lane_within(out, u->n, max))
        return error_set(err, STATUS_PROTOCOL, "a value that is not a number in [%g, %g]",
                         -(double)max, (double)max);
    return STATUS_OK;
}

static enum status open_bytes(const struct secagg_shape *s, float *out,
                              const struct clear_upload *u, struct error *err)
{
    uint8_t key[COMPRESS_KEY_BYTES];
    const struct compress_round round = {key, NULL};

    CHECK(u->dither != NULL);
    compress_key(key, u->dither, (uint16_t)u->member);
    if (!encode_unpack(&s->encode, out, u->payload, u->n, &round))
        return error_set(err, STATUS_PROTOCOL, "what no compressor makes of %zu values", u->n);
    return STATUS_OK;
}

static enum status open_integers(const struct secagg_shape *s, float *out,
                                 const struct clear_upload *u, struct error *err)
{
    struct clear_codes c;
    enum status st = check_integers(s, &c, u->payload, u->n, err);

    for (size_t at = 0; at < u->n && st == STATUS_OK; at += CHUNK) {
        get_integers(s, &c, u->payload, at, chunk_at(u->n, at));
        encode_estimate(&s->encode, out + at, c.q, chunk_at(u->n, at), 1);
    }
    return st;
}

/* out[n]: what an upload decodes to on its own. */
enum status clear_open(const struct secagg_shape *s, float *out, const struct clear_upload *u,
                       struct error *err)
{
    if (s->encode.compressed)
        return open_bytes(s, out, u, err);
    if (s->encode.integers)
        return open_integers(s, out, u, err);
    return open_floats(s, out, u, err);
}

/* --- the server --- */

struct clear_server {
    struct secagg_server base;
    uint32_t *sum; /* integers that are added: values_max */
    float *slots;  /* otherwise: parties x values_max */
    uint8_t *kept; /* payloads as they came, where they will be shown: parties of the largest */
    struct clear_codes codes;
};

static bool slotted(const struct secagg_shape *s)
{
    return s->concat || !s->encode.integers;
}

static void clear_server_free(struct secagg_server *base)
{
    struct clear_server *p = (struct clear_server *)base;

    mem_free(p->sum);
    mem_free(p->slots);
    mem_free(p->kept);
    mem_free(p);
}

static enum status clear_server_new(struct secagg_server **out, const struct secagg_shape *s)
{
    const bool keeps = s->shown && others_apart(s);
    struct clear_server *p = mem_alloc(1, sizeof *p);

    if (p == NULL)
        return STATUS_MEMORY;
    if (keeps)
        p->kept = mem_alloc(s->parties, clear_payload_bytes(s, s->values_max));
    if (slotted(s))
        p->slots = mem_alloc((size_t)s->parties * s->values_max, sizeof *p->slots);
    else
        p->sum = mem_alloc(s->values_max, sizeof *p->sum);
    if ((p->slots == NULL && p->sum == NULL) || (keeps && p->kept == NULL)) {
        clear_server_free(&p->base);
        return STATUS_MEMORY;
    }
    *out = &p->base;
    return STATUS_OK;
}

static void clear_begin(struct secagg_server *base)
{
    struct clear_server *p = (struct clear_server *)base;

    if (p->sum != NULL)
        memset(p->sum, 0, base->n * sizeof *p->sum);
}

static float *slot_of(const struct clear_server *p, uint32_t member)
{
    return p->slots + (size_t)member * p->base.shape.values_max;
}

/* All of an upload is checked before any of it is added: a refused one leaves no trace in the sum.
 */
static enum status add_integers(struct clear_server *p, const uint8_t *payload, struct error *err)
{
    const struct secagg_shape *shape = &p->base.shape;
    const size_t n = p->base.n;
    enum status s = check_integers(shape, &p->codes, payload, n, err);

    for (size_t at = 0; at < n && s == STATUS_OK; at += CHUNK) {
        get_integers(shape, &p->codes, payload, at, chunk_at(n, at));
        lane_add32(p->sum + at, p->codes.q, chunk_at(n, at));
    }
    return s;
}

static enum status clear_add(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                             const uint8_t *check, struct error *err)
{
    struct clear_server *p = (struct clear_server *)base;
    const struct clear_upload u = {payload, base->n, member, base->dither};
    const size_t bytes = clear_payload_bytes(&base->shape, base->n);
    enum status s;

    (void)check;
    if (p->slots == NULL)
        return add_integers(p, payload, err);
    s = clear_open(&base->shape, slot_of(p, member), &u, err);
    if (s == STATUS_OK && p->kept != NULL)
        memcpy(p->kept + member * bytes, payload, bytes);
    return s;
}

/* Zeros stand where a member is missing. */
static void join(struct clear_server *p, float *out, uint32_t width)
{
    const size_t parties = p->base.shape.parties, rows = p->base.n / width;

    CHECK(width > 0 && p->base.n % width == 0);
    for (uint32_t m = 0; m < parties; m++)
        for (size_t r = 0; r < rows; r++) {
            float *to = out + (r * parties + m) * width;

            if (p->base.member_in[m])
                memcpy(to, slot_of(p, m) + r * width, width * sizeof *out);
            else
                memset(to, 0, width * sizeof *out);
        }
}

/* Values at..at+n of the sum. */
static void add_slots(const struct clear_server *p, float *out, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (uint32_t m = 0; m < p->base.shape.parties; m++)
            sum += p->base.member_in[m] ? (double)slot_of(p, m)[at + i] : 0;
        out[i] = (float)sum;
    }
}

/* The sum over those present stands for that over all. */
static void scale_up(const struct clear_server *p, float *out)
{
    const double factor = (double)p->base.shape.parties / p->base.members_in;

    const bool all = p->base.members_in == p->base.shape.parties;

    for (size_t i = 0; i < p->base.n && !all && !p->base.shape.absent_zero; i++)
        out[i] = (float)((double)out[i] * factor);
}

static enum status clear_combine(struct secagg_server *base, float *out, uint32_t width,
                                 struct error *err)
{
    struct clear_server *p = (struct clear_server *)base;

    (void)err;
    if (base->shape.concat) {
        join(p, out, width);
        return STATUS_OK;
    }
    if (p->slots != NULL)
        add_slots(p, out, 0, base->n);
    else
        encode_estimate(&base->shape.encode, out, p->sum, base->n, base->members_in);
    scale_up(p, out);
    return STATUS_OK;
}

static void clear_show(const struct secagg_server *base, uint8_t *out)
{
    const struct clear_server *p = (const struct clear_server *)base;
    const struct secagg_shape *s = &base->shape;
    float sums[CHUNK];

    if (p->kept != NULL) {
        memcpy(out, p->kept, s->parties * clear_payload_bytes(s, base->n));
        return;
    }
    if (p->sum != NULL) {
        bits_pack32(out, p->sum, base->n, others_sum_width(s));
        return;
    }
    for (size_t at = 0; at < base->n; at += CHUNK) {
        add_slots(p, sums, at, chunk_at(base->n, at));
        memcpy(out + at * sizeof *sums, sums, chunk_at(base->n, at) * sizeof *sums);
    }
}

const struct secagg_ops clear_ops = {
    .width = clear_width,
    .payload_bytes = clear_payload_bytes,
    .quorum = clear_quorum,
    .party_new = clear_party_new,
    .party_free = clear_party_free,
    .protect = clear_protect,
    .server_new = clear_server_new,
    .server_free = clear_server_free,
    .begin = clear_begin,
    .add = clear_add,
    .combine = clear_combine,
    .show = clear_show,
};
