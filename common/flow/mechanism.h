/* mechanism.h -- what an upload under a plan is to the accountant.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_MECHANISM_H
#define COLONNADE_FLOW_MECHANISM_H

#include "common/config/plan.h"
#include "common/flow/roster.h"
#include "common/privacy/account.h"

/* The mechanism of party `self` among n members (roster indices, itself among them), as it has to
 * count them: parties of the server's operator hide nobody from it, those of another are one
 * colluder.  Its bottom is raw, releases and participations are 0.  Gaussian noise that cannot be
 * computed is none. */
struct account_entry mechanism_of(const struct plan *p, const struct roster *r,
                                  const uint8_t *members, size_t n, uint32_t self);

/* The delta at which claims are made and limits judged: the plan's, but never more than
 * ledger_delta() of the records that the claims are about: those of this plan and of all before it
 * (threats B13). */
double mechanism_delta(const struct plan *p, uint64_t records);

#endif
