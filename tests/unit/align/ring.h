/* ring.h -- an alignment among members in one process: what each gives is given to the next.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_ALIGN_RING_H
#define COLONNADE_TESTS_UNIT_ALIGN_RING_H

#include "common/align/match.h"
#include "common/align/member.h"

#include <stdbool.h>

struct ring {
    struct align_course course;
    struct align_member *member[ALIGN_MEMBERS_MAX];
    struct align_match *match;
    uint8_t *rows[ALIGN_MEMBERS_MAX];
    uint8_t *given[ALIGN_MEMBERS_MAX]; /* of the step that is next, by receiver */
    uint8_t *shown[ALIGN_MEMBERS_MAX]; /* in COLLECT, by who shows it */
    uint8_t tallies[ALIGN_MEMBERS_MAX * TALLY_BYTES];
    /* A test's hand in what is given: NULL, or called with all that is about to be taken. */
    void (*meddle)(struct ring *r, uint32_t step);
    void *owner;
    struct error error; /* of whom it has ended with */
    uint32_t refused_by, blamed, step;
};

/* labelled: of the rows of member 0.  ids[i][j]: row j of member i is made of that number; sizes as
 * in course. */
void ring_open(struct ring *r, uint32_t members, const uint32_t *size, uint64_t *const *ids,
               uint32_t chunk, bool labelled);
/* STATUS_PROTOCOL: r->refused_by has refused, at r->step. */
enum status ring_play(struct ring *r);
void ring_close(struct ring *r);

#endif
