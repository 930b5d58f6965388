/* dither.c -- a hash of where a round stands in the schedule.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dither.h"

#include "common/base/le.h"

void dither_make(uint8_t dither[WIRE_DIGEST_BYTES], struct digest *d, const struct plan *p,
                 enum wire_purpose purpose, uint64_t place, uint64_t sweep)
{
    uint8_t words[4 * 8], *to = words;

    to = le_put(to, p->training.seed, 8);
    to = le_put(to, purpose, 8);
    to = le_put(to, sweep, 8);
    le_put(to, place, 8);
    digest_begin(d);
    digest_update(d, "vfl/round/1", 11);
    digest_update(d, words, sizeof words);
    digest_final(d, dither);
}
