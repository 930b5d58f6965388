/* coalitions.h -- which sets of parties are asked for together, so that it can be said what each of
 * them adds.
 *
 * Of few parties all sets.  Of more, what comes before each party in some orders of all of them,
 * and all but each one.  The orders are the first ones of one public sequence for that many
 * parties, the second of each two being the first one backwards (Mitchell, Cooper, Frank, Holmes
 * 2022, arXiv 2104.12199): who asks for more of them asks again for what was answered
 * before, and a table of answers needs not say which they were.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_COALITIONS_H
#define COLONNADE_FLOW_COALITIONS_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COALITION_WORDS = PLAN_PARTIES_MAX / 64, COALITIONS_WHOLE_MAX = 6, COALITIONS_MAX = 1024 };
/* Orders that are asked for where nobody says how many. */
enum { COALITIONS_ORDERS = 16, COALITIONS_ORDERS_MAX = 1024 };

/* A bit for each party that is not in it, by roster index: zeros are all of them. */
struct coalition {
    uint64_t without[COALITION_WORDS];
};

static inline bool coalition_lacks(const struct coalition *c, uint32_t party)
{
    return c->without[party / 64] >> party % 64 & 1;
}
void coalition_remove(struct coalition *c, uint32_t party);
bool coalition_equal(const struct coalition *a, const struct coalition *b);
/* Nobody of n parties. */
struct coalition coalition_none(uint32_t n);

/* Fisher-Yates by the public stream of rng_seed_key(seed, party, purpose, place): from the last
 * entry on each changes places with one that is not behind it. */
enum status coalitions_shuffle(uint32_t *list, uint32_t n, uint64_t seed, uint32_t party,
                               const char *purpose, uint64_t place) MUST_USE;
/* The k-th order of n parties: their indices. */
enum status coalitions_order(uint32_t *order, uint32_t n, uint32_t k) MUST_USE;
/* What has to be asked, each set once and never the empty one, that of all first: of `orders`
 * orders, or of 0 all sets.  *n of at most COALITIONS_MAX; STATUS_LIMIT: they are more. */
enum status coalitions_list(struct coalition out[COALITIONS_MAX], size_t *n, uint32_t parties,
                            uint32_t orders) MUST_USE;

#endif
