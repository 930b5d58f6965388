/* flight.h -- what is on its way between two ends of a connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_FLIGHT_H
#define COLONNADE_TESTS_SIM_FLIGHT_H

#include "tests/sim/world.h"

void flight_add(struct sim *s, uint32_t party, bool up, const struct wire_msg *m, uint64_t extra_us,
                bool cut_after); /* m NULL: the end of the stream */
/* Which lands next, and when; SIZE_MAX: none does.  Who is at work reads nothing. */
size_t flight_next(const struct sim *s, uint64_t *at_us);
void flight_deliver(struct sim *s, size_t which);
/* In a tap: this frame lands first, in the place of f's, which is on its way again and lands next.
 */
void flight_put_before(struct sim *s, struct flight *f, const struct buf *frame);
/* Last words.  False: whoever they are for is at work, and has not read them all. */
bool flight_deliver_all(struct sim *s, uint32_t party, bool up);
void flight_free(struct sim *s);

#endif
