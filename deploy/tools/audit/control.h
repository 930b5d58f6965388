/* control.h -- the negative control: a bottom that trains on raw records tells of a record in the
 * releases of all others (docs/privacy.md, adjacencies).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_CONTROL_H
#define COLONNADE_TOOLS_AUDIT_CONTROL_H

#include "common/base/status.h"

#include <stddef.h>

/* `runs` runs for each side of 1,000 steps of one record each: M = 5, b = 16, beta 0.1, P = 1; the
 * target's bottom is C tanh(theta x), theta 0 at first, x = +-1 in the first record and 0.1 in all
 * others; the others embed 0; logistic loss, every label 1, rate 10 / t.  The auditor sees the sums
 * of the other records alone.  Prints, and gives, the bound (*epsilon) and what one release of the
 * first record would cost (*one_release): a bound above that shows that the auditor sees. */
enum status control_raw(size_t runs, double *epsilon, double *one_release,
                        struct error *err) MUST_USE;

#endif
