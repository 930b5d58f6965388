/* deviate.h -- one side of an alignment does otherwise than its program, in one place; or the
 * network does, to what passes it.
 *
 * A test that is linked with --wrap for what a member gives, says and seals, and for what is made
 * of comparing (Makefile: test_align_hostile), has a deviation between those and their callers.
 * Everybody else plays as ever.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_DEVIATE_H
#define COLONNADE_TESTS_SIM_DEVIATE_H

#include "common/align/course.h"
#include "tests/sim/sim.h"

enum {
    DEVIATE_PARTIES = 3,
    DEVIATE_CHUNK = 4,
    DEVIATE_STEPS_MAX = 40,
    DEVIATE_BYTES_MAX = 1024,
    DEVIATE_EVERY = -1 /* of a stage or a chunk */
};

enum deviate_where {
    DEVIATE_NOWHERE,
    DEVIATE_GIVES,   /* the entries that `who` hands over with a step, before they are sealed */
    DEVIATE_TALLY,   /* what it says of a stage that raises */
    DEVIATE_SEAL,    /* the name that it seals entries of a step under */
    DEVIATE_OTHER,   /* whom it seals them for: the third party */
    DEVIATE_TELLS,   /* server: the prefixes that it tells everybody */
    DEVIATE_PLACES,  /* server: places of the list that member `to` holds, or of all */
    DEVIATE_COUNT,   /* server: how many are common, whatever it is asked for */
    DEVIATE_MESSAGE, /* a message, behind whoever made it */
};

/* A step as it was said. */
struct deviate_said {
    uint8_t entries[DEVIATE_BYTES_MAX], tag[64];
    size_t n, tag_n;
};

struct deviation {
    enum deviate_where where;
    int who, to; /* SIM_SERVER or a party; to: of a server's messages, or SIM_ANY */
    enum align_part part;
    int stage, chunk;
    enum wire_kind kind; /* DEVIATE_MESSAGE; of batches part, stage and chunk count */
    uint32_t generation; /* 0: each */
    void (*bytes)(struct deviation *d, uint8_t *bytes, size_t n);
    void (*message)(struct deviation *d, struct wire_msg *m);
    int number;              /* for either */
    const char *text, *with; /* in an offer */

    /* Its own. */
    struct sim *s;
    uint32_t done; /* how often it was done */
    int now_to;    /* to whom the message goes */
    struct deviate_said given[DEVIATE_STEPS_MAX];
    struct deviate_said said[3][DEVIATE_STEPS_MAX][DEVIATE_PARTIES]; /* by generation, step, party:
                                                                        what the server told it */
    uint8_t copy[4096];
};

/* Until the next one, or NULL. */
void deviate(struct sim *s, struct deviation *d);
/* Of what is given now: the same chunk of the stage before, or the chunk before. */
const struct deviate_said *deviate_stage_before(const struct deviation *d);
const struct deviate_said *deviate_chunk_before(const struct deviation *d);
uint32_t deviate_step(const struct deviation *d); /* the one at hand */

#endif
