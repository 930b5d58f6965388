/* chaos.h -- schedules of trouble, each from one number.
 *
 * A variant is a federation: parties, rows, plan, checkpoints.  A schedule is a variant and a list
 * of cuts, delays, repetitions, deaths and disks that lose their last records.  Both follow from
 * their numbers alone, so that a schedule that fails is found again by its seed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_CHAOS_H
#define COLONNADE_TESTS_SIM_CHAOS_H

#include "tests/sim/sim.h"

enum {
    CHAOS_VARIANTS = 320,
    CHAOS_PARTIES_MAX = 6,
    CHAOS_TROUBLES_MAX = 10,
    CHAOS_SET_MAX = 48,
};

/* What a schedule may cost. */
enum chaos_class {
    CHAOS_GENTLE,  /* nothing that patience does not outlast: the run completes */
    CHAOS_HARSH,   /* messages that never come, delays and absences beyond all patience */
    CHAOS_REPEATS, /* messages that come twice, which TLS rules out: a breach of the protocol */
    CHAOS_BACK,    /* disks that lose their last records, or are put back to a copy */
};

struct chaos {
    uint64_t seed;
    uint32_t variant;
    struct sim_options options; /* its sets are in `set` */
    char set[SIM_SETS_MAX][CHAOS_SET_MAX];
    size_t sets_n;
    uint64_t patience_us, deadline_us;
    bool wait;
    uint32_t segments; /* that rows are cut in */

    enum chaos_class class;
    struct sim_rule rule[CHAOS_TROUBLES_MAX];
    struct sim_break happen[2 * CHAOS_TROUBLES_MAX];
    size_t rules_n, breaks_n, cuts_n, deaths_n;
    int late, stopped; /* SIM_ANY: nobody */
    uint64_t late_us, stop_us;
    uint64_t trouble_us; /* all delays and absences one after another */
};

/* An undisturbed run of a variant: how long, and what was said (the last row: by the server). */
struct chaos_calm {
    uint64_t length_us;
    uint32_t sent[CHAOS_PARTIES_MAX + 1][WIRE_KINDS];
};

uint32_t chaos_variant_of(uint64_t seed);
void chaos_variant(struct chaos *c, uint32_t variant); /* without trouble */
void chaos_trouble(struct chaos *c, uint64_t seed, const struct chaos_calm *calm);
void chaos_arrange(const struct chaos *c, struct sim *s);
const char *chaos_class_name(enum chaos_class class);
void chaos_print(const struct chaos *c); /* on stderr */

#endif
