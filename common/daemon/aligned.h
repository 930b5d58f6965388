/* aligned.h -- alignments under state: how many there were, and the last one of each name.
 *
 *   alignments/asked   how many this side has taken part in, those that came to nothing among them
 *   alignments/NAME    the rows in their order: a header, an empty line, and this side's spelling
 *                      of each id, one a line; of labelled rows an empty line for each that this
 *                      side does not have
 *
 * The header says how many there are, as `common N` or `labelled N`, and the digest of what all
 * sides have seen alike (align_member_transcript): two sides whose files have one digest have one
 * order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_ALIGNED_H
#define COLONNADE_DAEMON_ALIGNED_H

#include "common/daemon/idlist.h"

/* One more, on the disk when this returns.  STATUS_POLICY: there were `most`. */
enum status aligned_count(const char *state, uint32_t most, struct error *err) MUST_USE;

struct aligned_result {
    const char *name;
    const uint8_t *transcript; /* DIGEST_BYTES */
    const uint32_t *places;    /* by row of the list; ALIGN_NOWHERE: it is in none */
    uint32_t labelled;         /* rows in all, of which this side may lack some; 0: it has all */
};
enum status aligned_keep(const char *state, const struct idlist *l, const struct aligned_result *r,
                         struct error *err) MUST_USE;

#endif
