/* found.h -- what a run has left in an experiment's folder.
 *
 * What it says of itself is in runs/ID/summary.json and runs/ID/server/metrics.jsonl; what the
 * script knows of it, in logs/ID.code (exit code), logs/ID.log and logs/ID.continued.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_FOUND_H
#define COLONNADE_TOOLS_GRID_FOUND_H

#include "common/base/status.h"

#include <jansson.h>
#include <stdbool.h>

enum { FOUND_WORDS_MAX = 512 };

struct found {
    json_t *summary;             /* NULL: none */
    json_t *metrics;             /* an array of its evaluations */
    const char *status;          /* completed, target, budget, stopped, failed, missing */
    int code;                    /* -1: not known */
    char words[FOUND_WORDS_MAX]; /* what was wrong; "" */
    bool continued;              /* seconds and bytes are of its last process alone */
};

/* STATUS_MEMORY; a file that is not there, or is none of ours, is not there. */
enum status found_open(struct found *f, const char *dir, const char *id,
                       struct error *err) MUST_USE;
void found_close(struct found *f);

/* Whether DIR/runs/ID came to its end and needs no more work. */
bool found_is_done(const char *dir, const char *id);

#endif
