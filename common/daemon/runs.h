/* runs.h -- the folders of runs, where one process plays several: state/runs/NAME.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_RUNS_H
#define COLONNADE_DAEMON_RUNS_H

#include "common/base/status.h"

#include <stdbool.h>

enum {
    RUNS_MAX = 4096,     /* folders that one side keeps; an operator removes old ones */
    RUNS_UNPAID_MAX = 4, /* of these, those for which nothing was ever charged */
};

/* Is `folder` there, or may it be made?  STATUS_IO: as many are. */
enum status runs_room(const char *state, const char *folder, struct error *err) MUST_USE;

/* Calls visit with the folder of each run that is kept, in no order; what is no folder is no run.
 * A failure keeps it from no other: the first one is returned, with the name of its run. */
enum status runs_each(const char *state,
                      enum status (*visit)(void *owner, const char *folder, struct error *err),
                      void *owner, struct error *err) MUST_USE;

/* The folder of a run for which this side's ledger was ever charged has a file `paid` in it. */
bool runs_is_paid(const char *folder);
/* Something is about to be charged: on disk when it returns, with the folder where there was none.
 */
enum status runs_mark_paid(const char *folder, struct error *err) MUST_USE;
/* What follows in the folder is of another run. */
enum status runs_unmark(const char *folder, struct error *err) MUST_USE;
/* Whoever offers jobs could have folders kept without a charge, as many as it likes.  Of these
 * `newest` stays, and RUNS_UNPAID_MAX - 1 in which something was changed last; the others go with
 * all that is in them. */
enum status runs_keep_few_unpaid(const char *state, const char *newest, struct error *err) MUST_USE;

/* The name of the run that a folder is of: what stands behind its last slash. */
const char *runs_name(const char *folder);

#endif
