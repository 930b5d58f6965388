/* prepare.h -- from a configuration file to everything a party's session needs: roster, key, scaled
 * data; and what else a run is told.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREPARE_H
#define COLONNADE_PARTY_PREPARE_H

#include "common/config/config.h"
#include "common/crypto/sign.h"
#include "common/daemon/idlist.h"
#include "common/daemon/package.h"
#include "common/daemon/placed.h"
#include "common/data/scale.h"
#include "common/data/schema.h"
#include "common/data/table.h"
#include "common/flow/roster.h"
#include "party/drawn.h"
#include "party/persons.h"
#include "common/program/program.h"

/* For alignments. */
struct party_listed {
    bool alone;                /* for one, and nothing else */
    struct idlist ids;         /* of align.table; n 0: there is none */
    struct placed_pair placed; /* data.alignment and that of the test rows, while tables are read */
};

/* What the training rows, or noise on them, made of the columns. */
struct party_fitted {
    struct scale scale; /* what data.scale has made of both tables; cols 0: nothing */
    struct drawn drawn; /* of a schema with statistics: dp */
};

/* What its bottom begins with. */
struct party_first {
    struct program *program; /* of model.program; NULL: there is none */
    struct buf weights;      /* of model.load */
};

/* Written by prepare.c, and where predictions are asked for by predicted.c and asked.c. */
struct party_inputs {
    struct config_party config;
    struct roster roster;
    uint32_t self; /* index in the roster */
    struct sign_key key;
    struct table train, test; /* test: with what data.validate keeps back; or no rows */
    size_t kept_back;         /* of the rows of test: those that it keeps back */
    struct schema schema;     /* how both came out of their files; empty for IDX */
    struct party_fitted fitted;
    struct table labels; /* of the training rows, when this party holds them */
    struct party_first bottom;
    struct persons persons; /* of data.group */
    /* For predictions, `test` is what they are of, and this the model that makes them. */
    bool predicts;
    struct package model;
    struct party_listed listed;
};

/* What the command line says of a run. */
struct party_options {
    const char *export_file; /* a readable copy of the bottom at the end; NULL: none */
    bool seeded;
    uint64_t seed;
};

/* Configuration, roster and key only: enough for --fingerprint and --ledger. */
enum status party_inputs_identify(struct party_inputs *in, const char *file,
                                  const char *const *sets, size_t n, struct error *err) MUST_USE;
/* Then the data, scaled.  looks (-n): statistics that there are not yet are not drawn, and nothing
 * is written. */
enum status party_inputs_read(struct party_inputs *in, bool looks, struct error *err) MUST_USE;
/* Do the rows decide which features the columns make?  Not where others see it. */
bool party_rows_may_decide(const struct config_party *c);
/* Into a package: what the columns are, what they were named and how they were scaled. */
enum status party_inputs_columns(const struct party_inputs *in, struct package *p,
                                 struct error *err) MUST_USE;
/* What a model is given has a bound, whatever the files and the scale say (table_limit). */
void party_inputs_limit(struct party_inputs *in);
/* To the log, where any was: texts and gaps in that table that no training row has. */
void party_inputs_say_unexpected(const char *path, size_t unseen, size_t filled);
/* align.table, where there is one: before anything is said, as all data.  alone: for nothing but an
 * alignment. */
enum status party_inputs_listed(struct party_inputs *in, bool alone, struct error *err) MUST_USE;
/* The roster file as it is now: what is agreed on in a run is the roster that it began with.
 * STATUS_POLICY: it lacks the server or a member of the run, by their keys, so the run must not go
 * on; *changed: whatever else is new waits for the next run.  Else why it cannot be read. */
enum status party_inputs_roster(const struct party_inputs *in, bool *changed,
                                struct error *err) MUST_USE;
void party_inputs_deinit(struct party_inputs *in); /* safe on a zeroed struct */

#endif
