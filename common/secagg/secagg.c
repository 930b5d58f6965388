/* secagg.c -- the table of aggregation protocols and what they have in common.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/secagg.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/secagg/clear.h"
#include "common/secagg/masked.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Above this a party would have to ratchet for minutes to catch up with a mere number. */
static const uint64_t ROUND_MAX = UINT64_C(1) << 32;

static const struct secagg_protocol *protocol_of(enum plan_aggregation a)
{
    switch (a) {
    case AGGREGATION_MASKED: return &masked_protocol;
    case AGGREGATION_CLEAR: return &clear_protocol;
    }
    CHECK(!"no such aggregation");
    return NULL;
}

uint32_t secagg_width(enum plan_aggregation a, const struct secagg_shape *s)
{
    return protocol_of(a)->width(s);
}

size_t secagg_payload_bytes(enum plan_aggregation a, const struct secagg_shape *s, size_t n)
{
    const uint32_t w = secagg_width(a, s);

    return w == 0 ? 0 : bits_bytes(n, w);
}

size_t secagg_check_bytes(enum plan_aggregation a, const struct secagg_shape *s)
{
    const uint32_t checks = protocol_of(a)->checks(s);

    return checks == 0 ? 0 : bits_bytes(checks, secagg_width(a, s));
}

/* --- a party
 * --------------------------------------------------------------------------------------- */

enum status secagg_party_new(struct secagg_party **out, enum plan_aggregation a,
                             const struct secagg_shape *s, const uint8_t *pair_keys)
{
    const struct secagg_protocol *protocol = protocol_of(a);
    struct secagg_party *p;
    enum status st;

    *out = NULL;
    if (protocol->width(s) == 0 || s->parties == 0 || s->self >= s->parties)
        return STATUS_CONFIG;
    p = mem_alloc(1, sizeof *p);
    if (p == NULL)
        return STATUS_MEMORY;
    p->protocol = protocol;
    p->shape = *s;
    p->width = protocol->width(s);
    p->checks = protocol->checks(s);
    p->scratch = mem_alloc(1, sizeof *p->scratch);
    st = p->scratch == NULL ? STATUS_MEMORY : protocol->party_init(p, pair_keys);
    if (st != STATUS_OK) {
        secagg_party_free(p);
        return st;
    }
    *out = p;
    return STATUS_OK;
}

void secagg_party_free(struct secagg_party *p)
{
    if (p == NULL)
        return;
    mask_deinit(&p->mask);
    if (p->scratch != NULL)
        secret_wipe(p->scratch, sizeof *p->scratch);
    mem_free(p->scratch);
    mem_free(p);
}

static bool all_finite(const float *x, size_t n)
{
    int finite = 1;

    for (size_t i = 0; i < n; i++)
        finite &= fabsf(x[i]) <= FLT_MAX;
    return finite;
}

enum status secagg_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise)
{
    CHECK(n > 0 && n <= p->shape.values_max);
    if (r->round < p->round_min || r->round > ROUND_MAX)
        return STATUS_PROTOCOL;
    if (!all_finite(x, n))
        return STATUS_DATA;
    p->round_min = r->round + 1;
    return p->protocol->protect(p, payload, check, x, n, r, noise);
}

/* --- the server
 * ------------------------------------------------------------------------------------ */

static bool allocate_sums(struct secagg_server *p)
{
    const struct secagg_shape *s = &p->shape;

    p->seen = mem_alloc(s->parties, sizeof *p->seen);
    p->codes = mem_alloc(PROTOCOL_CHUNK, sizeof *p->codes);
    if (p->seen == NULL || p->codes == NULL)
        return false;
    if (s->concat || !s->encode.integers)
        return (p->slots = mem_alloc((size_t)s->parties * s->values_max, sizeof *p->slots)) != NULL;
    if (p->protocol->lanes16 && p->width <= 16)
        return (p->sums16 = mem_alloc(s->values_max, sizeof *p->sums16)) != NULL;
    return (p->sums32 = mem_alloc(s->values_max, sizeof *p->sums32)) != NULL;
}

enum status secagg_server_new(struct secagg_server **out, enum plan_aggregation a,
                              const struct secagg_shape *s)
{
    const struct secagg_protocol *protocol = protocol_of(a);
    struct secagg_server *p;

    *out = NULL;
    if (protocol->width(s) == 0 || s->parties == 0)
        return STATUS_CONFIG;
    p = mem_alloc(1, sizeof *p);
    if (p == NULL)
        return STATUS_MEMORY;
    p->protocol = protocol;
    p->shape = *s;
    p->width = protocol->width(s);
    p->checks = protocol->checks(s);
    CHECK(p->checks <= PROTOCOL_CHECKS_MAX);
    if (!allocate_sums(p)) {
        secagg_server_free(p);
        return STATUS_MEMORY;
    }
    *out = p;
    return STATUS_OK;
}

void secagg_server_free(struct secagg_server *p)
{
    if (p == NULL)
        return;
    mem_free(p->seen);
    mem_free(p->codes);
    mem_free(p->slots);
    mem_free(p->sums16);
    mem_free(p->sums32);
    mem_free(p);
}

void secagg_begin(struct secagg_server *p, size_t n)
{
    CHECK(n > 0 && n <= p->shape.values_max);
    p->n = n;
    p->joined = 0;
    memset(p->seen, 0, p->shape.parties * sizeof *p->seen);
    memset(p->check_sums, 0, sizeof p->check_sums);
    if (p->sums16 != NULL)
        memset(p->sums16, 0, n * sizeof *p->sums16);
    if (p->sums32 != NULL)
        memset(p->sums32, 0, n * sizeof *p->sums32);
}

enum status secagg_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err)
{
    enum status s;

    CHECK(member < p->shape.parties && p->n > 0);
    if (p->seen[member])
        return error_set(err, STATUS_PROTOCOL, "a second upload in one round");
    s = p->protocol->add(p, member, payload, check, err);
    if (s != STATUS_OK)
        return s;
    p->seen[member] = true;
    p->joined++;
    return STATUS_OK;
}

enum status secagg_combine(struct secagg_server *p, float *out, uint32_t width, struct error *err)
{
    CHECK(p->joined == p->shape.parties);
    return p->protocol->combine(p, out, width, err);
}
