/* counted.h -- what predictions have asked of this party so far, over all jobs and processes, where
 * the policy has a limit on it: ids that it does not have, and rows of a day.
 *
 * Two small files under state, written whole and synced before anything is answered or refused.
 * They have no MAC: whoever can change them can remove them, and the operator does, by hand, once a
 * list of ids was agreed on or a clock has been wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_COUNTED_H
#define COLONNADE_PARTY_COUNTED_H

#include "common/base/status.h"
#include "common/config/config.h"

#include <stdint.h>

/* May so many rows be asked for, as far as counts go?  STATUS_BUDGET: policy.predict.max_unknown
 * was passed, for good, or policy.predict.max_rows_per_day would be. */
enum status counted_may(const struct config_party *c, uint64_t rows, int64_t now_s,
                        struct error *err) MUST_USE;
/* A round asks for so many rows, `unknown` of which are new and nobody's here: counted first, and
 * then STATUS_BUDGET where that is too many. */
enum status counted_add(const struct config_party *c, uint64_t rows, uint32_t unknown,
                        int64_t now_s, struct error *err) MUST_USE;

#endif
