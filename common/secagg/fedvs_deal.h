/* fedvs_deal.h -- what members of fedvs deal each other before the first round.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_FEDVS_DEAL_H
#define COLONNADE_SECAGG_FEDVS_DEAL_H

#include "common/secagg/ops.h"

/* The contracts of struct secagg_ops. */
enum status fedvs_deal_keys(struct secagg_party *base, uint8_t *sealed, uint8_t *tags,
                            const struct secagg_round *r) MUST_USE;
enum status fedvs_take_keys(struct secagg_party *base, const uint8_t *sealed, const uint8_t *tags,
                            const struct secagg_round *r, uint32_t *faulty,
                            struct error *err) MUST_USE;
enum status fedvs_deal(struct secagg_party *base, uint8_t *sealed, uint8_t *tags, const float *x,
                       uint32_t rows, const struct secagg_round *r, struct rng *masks) MUST_USE;
enum status fedvs_take(struct secagg_party *base, void *shares, const uint8_t *sealed,
                       const uint8_t *tags, uint32_t rows, const struct secagg_round *r,
                       uint32_t *faulty, struct error *err) MUST_USE;

#endif
