/* fedvs.h -- coded data times coded weights: R = 2 (K+T-1) + 1 of the M results give the sum of
 * all.
 *
 * Here the shape and a round at the party; what comes before the first round is fedvs_deal.h, the
 * server's side fedvs_server.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_FEDVS_H
#define COLONNADE_SECAGG_FEDVS_H

#include "common/lcc/product.h"
#include "common/secagg/ops.h"

enum {
    /* Elements that are coded together: their rows and shares stay in a near cache level, and a
     * packed chunk ends at a whole byte. */
    FEDVS_CHUNK = 1024,
    /* Coded rows that are brought together before they are multiplied, when they are not already.
     */
    FEDVS_GATHER = 256,           /* rows, and ... */
    FEDVS_GATHER_BYTES = 8 << 20, /* ... bytes that are multiplied together, at most */
};

extern const struct secagg_ops fedvs_ops;

/* The code of a shape that exists. */
enum status fedvs_product_init(struct product *c, const struct secagg_shape *s) MUST_USE;
/* secagg_part_bytes() */
size_t fedvs_part_bytes(const struct secagg_shape *s, enum secagg_part part, uint32_t from,
                        size_t n);
/* Elements of an upload: a K-th of the values. */
size_t fedvs_upload_values(const struct secagg_shape *s, size_t n);

#endif
