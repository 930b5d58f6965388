/* seen.h -- a transcript of the server (server/transcript.h), read back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_SEEN_H
#define COLONNADE_TOOLS_AUDIT_SEEN_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stddef.h>
#include <stdint.h>

struct seen {
    struct plan plan;
    uint32_t inputs; /* columns of a sum */
    /* Of each training row: its sums added up, and how many there were. */
    double *sum; /* train_rows x inputs */
    uint32_t *times;
    /* Of the last epoch of clear runs: each party's embedding of each training row. */
    float *upload; /* parties x train_rows x P; NULL: there were none */
    /* What went down last for each training row: rows x `width` of the gradient, or of D. */
    float *gradient;
    uint32_t width; /* 0: nothing went down */
};

/* STATUS_IO, STATUS_DATA with file and line. */
enum status seen_read(struct seen *s, const char *path, struct error *err) MUST_USE;
void seen_deinit(struct seen *s); /* safe on a zeroed struct */

#endif
