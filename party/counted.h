/* counted.h -- what predictions have asked of this party so far, over all jobs and processes, where
 * the policy has a limit on it: ids that it does not have, and rows of a day.
 *
 * The counts are the ledger's (struct ledger_asked), durable with the charge of each round; here
 * is what they come to, and what they must stay within.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_COUNTED_H
#define COLONNADE_PARTY_COUNTED_H

#include "common/base/status.h"
#include "common/config/config.h"
#include "common/privacy/ledger.h"

#include <stdint.h>

/* May so many rows be asked for, as far as counts go?  STATUS_BUDGET: policy.predict.max_unknown
 * was passed, or policy.predict.max_rows_per_day would be. */
enum status counted_may(const struct ledger_asked *before, const struct config_policy *policy,
                        uint64_t rows, int64_t now_s, struct error *err) MUST_USE;

/* A round asks for so many rows, `unknown` of which are new and nobody's here.  *a is changed to
 * what is to be durable before anything is answered or refused; *err says what is refused. */
enum counted {
    COUNTED,         /* to be charged */
    COUNTED_REFUSED, /* too many: to be made durable without a charge */
    COUNTED_NOTHING, /* refused whatever the ids are: *a is as it was */
};
enum counted counted_add(struct ledger_asked *a, const struct config_policy *policy, uint64_t rows,
                         uint32_t unknown, int64_t now_s, struct error *err) MUST_USE;

/* The two files that an earlier version kept them in go into the ledger, and then away. */
enum status counted_adopt(struct ledger *l, const struct config_party *c, int64_t now_s,
                          struct error *err) MUST_USE;

#endif
