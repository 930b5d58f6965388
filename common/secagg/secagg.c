/* secagg.c -- the table of aggregation protocols, and what is checked for all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/secagg.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/secagg/clear.h"
#include "common/secagg/masked.h"
#include "common/secagg/ops.h"

#include <string.h>

static const struct secagg_ops *const protocols[] = {
    [AGGREGATION_MASKED] = &masked_ops,
    [AGGREGATION_CLEAR] = &clear_ops,
};

static const struct secagg_ops *ops_of(enum plan_aggregation a)
{
    CHECK((size_t)a < sizeof protocols / sizeof protocols[0]);
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

    return w == 0 ? 0 : bits_bytes(n, w);
}

size_t secagg_check_bytes(enum plan_aggregation a, const struct secagg_shape *s)
{
    return secagg_width(a, s) == 0 ? 0 : ops_of(a)->check_bytes(s);
}

static bool shape_exists(enum plan_aggregation a, const struct secagg_shape *s)
{
    return s->parties >= 1 && s->parties <= PLAN_PARTIES_MAX && s->values_max >= 1 &&
           s->values_max <= PLAN_VALUES_MAX && secagg_width(a, s) != 0;
}

/* --- a party --- */

enum status secagg_party_new(struct secagg_party **out, enum plan_aggregation a,
                             const struct secagg_shape *s, const uint8_t *pair_keys)
{
    enum status st;

    *out = NULL;
    if (!shape_exists(a, s) || s->self >= s->parties)
        return STATUS_CONFIG;
    st = ops_of(a)->party_new(out, s, pair_keys);
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
    CHECK(n <= p->shape.values_max);
    return p->ops->protect(p, payload, check, x, n, r, noise);
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
    CHECK(n <= p->shape.values_max);
    p->n = n;
    p->members_in = 0;
    memset(p->member_in, 0, sizeof p->member_in);
    p->ops->begin(p);
}

enum status secagg_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err)
{
    enum status s;

    CHECK(member < p->shape.parties);
    if (p->member_in[member])
        return error_set(err, STATUS_PROTOCOL, "a second upload in one round");
    s = p->ops->add(p, member, payload, check, err);
    if (s != STATUS_OK)
        return s;
    p->member_in[member] = true;
    p->members_in++;
    return STATUS_OK;
}

enum status secagg_combine(struct secagg_server *p, float *out, uint32_t width, struct error *err)
{
    if (p->members_in != p->shape.parties)
        return error_set(err, STATUS_INTEGRITY, "a sum over %u of %u members", p->members_in,
                         p->shape.parties);
    return p->ops->combine(p, out, width, err);
}
