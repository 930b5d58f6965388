/* match.h -- lists that everybody has raised and shuffled, compared: which points are in all of
 * them.
 *
 * Who compares sees how much lists overlap, two by two and all together, and nothing of whose rows
 * those are: each list was shuffled by all others, its owner and the one who compares among them.
 * The common rows stand in the order of their points, which is no order of ids.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ALIGN_MATCH_H
#define COLONNADE_ALIGN_MATCH_H

#include "common/align/course.h"
#include "common/base/status.h"

struct align_match;

enum status align_match_new(struct align_match **out, const struct align_course *course) MUST_USE;
void align_match_free(struct align_match *m); /* NULL is fine */

/* What member k shows at that step of COLLECT. */
void align_match_put(struct align_match *m, const struct align_at *at, uint32_t k,
                     const uint8_t *points);
/* The whole list of owner i. */
const uint8_t *align_match_list(const struct align_match *m, uint32_t i);
/* Once all are there.  STATUS_PROTOCOL: a list, *whose, has one point twice. */
enum status align_match_compare(struct align_match *m, uint32_t *whose) MUST_USE;

uint32_t align_match_common(const struct align_match *m);
/* They are too few to be told: there are none. */
void align_match_none(struct align_match *m);
/* Of a chunk: prefixes of common points; places of entries of list i.  Returns the bytes. */
size_t align_match_tell(const struct align_match *m, uint32_t chunk, uint8_t *out);
size_t align_match_places(const struct align_match *m, uint32_t i, uint32_t chunk, uint8_t *out);

#endif
