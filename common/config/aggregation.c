/* aggregation.c -- THE TABLE of aggregation protocols: their facts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/aggregation.h"

#include "common/base/check.h"

#include <stddef.h>

#define NAME(id, name) #name,
const char *const aggregation_names[PLAN_AGGREGATIONS + 1] = {PLAN_AGGREGATION_LIST(NAME) NULL};

static uint32_t one(const struct plan *p)
{
    (void)p;
    return 1;
}

/* A sum over one party is that party's embedding. */
static uint32_t two(const struct plan *p)
{
    (void)p;
    return 2;
}

static uint32_t coded_least(const struct plan *p)
{
    return p->protocol.coded.segments + p->protocol.coded.privacy;
}

static uint32_t coded_withstands(const struct plan *p)
{
    return p->protocol.coded.privacy;
}

static uint32_t fedvs_withstands(const struct plan *p)
{
    return p->protocol.fedvs.privacy;
}

static const struct aggregation rows[] = {
    [AGGREGATION_MASKED] = {.least = two},
    [AGGREGATION_CODED] = {.shares = true,
                           .prime_max = PLAN_PRIME_MAX,
                           .least = coded_least,
                           .withstands = coded_withstands,
                           .privacy_key = "protocol.coded.privacy",
                           .opens = "a value"},
    [AGGREGATION_FEDVS] = {.shares = true,
                           .deals = true,
                           .polynomial = true,
                           .own = ENCODING_FIXED,
                           .least = two,
                           .withstands = fedvs_withstands,
                           .privacy_key = "protocol.fedvs.privacy",
                           .opens = "records"},
    [AGGREGATION_CLEAR] = {.plaintext = true, .least = one},
};
_Static_assert(sizeof rows / sizeof *rows == PLAN_AGGREGATIONS, "each aggregation has its row");

const struct aggregation *aggregation_row(enum plan_aggregation a)
{
    CHECK((size_t)a < PLAN_AGGREGATIONS);
    return &rows[a];
}

const struct aggregation *aggregation_of(const struct plan *p)
{
    return aggregation_row(p->protocol.aggregation);
}

uint32_t aggregation_segments(const struct plan *p)
{
    return aggregation_of(p)->polynomial ? p->protocol.fedvs.segments : 1;
}

bool aggregation_partial(const struct plan *p)
{
    return aggregation_of(p)->plaintext && p->protocol.straggler == STRAGGLER_DROP;
}
