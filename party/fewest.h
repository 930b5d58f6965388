/* fewest.h -- `vfl-party -n --predict`: what predictions cost among the fewest that this party's
 * policy takes part among, where the server says that all others are away.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_FEWEST_H
#define COLONNADE_PARTY_FEWEST_H

#include "party/price.h"

/* A set of that size, roster indices in ascending order: of those that the policy takes it has the
 * most who may be with the server.  How many are in it; 0: the policy takes the whole roster alone,
 * or sums are exact. */
size_t fewest_members(uint8_t members[PLAN_PARTIES_MAX], const struct price *p,
                      const struct config_policy *policy);
/* Behind price_print_predictions, as comment lines. */
enum status fewest_print(const struct price *p, const struct party_inputs *in,
                         struct buf *out) MUST_USE;

#endif
