/* keyed.h -- a pair that aligns by several keys first, and then trains by the files that come of
 * it.
 *
 * All sides but the victim list the same rows in both runs.  The victim lists as many in both, of
 * which each key finds as many; which of its rows which key finds, which has which cells, in what
 * order they stand and what it calls them is drawn for each run by itself, and so is what of it is
 * the second row of an id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_KEYED_H
#define COLONNADE_TESTS_INTERFERENCE_KEYED_H

#include "tests/interference/pair.h"

/* What else is drawn of a pair of that kind. */
void keyed_draw(struct pair *p);
/* Both jobs of one run.  False: the alignment is not what it should be. */
bool keyed_play(const struct pair *p, struct sim *s, int side);
void keyed_print(const struct pair *p, FILE *to);

#endif
