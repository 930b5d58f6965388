/* aggregation.h -- what is known of an aggregation protocol before it runs: one row for each, which
 * rules of plans, sizes and sessions ask instead of a name.
 *
 * What a protocol does is behind the same name in common/secagg.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_AGGREGATION_H
#define COLONNADE_CONFIG_AGGREGATION_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct aggregation {
    bool plaintext;  /* the server is given every upload as it is; elsewhere sums of integers */
    bool shares;     /* members seal shares for each other before they upload */
    bool deals;      /* keys and data pass in shares, too, before the first round */
    bool polynomial; /* it computes the embeddings itself: of polynomial bottoms, of any size, in
                      * rows that it cuts into protocol.fedvs.segments, with its own encoding */
    enum plan_encoding own; /* polynomial: that encoding, which a plan need not name */
    uint32_t prime_max;     /* sums of codes stay below this prime; 0: no such bound */
    /* The smallest set that it adds up. */
    uint32_t (*least)(const struct plan *p);
    /* How many parties may put together what they were sent and learn nothing by it (T), the key
     * that says so, and what more of them would open; all NULL: 1. */
    uint32_t (*withstands)(const struct plan *p);
    const char *privacy_key, *opens;
};

/* In the order of the enum, NULL at the end. */
extern const char *const aggregation_names[PLAN_AGGREGATIONS + 1];

const struct aggregation *aggregation_row(enum plan_aggregation a);
const struct aggregation *aggregation_of(const struct plan *p);

/* K pieces that the protocol itself cuts rows into; 1 elsewhere. */
uint32_t aggregation_segments(const struct plan *p);
/* May a round close without the uploads of some members? */
bool aggregation_partial(const struct plan *p);

#endif
