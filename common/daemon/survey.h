/* survey.h -- what the alignments under state say of a side's own table, for people: how many of
 * its ids the others do not have, and whose job it is to do something about it.
 *
 * Nothing of it leaves this side, and no id is in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_SURVEY_H
#define COLONNADE_DAEMON_SURVEY_H

#include "common/base/buf.h"
#include "common/data/table.h"

enum { SURVEY_MAX = 32 }; /* alignments that are looked at, the first by name */

struct survey {
    const char *state;
    const char *key;  /* of the configuration: data.alignment, say */
    const char *name; /* its value; "": none */
    const char *path; /* the table */
    const struct table *t;
};

/* Comments, each a line that begins with `# alignment`; of test rows where they have a name. */
enum status survey_print(const struct survey *train, const struct survey *test,
                         struct buf *out) MUST_USE;

#endif
