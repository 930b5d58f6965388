/* shares.h -- what members seal for each other, on its way: one relay for each member is filled
 * from all shares, and not readable here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_SHARES_H
#define COLONNADE_SERVER_TRAIN_SHARES_H

#include "server/train/sum.h"

struct server_shares; /* written by shares.c alone */

/* *out stays NULL where nobody shares. */
enum status server_shares_new(struct server_shares **out, const struct server_sum *sum,
                              struct error *err) MUST_USE;
/* Room for what the members of the sum's shape send each other; chunk_rows: of the largest chunk
 * that is dealt. */
enum status server_shares_size(struct server_shares *h, const struct server_sum *sum,
                               uint32_t chunk_rows, struct error *err) MUST_USE;
void server_shares_free(struct server_shares *h);       /* NULL is fine */
size_t server_share_max(const struct server_shares *h); /* a whole frame; NULL: 0 */

void server_shares_begin(struct server_shares *h); /* a round */
/* Bytes that are due from a member, and bytes of the tags beside them. */
size_t server_shares_due(const struct server_sum *sum, const struct server_task *task,
                         uint32_t member);
size_t server_shares_tags(const struct server_sum *sum);
/* They are here, and as many as are due. */
void server_shares_take(struct server_shares *h, const struct server_sum *sum,
                        const struct server_task *task, uint32_t from, const struct wire_shares *w);
/* All have shared: what passes on to member `to`. */
struct wire_shares server_shares_for(const struct server_shares *h, const struct server_sum *sum,
                                     const struct server_task *task, uint64_t generation,
                                     uint32_t to);

#endif
