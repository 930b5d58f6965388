/* view.h -- what one adversary sees of each canary, as one number.
 *
 * A canary is a training record whose coin is the sign of the only value that its row has in the
 * target's columns.  The adversary sees its releases.  Where the bottom trains with noise and each
 * canary has a column of its own, it also sees what the step on the canary has done to that
 * column's weights, in the releases of other records that have this column alone: probes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_VIEW_H
#define COLONNADE_TOOLS_AUDIT_VIEW_H

#include "common/data/table.h"
#include "deploy/tools/audit/seen.h"

struct view_of {
    const struct seen *seen;
    const struct table *canaries, *probes; /* training and test rows; probes NULL: there are none */
};

/* D: the coin said "as everybody" (a value above 0); D': it did not.  The numbers are larger under
 * D'. In the order of the rows: where a view was fitted, it was to the first half of each side. */
struct view {
    double *d, *d_prime;
    size_t n, m;
};

/* The server's and `held` other parties'.  STATUS_DATA: the tables do not fit the transcript. */
enum status view_make(struct view *v, const struct view_of *of, uint32_t held,
                      struct error *err) MUST_USE;
void view_deinit(struct view *v); /* safe on a zeroed struct */

#endif
