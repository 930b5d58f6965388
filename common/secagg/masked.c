/* masked.c -- Bonawitz et al. 2016, Protocol 0, made modular: each member hides its codes under
 * masks that cancel in the sum over all members.
 *
 *   w   = ceil(log2(value_max M + 1)); fixed: ceil(log2(M 2^bits)) + 1; gaussian: ceil(log2(2 R +
 *         1)), R as in common/config/plan_noise.h
 *   y_m = q_m + sum_{j > m} PRG(k_mj) - sum_{j < m} PRG(k_mj)  mod 2^w
 *
 * ceil(64 / w) zero elements follow the values under the same masks.  They sum to 0 unless two
 * members saw different rounds, sessions or broadcasts, or an upload was damaged; a false pass has
 * odds of 2^-64.
 *
 * There is no recovery of a lost member: the round is void and the next attempt samples anew.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/masked.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/secagg/lane.h"
#include "common/secagg/mask.h"
#include "common/secagg/others.h"

#include <string.h>

enum {
    CHECK_BITS = 64,
    CHECKS_MAX = CHECK_BITS, /* at a width of one bit */
    CHUNK = MASK_CHUNK_BYTES / sizeof(uint16_t),
    WIDTH_MAX = 32,
};

/* w <= 16: half the key stream. */
static bool narrow(uint32_t w)
{
    return w <= 16;
}

static uint32_t masked_width(const struct secagg_shape *s)
{
    const uint32_t w = s->encode.masked_bits;

    if (!s->encode.integers || s->concat)
        return 0; /* there is no sum of integers to hide in */
    return w <= WIDTH_MAX ? w : 0;
}

static uint32_t masked_quorum(const struct secagg_shape *s)
{
    return s->parties;
}

static size_t checks_n(uint32_t w)
{
    return (CHECK_BITS + w - 1) / w;
}

static size_t masked_check_bytes(const struct secagg_shape *s)
{
    const uint32_t w = masked_width(s);

    return bits_bytes(checks_n(w), w);
}

/* Lanes of either size; which one, the width says. */
union lanes {
    uint16_t *narrow;
    uint32_t *wide;
    void *any;
};

/* --- a party --- */

struct masked_party {
    struct secagg_party base;
    uint32_t w;
    struct mask_set masks;
    uint32_t *q;        /* CHUNK codes */
    union lanes lanes;  /* of a chunk */
    union lanes checks; /* CHECKS_MAX masked zeros */
};

static void masked_party_free(struct secagg_party *base)
{
    struct masked_party *p = (struct masked_party *)base;

    mask_deinit(&p->masks);
    if (p->q != NULL)
        secret_wipe(p->q, CHUNK * sizeof *p->q);
    mem_free(p->q);
    mem_free(p->lanes.any);
    mem_free(p->checks.any);
    mem_free(p);
}

static enum status masked_party_new(struct secagg_party **out, const struct secagg_shape *s,
                                    const struct secagg_pair *pairs)
{
    struct masked_party *p;
    enum status st;

    if (s->parties < 2) /* nobody to hide among */
        return STATUS_POLICY;
    CHECK(pairs != NULL);
    p = mem_alloc(1, sizeof *p);
    if (p == NULL)
        return STATUS_MEMORY;
    p->w = masked_width(s);
    st = mask_init(&p->masks, s->parties, s->self, pairs);
    p->q = mem_alloc(CHUNK, sizeof *p->q);
    p->lanes.any = mem_alloc(MASK_CHUNK_BYTES, 1);
    p->checks.any = mem_alloc(CHECKS_MAX, sizeof *p->checks.wide);
    if (st == STATUS_OK && (p->q == NULL || p->lanes.any == NULL || p->checks.any == NULL))
        st = STATUS_MEMORY;
    if (st != STATUS_OK) {
        masked_party_free(&p->base);
        return st;
    }
    *out = &p->base;
    return STATUS_OK;
}

static void pack(const struct masked_party *p, uint8_t *to, union lanes lanes, size_t n)
{
    if (narrow(p->w))
        bits_pack16(to, lanes.narrow, n, p->w);
    else
        bits_pack32(to, lanes.wide, n, p->w);
}

/* The chunk's lanes: n codes of x, then zeros up to all. */
static void load(struct masked_party *p, const float *x, size_t n, size_t all, struct rng *noise)
{
    encode_integers(&p->base.shape.encode, p->q, x, n, noise);
    if (narrow(p->w)) {
        lane_narrow(p->lanes.narrow, p->q, n);
        memset(p->lanes.narrow + n, 0, (all - n) * sizeof *p->lanes.narrow);
    } else {
        memcpy(p->lanes.wide, p->q, n * sizeof *p->q);
        memset(p->lanes.wide + n, 0, (all - n) * sizeof *p->lanes.wide);
    }
}

static void cover(struct masked_party *p, size_t n)
{
    if (narrow(p->w))
        mask_apply16(&p->masks, p->lanes.narrow, n);
    else
        mask_apply32(&p->masks, p->lanes.wide, n);
}

/* Lanes from..from+n of the chunk are the check elements at..at+n. */
static void keep_checks(struct masked_party *p, size_t at, size_t from, size_t n)
{
    if (narrow(p->w))
        memcpy(p->checks.narrow + at, p->lanes.narrow + from, n * sizeof *p->lanes.narrow);
    else
        memcpy(p->checks.wide + at, p->lanes.wide + from, n * sizeof *p->lanes.wide);
}

/* Values and check elements are one run under the streams; a chunk may hold the end of one and the
 * beginning of the other. */
static void seal(struct masked_party *p, uint8_t *payload, const float *x, size_t n,
                 struct rng *noise)
{
    const size_t chunk = narrow(p->w) ? CHUNK : CHUNK / 2, all = n + checks_n(p->w);

