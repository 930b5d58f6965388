/* prepare.h -- from a configuration file to everything a session needs: roster, labels, the
 * resolved plan; and what else a run is told.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_PREPARE_H
#define COLONNADE_SERVER_PREPARE_H

#include "common/config/config.h"
#include "common/daemon/idlist.h"
#include "common/daemon/options.h"
#include "common/daemon/package.h"
#include "common/daemon/roll.h"
#include "common/data/table.h"
#include "common/flow/alignment.h"
#include "common/flow/contribution.h"
#include "common/flow/roster.h"
#include "common/metrics/latency.h"
#include "common/program/program.h"
#include "server/ids.h"
#include "server/setup.h"
#include "server/targets.h"

/* For an alignment: of which ids, and what it is about; for predictions the one that rows are
 * called by places of. */
struct server_listed {
    bool aligns;
    struct idlist ids;
    struct alignment about;
    struct roll *roll;    /* NULL: of no alignment */
    struct placed placed; /* not opened: they are called by ids */
};

/* What the head begins as, or is computed by.  Written by
 * prepare.c and asked.c. */
struct server_own_head {
    struct buf weights;      /* of model.load; empty: none */
    struct program *program; /* of model.head_program, main.c's to free; NULL: none */
};

/* Written by prepare.c, and where predictions are asked for by asked.c. */
struct server_inputs {
    struct config_server config; /* plan resolved: task, seed, shape; state: of this run's files */
    char home[CONFIG_PATH_MAX];  /* the daemon's own state, where models are */
    struct roster roster;
    struct table train, test; /* test: with what data.validate keeps back; or no rows */
    struct server_targets target;
    struct server_own_head head;
    /* For predictions: by which model, and of which rows; the plan is the model's. */
    bool predicts;
    struct package model;
    struct ids wanted, missing;   /* missing: those that no answer is kept of */
    struct answers *answers;      /* NULL: of no predictions */
    struct server_question asked; /* of what is missing */
    struct server_listed listed;
    struct contribution asks; /* of contributions: what is asked of each row; n 0: none are */
};

/* What the command line says of a run.  Written by main.c, and of each run of a daemon that stands
 * by stand.c. */
struct server_options {
    const char *export_file;       /* a readable copy of the head at the end; NULL: none */
    const char *transcript;        /* what the server sees and says (transcript.h); NULL: nowhere */
    const char *scores;            /* of predictions, or of the test rows; NULL: nowhere */
    const struct latency *latency; /* of requests, into the summary; NULL: there are none */
    bool progress;                 /* one updating line on stdout */
    bool seeded;
    uint64_t seed;
};

/* Of the options: file, sets, and the seed for a schedule whose own is not given. */
enum status server_inputs_load(struct server_inputs *in, const struct options *o,
                               struct error *err) MUST_USE;
/* Of a server that stands, between two jobs: configuration and roster alone. */
enum status server_inputs_identify(struct server_inputs *in, const struct options *o,
                                   struct error *err) MUST_USE;
/* Of a job of training there, with a plan of its own, among the parties of `whole`. */
struct server_errand {
    const struct options *options;
    const struct server_inputs *whole;
    const char *plan; /* YAML */
    size_t plan_n;
    uint64_t seed; /* of a schedule whose own is not given */
};
enum status server_inputs_errand(struct server_inputs *in, const struct server_errand *e,
                                 struct error *err) MUST_USE;
/* Of an alignment: configuration, roster and align.table. */
enum status server_inputs_align(struct server_inputs *in, const struct options *o,
                                const struct alignment_order *order, struct error *err) MUST_USE;
/* The same of a job of a server that stands. */
enum status server_inputs_align_errand(struct server_inputs *in, const struct server_inputs *whole,
                                       const struct alignment_order *order,
                                       struct error *err) MUST_USE;
void server_inputs_deinit(struct server_inputs *in); /* safe on a zeroed struct */

/* The resolved configuration, what the plan amounts to in rounds and bytes, and what it costs one
 * party. */
enum status server_inputs_print(const struct server_inputs *in, struct buf *out) MUST_USE;

#endif
