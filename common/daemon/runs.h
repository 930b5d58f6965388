/* runs.h -- the folders of runs, where one process plays several: state/runs/NAME.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_RUNS_H
#define COLONNADE_DAEMON_RUNS_H

#include "common/base/status.h"

#include <stdbool.h>

enum {
    RUNS_MAX = 4096,     /* folders that one side keeps; an operator removes old ones */
    RUNS_UNPAID_MAX = 4, /* of these, those for which nothing was charged */
};

/* Is `folder` there, or may it be made?  STATUS_IO: as many are. */
enum status runs_room(const char *state, const char *folder, struct error *err) MUST_USE;

/* Calls visit with the folder of each run that is kept, in no order; what is no folder is no run.
 * A failure keeps it from no other: the first one is returned, with the name of its run. */
enum status runs_each(const char *state,
                      enum status (*visit)(void *owner, const char *folder, struct error *err),
                      void *owner, struct error *err) MUST_USE;

/* Whoever offers jobs could have folders kept for which this side's ledger says nothing, as many as
 * it likes: of these, which have a file `unpaid` in them, the newest RUNS_UNPAID_MAX stay. */
bool runs_is_unpaid(const char *folder);
bool runs_is_kept(const char *folder); /* there is such a folder, whatever is in it */
/* It is the newest of them, and the oldest go with all that is in them. */
enum status runs_mark_unpaid(const char *state, const char *folder, struct error *err) MUST_USE;
/* Something is about to be charged for it. */
enum status runs_mark_paid(const char *folder, struct error *err) MUST_USE;

/* The name of the run that a folder is of: what stands behind its last slash. */
const char *runs_name(const char *folder);

#endif