    for (size_t at = 0; at < all; at += chunk) {
        const size_t some = all - at < chunk ? all - at : chunk;
        const size_t from = at < n ? at : n, values = n - from < some ? n - from : some;

        load(p, x + from, values, some, noise);
        cover(p, some);
        pack(p, payload + bits_bytes(from, p->w), p->lanes, values);
        if (values < some)
            keep_checks(p, from + values - n, values, some - values);
    }
}

static enum status masked_protect(struct secagg_party *base, uint8_t *payload, uint8_t *check,
                                  const float *x, size_t n, const struct secagg_round *r,
                                  struct rng *noise)
{
    struct masked_party *p = (struct masked_party *)base;
    enum status s = mask_begin(&p->masks, r);

    if (s != STATUS_OK)
        return s;
    seal(p, payload, x, n, noise);
    pack(p, check, p->checks, checks_n(p->w));
    secret_wipe(p->q, (n < CHUNK ? n : CHUNK) * sizeof *p->q);
    mask_end(&p->masks);
    return STATUS_OK;
}

/* --- the server --- */

struct masked_server {
    struct secagg_server base;
    uint32_t w;
    union lanes sum;    /* values_max, mod 2^w */
    union lanes checks; /* CHECKS_MAX */
    uint32_t q[CHUNK];
};

static void masked_server_free(struct secagg_server *base)
{
    struct masked_server *p = (struct masked_server *)base;

    mem_free(p->sum.any);
    mem_free(p->checks.any);
    mem_free(p);
}

static size_t lane_bytes(uint32_t w)
{
    return narrow(w) ? sizeof(uint16_t) : sizeof(uint32_t);
}

static enum status masked_server_new(struct secagg_server **out, const struct secagg_shape *s)
{
    struct masked_server *p = mem_alloc(1, sizeof *p);

    if (p == NULL)
        return STATUS_MEMORY;
    p->w = masked_width(s);
    p->sum.any = mem_alloc(s->values_max, lane_bytes(p->w));
    p->checks.any = mem_alloc(CHECKS_MAX, lane_bytes(p->w));
    if (p->sum.any == NULL || p->checks.any == NULL) {
        masked_server_free(&p->base);
        return STATUS_MEMORY;
    }
    *out = &p->base;
    return STATUS_OK;
}

static void masked_begin(struct secagg_server *base)
{
    struct masked_server *p = (struct masked_server *)base;

    memset(p->sum.any, 0, base->n * lane_bytes(p->w));
    memset(p->checks.any, 0, checks_n(p->w) * lane_bytes(p->w));
}

/* What one member sent looks uniform: nothing about its values can be wrong until all are in. */
static enum status masked_add(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                              const uint8_t *check, struct error *err)
{
    struct masked_server *p = (struct masked_server *)base;

    (void)member;
    if (!bits_clean(payload, base->n, p->w) || !bits_clean(check, checks_n(p->w), p->w))
        return error_set(err, STATUS_PROTOCOL, "it ends in bits that are not 0");
    if (narrow(p->w)) {
        bits_add16(p->sum.narrow, payload, base->n, p->w);
        bits_add16(p->checks.narrow, check, checks_n(p->w), p->w);
    } else {
        bits_add32(p->sum.wide, payload, base->n, p->w);
        bits_add32(p->checks.wide, check, checks_n(p->w), p->w);
    }
    return STATUS_OK;
}

/* Lanes at..at+n of a run as 32-bit numbers: where they are, or copied. */
static const uint32_t *read(struct masked_server *p, union lanes lanes, size_t at, size_t n)
{
    if (!narrow(p->w))
        return lanes.wide + at;
    lane_widen(p->q, lanes.narrow + at, n);
    return p->q;
}

static enum status masked_combine(struct secagg_server *base, float *out, uint32_t width,
                                  struct error *err)
{
    struct masked_server *p = (struct masked_server *)base;
    const struct encode *e = &base->shape.encode;
    const uint32_t checks = (uint32_t)checks_n(p->w);

    (void)width;
    if (lane_max32(read(p, p->checks, 0, checks), checks) != 0)
        return error_set(err, STATUS_INTEGRITY,
                         "the masks do not cancel: members differ in round, session or last "
                         "broadcast, or an upload is damaged");
    for (size_t at = 0; at < base->n; at += CHUNK) {
        const size_t some = base->n - at < CHUNK ? base->n - at : CHUNK;
        const uint32_t *q = read(p, p->sum, at, some);

        if (!encode_is_sum(e, q, some))
            return error_set(err, STATUS_INTEGRITY,
                             "a sum above %llu, the most that %u members can reach",
                             (unsigned long long)e->span, base->shape.parties);
        encode_estimate(e, out + at, q, some, base->shape.parties);
    }
    return STATUS_OK;
}

/* No sum was found that needs more: the low bits of each say all. */
static void masked_show(const struct secagg_server *base, uint8_t *out)
{
    const struct masked_server *p = (const struct masked_server *)base;
    const uint32_t w = others_sum_width(&base->shape);

    if (narrow(p->w))
        bits_pack16(out, p->sum.narrow, base->n, w);
    else
        bits_pack32(out, p->sum.wide, base->n, w);
}

const struct secagg_ops masked_ops = {
    .width = masked_width,
    .check_bytes = masked_check_bytes,
    .quorum = masked_quorum,
    .party_new = masked_party_new,
    .party_free = masked_party_free,
    .protect = masked_protect,
    .server_new = masked_server_new,
    .server_free = masked_server_free,
    .begin = masked_begin,
    .add = masked_add,
    .combine = masked_combine,
    .show = masked_show,
};
