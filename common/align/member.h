/* member.h -- one member's part in an alignment: its key, its shuffles, and the list that it has at
 * the moment.
 *
 * It knows no message and nobody's name.  What it is given has been opened, and what it gives has
 * yet to be sealed.  A member serves one playing: its key and its shuffles are drawn when it is
 * made and wiped when it is freed, whatever became of it.  Where several keys are tried each pass
 * is a playing.
 *
 *   step of      is given                    gives, for the next step
 *   raise 0      nothing                     points of its own list, raised by it
 *   raise s      points                      the same, raised by it and shuffled
 *   home         points                      (its own list is back, raised by everybody)
 *   collect      nothing                     points of the last list that it raised
 *   tell         prefixes                    nothing
 *   return r     places                      the same, in the order before its shuffle
 *
 * A stage that raises ends with a tally (tally.h).  Everybody sees everybody's and checks them:
 * each `in` must be the `out` of who had the list before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ALIGN_MEMBER_H
#define COLONNADE_ALIGN_MEMBER_H

/* Of labelled rows a member raises the lists of others by its key x, and does not shuffle them; its
 * own by r first and by x / r at home.  So nobody but the owner ever has a point of it that
 * everybody has raised, and which of its rows are among the server's each side finds alone. */

#include "common/align/course.h"
#include "common/align/tally.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"

/* What the points of a row are made of (rows.h): a secret. */
enum { ALIGN_ROW_BYTES = 32 };

struct align_setup {
    const struct align_course *course; /* copied */
    uint32_t self;
    const uint8_t *rows;    /* course->size[self] times ALIGN_ROW_BYTES; kept by reference */
    const uint8_t *session; /* DIGEST_BYTES: what all agree on */
    unsigned threads;
};

struct align_member;

/* What a pass behind the first one goes by: T of the one before, and its number. */
void align_pass_session(uint8_t session[DIGEST_BYTES], const uint8_t transcript[DIGEST_BYTES],
                        uint32_t pass);

enum status align_member_new(struct align_member **out, const struct align_setup *setup) MUST_USE;
void align_member_free(struct align_member *m); /* wipes; NULL is fine */

/* Takes part in `step`, with the `n` bytes that are given for it: on any thread, for about a second
 * of all processors where points are raised.  STATUS_PROTOCOL: they are wrong; *err says what, and
 * align_member_blamed() who gave them. */
enum status align_member_take(struct align_member *m, uint32_t step, const uint8_t *given, size_t n,
                              struct error *err) MUST_USE;
/* Of bytes that `step` must bring it. */
size_t align_member_expects(const struct align_member *m, uint32_t step);
/* What it gives for `step`, to align_receiver(); at most ALIGN_CHUNK entries.  Returns the bytes.
 */
size_t align_member_gives(const struct align_member *m, uint32_t step, uint8_t *out);

/* Of the stage that raises, once its last step is taken. */
const uint8_t *align_member_tally(const struct align_member *m);
/* Everybody's of that stage, by member, this one's among them. */
enum status align_member_check(struct align_member *m, uint32_t stage, const uint8_t *tallies,
                               struct error *err) MUST_USE;
/* How many points are told: before the first step of `tell`. */
enum status align_member_common(struct align_member *m, uint32_t common,
                                struct error *err) MUST_USE;
uint32_t align_member_blamed(const struct align_member *m);

/* A digest of all that everybody should have seen alike so far. */
const uint8_t *align_member_transcript(const struct align_member *m);
/* Once all steps are taken: for each row of the own list its place among those told, or
 * ALIGN_NOWHERE. */
const uint32_t *align_member_places(const struct align_member *m);
/* Of labelled rows, once the list is home: a chunk of what the server tells, prefixes of its own
 * points in their order.  Returns the bytes. */
size_t align_member_tells(const struct align_member *m, uint32_t chunk, uint8_t *out);

/* For who compares lists: the sum of n points, on all threads.  False: one is none. */
bool align_sum(uint8_t sum[GROUP_BYTES], const uint8_t *points, size_t n, unsigned threads);

#endif
