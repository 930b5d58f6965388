/* secagg.c -- the table of aggregation protocols, and what is checked for all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/secagg.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/config/aggregation.h"
#include "common/crypto/aead.h"
#include "common/secagg/alone.h"
#include "common/secagg/clear.h"
#include "common/secagg/coded.h"
#include "common/secagg/fedvs.h"
#include "common/secagg/masked.h"
#include "common/secagg/ops.h"
#include "common/secagg/others.h"

#include <string.h>

_Static_assert((int)SECAGG_KEY_BYTES == (int)COMPRESS_KEY_BYTES, "one dither for both");

#define OPS(id, name) [AGGREGATION_##id] = &name##_ops,
static const struct secagg_ops *const protocols[] = {PLAN_AGGREGATION_LIST(OPS)};

static const struct secagg_ops *ops_of(enum plan_aggregation a)
{
    CHECK((size_t)a < PLAN_AGGREGATIONS);
    return protocols[a];
}

/* --- sizes --- */

uint32_t secagg_width(enum plan_aggregation a, const struct secagg_shape *s)
{
    return ops_of(a)->width(s);
}

size_t secagg_payload_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n)
{
    const uint32_t w = secagg_width(a, s);

    if (w == 0)
        return 0;
    return ops_of(a)->payload_bytes == NULL ? bits_bytes(n, w) : ops_of(a)->payload_bytes(s, n);
}

size_t secagg_check_bytes(enum plan_aggregation a, const struct secagg_shape *s)
{
    return secagg_width(a, s) == 0 || ops_of(a)->check_bytes == NULL ? 0
                                                                     : ops_of(a)->check_bytes(s);
}

bool secagg_shares(enum plan_aggregation a)
{
    return aggregation_row(a)->shares;
}

bool secagg_deals(enum plan_aggregation a)
{
    return aggregation_row(a)->deals;
}

size_t secagg_part_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                         enum secagg_part part, uint32_t from, size_t n)
{
    CHECK(from < s->parties);
    return secagg_shares(a) && secagg_width(a, s) != 0 ? ops_of(a)->part_bytes(s, part, from, n)
                                                       : 0;
}

size_t secagg_share_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                          enum secagg_part part, uint32_t from, size_t n)
{
    return (s->parties - 1) * secagg_part_bytes(a, s, part, from, n);
}

size_t secagg_relay_bytes(enum plan_aggregation a, const struct secagg_shape *s,
                          enum secagg_part part, uint32_t to, size_t n)
{
    size_t bytes = 0;

    for (uint32_t from = 0; from < s->parties; from++)
        bytes += from == to ? 0 : secagg_part_bytes(a, s, part, from, n);
    return bytes;
}

size_t secagg_tag_bytes(enum plan_aggregation a, const struct secagg_shape *s)
{
    return secagg_shares(a) && secagg_width(a, s) != 0 ? (size_t)(s->parties - 1) * AEAD_TAG_BYTES
                                                       : 0;
}

static bool shape_exists(enum plan_aggregation a, const struct secagg_shape *s)
{
    if (s->shown && (ops_of(a)->show == NULL || s->partial))
        return false; /* what is shown would not be of all members */
    return s->parties >= 1 && s->parties <= PLAN_PARTIES_MAX && s->values_max >= 1 &&
           s->values_max <= PLAN_VALUES_MAX && secagg_width(a, s) != 0;
}

/* --- a party --- */

enum status secagg_party_new(struct secagg_party **out, enum plan_aggregation a,
                             const struct secagg_shape *s, const struct secagg_pair *pairs)
{
    enum status st;

    *out = NULL;
    if (!shape_exists(a, s) || s->self >= s->parties)
        return STATUS_CONFIG;
    st = ops_of(a)->party_new(out, s, pairs);
    if (st != STATUS_OK)
        return st;
    (*out)->ops = ops_of(a);
    (*out)->shape = *s;
    return STATUS_OK;
}

void secagg_party_free(struct secagg_party *p)
{
    if (p != NULL)
        p->ops->party_free(p);
}

enum status secagg_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise)
{
    CHECK(p->ops->deal_keys != NULL || n <= p->shape.values_max);
    return p->ops->protect(p, payload, check, x, n, r, noise);
}

enum status secagg_relay(struct secagg_party *p, uint8_t *payload, const uint8_t *sealed,
                         const uint8_t *tags, size_t n, const struct secagg_round *r,
                         uint32_t *faulty, struct error *err)
{
    CHECK(p->ops->relay != NULL && n <= p->shape.values_max);
    *faulty = p->shape.self;
    return p->ops->relay(p, payload, sealed, tags, n, r, faulty, err);
}

enum status secagg_deal_keys(struct secagg_party *p, uint8_t *sealed, uint8_t *tags,
                             const struct secagg_round *r)
{
    CHECK(p->ops->deal_keys != NULL);
    return p->ops->deal_keys(p, sealed, tags, r);
}

enum status secagg_take_keys(struct secagg_party *p, const uint8_t *sealed, const uint8_t *tags,
                             const struct secagg_round *r, uint32_t *faulty, struct error *err)
{
    CHECK(p->ops->take_keys != NULL);
    *faulty = p->shape.self;
    return p->ops->take_keys(p, sealed, tags, r, faulty, err);
}

enum status secagg_deal(struct secagg_party *p, uint8_t *sealed, uint8_t *tags, const float *x,
                        uint32_t rows, const struct secagg_round *r, struct rng *masks)
{
    CHECK(p->ops->deal != NULL && rows >= 1 && rows <= p->shape.deal_rows_max);
    return p->ops->deal(p, sealed, tags, x, rows, r, masks);
}

