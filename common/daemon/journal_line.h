/* journal_line.h -- the training steps that the journal holds, in order: where each lies, and the
 * trail after it.  Private to the journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_JOURNAL_LINE_H
#define COLONNADE_DAEMON_JOURNAL_LINE_H

#include "common/daemon/journal.h"

/* One training record. */
struct journal_step {
    uint64_t segment, offset, index; /* number of its segment, byte in the file, record in it */
    uint64_t gradient_words;
    uint8_t trail[JOURNAL_TRAIL_BYTES]; /* after it */
};

/* Steps first ... first + n - 1. */
struct journal_line {
    struct journal_step *steps;
    size_t n, cap;
    uint64_t first;
    bool trail_known; /* after the steps before first */
    uint8_t trail[JOURNAL_TRAIL_BYTES];
};

void journal_line_deinit(struct journal_line *l); /* safe on a zeroed struct */

uint64_t journal_line_next(const struct journal_line *l);
/* NULL when it is not held. */
const struct journal_step *journal_line_at(const struct journal_line *l, uint64_t step);
bool journal_line_trail(const struct journal_line *l, uint64_t steps_applied,
                        uint8_t trail[JOURNAL_TRAIL_BYTES]);

/* Room for one step more, so that journal_line_add cannot fail. */
enum status journal_line_room(struct journal_line *l) MUST_USE;
/* step <= journal_line_next(); it and all later ones are forgotten first. */
void journal_line_add(struct journal_line *l, uint64_t step, const struct journal_step *s);
/* Forgets the steps that lie in segments up to this one. */
void journal_line_forget(struct journal_line *l, uint64_t segment);

#endif
