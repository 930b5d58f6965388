/* odds.h -- who is at odds with whom, for as long as a job lasts, however many processes play it.
 *
 * A party says of another what nobody else can check: that its share did not open, that its ids are
 * other ones.  One of the two lies, or is not set up as all are, and nobody can tell which; so they
 * are at odds, from the first such word on and both alike, and are never in one set again (unless a
 * run that was started again has too few left without them: seats.c).  Where
 * at most T lie, an honest party is at odds with T others at most: whoever is so with more lies
 * itself, or has what is no one else's (threats E6).
 *
 * A relation between indices of the roster; who is shut out for it, and when, is seats.c's and
 * accused.c's to say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_ODDS_H
#define COLONNADE_SERVER_ODDS_H

#include "common/base/buf.h"
#include "common/wire/limits.h"

#include <stdbool.h>

enum { ODDS_EXACT_MAX = 14 }; /* parties at odds of whom every choice is looked at */

enum odds_about { ODDS_NONE, ODDS_SHARES, ODDS_IDS };

struct odds {
    uint8_t said[WIRE_MEMBERS_MAX][WIRE_MEMBERS_MAX]; /* enum odds_about: by the one of the other */
    uint32_t others[WIRE_MEMBERS_MAX];                /* how many each is at odds with */
    uint32_t turns[WIRE_MEMBERS_MAX];                 /* how many it has sat out for that */
    bool out[WIRE_MEMBERS_MAX];                       /* sits out, until its turn is over */
};

bool odds_between(const struct odds *o, uint32_t one, uint32_t other);
/* `by` says this of `of`; false: they were at odds before, and nothing changes. */
bool odds_add(struct odds *o, uint32_t by, uint32_t of, enum odds_about about);
/* What this one is at odds about: ODDS_IDS if that is among it. */
enum odds_about odds_about(const struct odds *o, uint32_t who);

/* Leaves of those who are `in`, of n, such as are not at odds with each other.  It is the one at
 * odds with the most of them that goes first, with less and less weight the more often it has sat
 * out already (d of them after t turns count d / (t + 1)), so that nobody's lies keep somebody out
 * for ever; of equals who has sat out less often, then who was accused.  Not `by_turns`: those at
 * odds with the most alone; and where no more than ODDS_EXACT_MAX of them are at odds with another,
 * as many as can be are left.  Of more that is not sought: it takes 2^n steps. */
void odds_part(const struct odds *o, bool in[WIRE_MEMBERS_MAX], uint32_t n, bool by_turns);

/* To bytes and back, of n parties: who said what of whom, and turns.  Who sits out now is chosen
 * anew.  STATUS_DATA: such odds there are not.  What odds_parse is given is zeroed. */
enum status odds_print(const struct odds *o, uint32_t n, struct buf *out) MUST_USE;
enum status odds_parse(struct odds *o, uint32_t n, const uint8_t *bytes, size_t len,
                       size_t *used) MUST_USE;

#endif
