/* aligned.h -- a server and three parties that stand and align short lists, and an ear that keeps
 * how much of what everybody says.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_ALIGNED_H
#define COLONNADE_TESTS_SIM_ALIGNED_H

#include "tests/sim/world.h"

enum { ALIGNED_PARTIES = 3, ALIGNED_LISTS = ALIGNED_PARTIES + 1, ALIGNED_SAID_MAX = 4096 };

/* List 0 is the server's. */
extern const uint32_t aligned_sizes[ALIGNED_LISTS];
/* 1, 2, 8 and 9 are in all of these. */
extern const uint64_t aligned_ids[ALIGNED_LISTS][ALIGNING_MAX];

struct sim *aligned_new(const struct sim_options *o,
                        const uint64_t ids[ALIGNED_LISTS][ALIGNING_MAX]);
struct sim *aligned_common(const char *policy); /* of aligned_ids, one of which is enough */
struct sim_list *aligned_list(struct sim *s, int who);
/* One alignment, to its end. */
void aligned_play(struct sim *s, uint32_t chunk, bool labelled);

struct aligned_said {
    struct {
        int who;
        enum wire_kind kind;
        size_t entries, tag, tallies;
        uint32_t to, step, common;
    } at[ALIGNED_SAID_MAX];
    size_t n;
};

void aligned_no_charge(struct sim *s, uint32_t party, const struct action_charge *c, void *owner);
void aligned_no_end(struct sim *s, int who, void *owner);
struct sim_ear aligned_ear(struct aligned_said *said);

#endif