enum status secagg_take(struct secagg_party *p, void *shares, const uint8_t *sealed,
                        const uint8_t *tags, uint32_t rows, const struct secagg_round *r,
                        uint32_t *faulty, struct error *err)
{
    CHECK(p->ops->take != NULL && rows >= 1 && rows <= p->shape.deal_rows_max);
    *faulty = p->shape.self;
    return p->ops->take(p, shares, sealed, tags, rows, r, faulty, err);
}

uint64_t secagg_clipped(const struct secagg_party *p)
{
    return p->clipped;
}

/* --- the server --- */

enum status secagg_server_new(struct secagg_server **out, enum plan_aggregation a,
                              const struct secagg_shape *s)
{
    enum status st;

    *out = NULL;
    if (!shape_exists(a, s))
        return STATUS_CONFIG;
    st = ops_of(a)->server_new(out, s);
    if (st != STATUS_OK)
        return st;
    (*out)->ops = ops_of(a);
    (*out)->shape = *s;
    return STATUS_OK;
}

void secagg_server_free(struct secagg_server *p)
{
    if (p != NULL)
        p->ops->server_free(p);
}

void secagg_begin(struct secagg_server *p, size_t n)
{
    secagg_begin_padded(p, n, n);
}

void secagg_begin_padded(struct secagg_server *p, size_t n, size_t real)
{
    CHECK(n <= p->shape.values_max && real <= n);
    CHECK(real == n || p->ops->deal_keys != NULL); /* others have no rows of padding */
    p->n = n;
    p->real = real;
    p->members_in = 0;
    memset(p->member_in, 0, sizeof p->member_in);
    p->dithered = false;
    p->combined = false;
    p->ops->begin(p);
}

void secagg_dither(struct secagg_server *p, const uint8_t dither[SECAGG_KEY_BYTES])
{
    CHECK(p->members_in == 0);
    memcpy(p->dither, dither, sizeof p->dither);
    p->dithered = true;
}

enum status secagg_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err)
{
    enum status s;

    CHECK(member < p->shape.parties);
    CHECK(p->dithered || !p->shape.encode.compressed);
    if (p->member_in[member])
        return error_set(err, STATUS_PROTOCOL, "a second upload in one round");
    s = p->ops->add(p, member, payload, check, err);
    if (s != STATUS_OK)
        return s;
    p->member_in[member] = true;
    p->order[p->members_in++] = (uint8_t)member;
    return STATUS_OK;
}

uint32_t secagg_quorum(const struct secagg_server *p)
{
    return p->ops->quorum(&p->shape);
}

enum status secagg_combine(struct secagg_server *p, float *out, uint32_t width, struct error *err)
{
    enum status s;

    if (p->members_in < secagg_quorum(p))
        return error_set(err, STATUS_INTEGRITY, "a sum over %u of %u members", p->members_in,
                         p->shape.parties);
    p->verdict = SECAGG_EXACT;
    p->faulty_n = 0;
    s = p->ops->combine(p, out, width, err);
    p->combined = s == STATUS_OK;
    return s;
}

enum secagg_verdict secagg_verdict(const struct secagg_server *p, const uint8_t **faulty,
                                   size_t *faulty_n)
{
    *faulty = p->faulty;
    *faulty_n = p->faulty_n;
    return p->verdict;
}

enum status secagg_late(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                        size_t bytes, struct error *err)
{
    CHECK(p->ops->late != NULL && member < p->shape.parties);
    return p->ops->late(p, member, payload, bytes, err);
}

uint32_t secagg_present(const struct secagg_server *p, uint8_t *absent)
{
    uint32_t k = 0;

    for (uint32_t m = 0; m < p->shape.parties && absent != NULL; m++) {
        if (!p->member_in[m])
            absent[k++] = (uint8_t)m;
    }
    return p->members_in;
}

enum status secagg_open(const struct secagg_shape *s, float *out, const uint8_t *payload, size_t n,
                        uint32_t member, const uint8_t *dither, struct error *err)
{
    const struct clear_upload u = {payload, n, member, dither};

    CHECK(clear_ops.width(s) != 0);
    return clear_open(s, out, &u, err);
}

/* --- alone, shown, others --- */

void secagg_alone(const struct secagg_shape *s, float *y, const float *x, size_t n,
                  const struct secagg_round *r)
{
    alone_estimate(s, y, x, n, r);
}

size_t secagg_scratch_bytes(const struct secagg_shape *s, size_t n)
{
    const size_t values = n * sizeof(float);
    const size_t packed = s->encode.compressed ? secagg_payload_bytes(AGGREGATION_CLEAR, s, n) : 0;

    if (!others_apart(s))
        return 0;
    return values > packed ? values : packed;
}

size_t secagg_shown_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n)
{
    if (secagg_width(a, s) == 0 || ops_of(a)->show == NULL)
        return 0;
    if (others_apart(s))
        return s->parties * secagg_payload_bytes(a, s, n);
    return s->encode.integers ? bits_bytes(n, others_sum_width(s)) : n * sizeof(float);
}

void secagg_show(const struct secagg_server *p, uint8_t *out)
{
    CHECK(p->shape.shown && p->combined);
    p->ops->show(p, out);
}

enum status secagg_others(const struct secagg_shape *s, float *out, const uint8_t *shown,
                          const float *own, size_t n, uint32_t width, const struct secagg_round *r,
                          struct error *err)
{
    const struct others_of o = {shown, own, n, width, r};

    CHECK(s->self < s->parties && n <= s->values_max);
    return others_estimate(s, out, &o, err);
}
