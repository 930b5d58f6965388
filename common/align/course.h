/* course.h -- which list a member holds in which step of an alignment, and which part of it.
 *
 * Members are numbered around a ring: the server is 0, the parties of the set follow in their
 * order.  N members hold N lists, list i being member i's own.
 *
 *   raise    N stages: in stage s member k raises list k - s by its key and shuffles it, so that a
 *            list goes once around, its owner first
 *   collect  1 stage: member k shows list k + 1, which everybody has raised, to the server
 *   tell     1 stage: the server tells everybody which points are in all lists
 *   return   N stages: in stage r member k takes the places of list k + 1 + r back through the
 *            shuffle that it gave that list, so that they end at its owner
 *
 * Labelled rows have raise, home, tell (of the points of the server's list) and agree alone:
 *
 *   home     1 stage: member k is handed its own list, and raises it for the last time
 *   agree    1 stage: parties have each other's word that they were told the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ALIGN_COURSE_H
#define COLONNADE_ALIGN_COURSE_H

/* A stage has as many steps as the longest list has chunks; of a shorter list the last ones are
 * empty.  All of it follows from the number of members and the sizes of the lists, which are public
 * and agreed on before. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALIGN_MEMBERS_MAX = 257,   /* all parties that a roster may have, and the server */
    ALIGN_IDS_MAX = 1 << 24,   /* in one list */
    ALIGN_CHUNK = 1 << 14,     /* entries of one step: half a megabyte, a second of work */
    ALIGN_STEPS_MAX = 1 << 24, /* of one alignment */
    ALIGN_POINT_BYTES = 32,    /* while it is raised, and ... */
    ALIGN_PLACE_BYTES = 4,     /* ... of an entry on its way back */
    ALIGN_PREFIX_BYTES = 16,   /* of a point, as it is told */
    ALIGN_NOWHERE = UINT32_MAX /* the place of an entry that is not among those told */
};

enum align_part {
    ALIGN_RAISE,
    ALIGN_HOME,
    ALIGN_COLLECT,
    ALIGN_TELL,
    ALIGN_AGREE,
    ALIGN_RETURN,
    ALIGN_OVER
};

struct align_course {
    uint32_t members, chunk; /* chunk: entries of one step at most */
    uint32_t chunks;         /* steps of a stage */
    bool labelled;           /* the result is the server's list, and not what all have */
    uint32_t size[ALIGN_MEMBERS_MAX];
};

/* One step, as all members have it. */
struct align_at {
    enum align_part part;
    uint32_t stage, chunk; /* stage: of its part; HOME is the one behind those of RAISE */
    bool first, last;      /* of its stage */
};

/* As align_course_init has to have it. */
bool align_course_fits(uint32_t members, const uint32_t *size, uint32_t chunk);
void align_course_init(struct align_course *c, uint32_t members, const uint32_t *size,
                       uint32_t chunk, bool labelled);
uint32_t align_steps(const struct align_course *c);
struct align_at align_at(const struct align_course *c, uint32_t step);

/* The list that member k works on at that step, and from whom it comes: of RAISE beyond the first
 * stage, HOME, COLLECT (k: who shows it) and RETURN. */
uint32_t align_list(const struct align_course *c, const struct align_at *at, uint32_t k);
/* To whom member k hands its entries over when `at` is the step they are of: the next one around
 * the ring, the one before, or the server. */
uint32_t align_receiver(const struct align_course *c, const struct align_at *at, uint32_t k);
uint32_t align_sender(const struct align_course *c, const struct align_at *at, uint32_t k);
/* Do members hand anything over at that step (RAISE and RETURN beyond their first stages, HOME,
 * COLLECT)? */
bool align_hands(const struct align_at *at);
/* Is everybody shown the tallies of the stage that raised before, and of which? */
bool align_shows_tallies(const struct align_course *c, const struct align_at *at, uint32_t *stage);
/* Are parties shown each other's word that they were told the same?  They give it in answer to the
 * step before. */
bool align_shows_words(const struct align_at *at);
/* Entries of a list, or of `size` told points, in that chunk: how many, from which on. */
uint32_t align_range(const struct align_course *c, uint32_t size, uint32_t chunk, uint32_t *from);
size_t align_entry_bytes(enum align_part part);
/* Rows that are not in common yet are aligned once more, by another key: sizes of lists become what
 * is left of them.  False: a list is shorter than `least`, so that there is nothing to be told (nor
 * would be later, since lists get no longer). */
bool align_left(uint32_t members, uint32_t *size, uint32_t common, uint32_t least);

#endif
