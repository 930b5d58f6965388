/* questions.h -- the jobs of predictions of a pair: what a hostile server asks for, one job after
 * another, of parties that stand.
 *
 * It asks for the same ids once more, twice in one job, or for ids that nobody has; in rounds of
 * any length; by ids or by places of an alignment; with parties left out, also where that would
 * show the others' embeddings; among fewer than there are; for contributions, with a column mixed
 * up; and it dies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_QUESTIONS_H
#define COLONNADE_TESTS_INTERFERENCE_QUESTIONS_H

#include "tests/interference/pair.h"

enum { QUESTIONS_ALIGNMENT = 3 }; /* of rows that are called by places, what these are bound to */

/* Behind pair_draw's other draws. */
void questions_draw(struct pair *p);
/* In a simulation that pair_arrange has been at. */
void questions_play(const struct pair *p, struct sim *s);
void questions_print(const struct pair *p, FILE *to);

#endif
