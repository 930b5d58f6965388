/* absent.h -- rows of an alignment of labelled rows that this side does not have: they stand in its
 * tables at their places all the same, so that its batches are everybody's.
 *
 * Their features are zeros, table.lacks says which they are, and what this side calls them is a
 * digest that is no record's: a ledger counts releases of it as it counts any, and so neither
 * counts, sizes nor times tell how many there are.
 *
 *   own id   hex of SHA-256("vfl/absent/1" || 0 || digest of the alignment (places.h) || place)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_ABSENT_H
#define COLONNADE_DAEMON_ABSENT_H

#include "common/config/config.h"
#include "common/daemon/placed.h"

/* May a party with this configuration lack rows?  STATUS_CONFIG: something else of it asks whose
 * they are, or what their labels are, and nobody here can say. */
enum status absent_check(const struct placed_pair *p, const struct config_party *c,
                         struct error *err) MUST_USE;
/* Of that, data.group alone: what there is of it in predictions, too. */
enum status absent_check_group(const struct placed_pair *p, const struct config_party *c,
                               struct error *err) MUST_USE;
/* Tables as they are trained and evaluated on, but for those rows: places[] of p (train, test), of
 * which data.validate keeps back the share, get rows.  Both are without such rows so far. */
enum status absent_fill(const struct placed_pair *p, struct table *train, struct table *test,
                        double share, struct error *err) MUST_USE;

#endif
