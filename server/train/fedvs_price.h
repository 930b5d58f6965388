/* fedvs_price.h -- what `vfl-server -n` can say of a plan under fedvs before it knows the parties'
 * columns and degrees: what a round costs for each input, and how many inputs a field holds.
 *
 * An input is a feature under one power: d_m D_m of them at party m.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_FEDVS_PRICE_H
#define COLONNADE_SERVER_TRAIN_FEDVS_PRICE_H

#include "common/base/buf.h"
#include "common/config/plan.h"

#include <stdint.h>

/* The largest sum of d_m D_m over all parties, every D_m being `degree`, with which no sum can wrap
 * in this field and a round stays within its limits; 0: not even one feature at each party.  The
 * plan passes plan_check() with its shape known. */
uint64_t fedvs_price_inputs(const struct plan *p, enum plan_prime prime, uint32_t degree);

/* Could any party take part?  STATUS_CONFIG, with the numbers, when one column of degree 1 at each
 * is too much for the plan's prime.  STATUS_OK under other aggregations. */
enum status fedvs_price_check(const struct plan *p, struct error *err) MUST_USE;

/* Appends lines that begin with "# ". */
enum status fedvs_price_print(const struct plan *p, struct buf *out) MUST_USE;

#endif
