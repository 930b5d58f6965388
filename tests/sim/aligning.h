/* aligning.h -- ids that sides of a simulation align, and what has come of it; it outlives their
 * processes, as a disk does.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_ALIGNING_H
#define COLONNADE_TESTS_SIM_ALIGNING_H

#include "common/align/member.h"
#include "common/daemon/roll.h"
#include "common/flow/alignment.h"
#include "party/setup.h"
#include "server/setup.h"

enum { ALIGNING_MAX = 40 };

/* A table as a daemon lists it: several keys, and files of alignments. */
struct sim_table {
    struct idlist ids; /* n 0: there is none, and the numbers below are the list */
    struct roll roll;
    char state[CONFIG_PATH_MAX];
    char extends[CONFIG_ALIGN_NAME_MAX + 1], name[CONFIG_ALIGN_NAME_MAX + 1]; /* the server's */
    bool mixes; /* the server extends rows of one kind by those of the other */
};

struct sim_list {
    struct sim_table table;
    uint32_t n;
    uint64_t id[ALIGNING_MAX];
    uint8_t rows[ALIGNING_MAX * ALIGN_ROW_BYTES];
    uint32_t times_max;            /* policy.align.max_alignments */
    uint32_t counted, begun, kept; /* counted: in which something was told */
    uint32_t result_min;           /* the server's */
    uint32_t places[ALIGNING_MAX]; /* of the last result */
    uint8_t transcript[DIGEST_BYTES];
    bool full, full_later; /* the disk is: at once, or once something would be told */
    bool lies;             /* it says that there are so many */
    uint32_t says;
};

/* Of this configuration, whose files are in `state`. */
void aligning_table(struct sim_list *l, const struct config_align *c, const char *state);
void aligning_free(struct sim_list *l);
/* Rows of these numbers. */
void aligning_list(struct sim_list *l, const uint64_t *id, uint32_t n);
struct party_ids_listed aligning_party(struct sim_list *l);
/* about: filled in for the server's list, whose ids, chunk and kind it says. */
struct server_aligned aligning_server(struct sim_list *l, struct alignment *about, uint32_t chunk,
                                      bool labelled);
/* The server's; a party's own is in aligning_party's. */
enum status aligning_keep(struct sim_list *l, const uint8_t *transcript);

#endif
