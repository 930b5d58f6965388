/* flight.h -- what is on its way between two ends of a connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_FLIGHT_H
#define COLONNADE_TESTS_SIM_FLIGHT_H

#include "tests/sim/world.h"

void flight_add(struct sim *s, uint32_t party, bool up, const struct wire_msg *m, uint64_t extra_us,
                bool cut_after);         /* m NULL: the end of the stream */
size_t flight_next(const struct sim *s); /* SIZE_MAX: nothing */
void flight_deliver(struct sim *s, size_t which);
/* In a tap: this frame lands first, in the place of f's, which is on its way again and lands next.
 */
void flight_put_before(struct sim *s, struct flight *f, const struct buf *frame);
void flight_deliver_all(struct sim *s, uint32_t party, bool up); /* last words */
void flight_free(struct sim *s);

#endif
