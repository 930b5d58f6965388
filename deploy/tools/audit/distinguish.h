/* distinguish.h -- canary records against the claims of a run.
 *
 * Every training record is a canary: a fair coin put the target party's (the roster's first)
 * embedding of it to one end of the box, and all other parties' are at the far end, which is the
 * worst case of docs/privacy.md (1).  The sums of different records are independent releases, and
 * what steps do to different columns are independent draws, so a run is as many trials as it has
 * records.  Of a bottom that trains on raw records neither holds, and nothing is judged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_DISTINGUISH_H
#define COLONNADE_TOOLS_AUDIT_DISTINGUISH_H

#include "deploy/tools/audit/view.h"

#include <jansson.h>

/* Summaries of a party, not of a federation: the target's of this run, and the one by whose claims
 * it is judged (the same, or another run's). */
struct distinguish_summaries {
    const json_t *own, *claims;
};

/* Prints a bound beside every claim: each adversary attacks with what it sees, M - m_eff parties'
 * own parts taken out of the sums, at the delta of by->claims.  Where the transcript does not tell
 * these, or the adversary does not see the sums, the claim is not attacked.  *broken: a bound is
 * above its claim.  STATUS_DATA: they do not fit together, nothing can be judged, or a claim is not
 * understood. */
enum status distinguish(const struct view_of *of, const struct distinguish_summaries *by,
                        bool *broken, struct error *err) MUST_USE;

#endif
