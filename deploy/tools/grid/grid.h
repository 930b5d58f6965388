/* grid.h -- what a grid file says, and the runs that come of it.
 *
 * A grid is settings that all runs share and, for each of its cases (one without a name if there
 * are none), more settings and axes.  A run is one choice of every axis of its case, and a seed.
 * docs/operating.md, section 10, has the format.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_GRID_H
#define COLONNADE_TOOLS_GRID_GRID_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/config/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GRID_AXES_MAX = 16,      /* of one case */
    GRID_COLUMNS_MAX = 64,   /* labels and axes of all cases */
    GRID_SETTINGS_MAX = 256, /* of one run */
    GRID_SEEDS_MAX = 1000,
    GRID_RUNS_MAX = 100000,
    GRID_ID_MAX = 160,
    GRID_KEY_BYTES = 32,
};

enum setting_kind { SETTING_CLUSTER, SETTING_SET, SETTING_PARTY, SETTING_LABEL };

/* One assignment: an option of `vfl cluster`, a key of the server's file or of a party's, or a
 * column of the tables that does nothing. */
struct setting {
    enum setting_kind kind;
    const char *who; /* PARTY: "*" or a number */
    const char *key, *value;
    bool file; /* the value is one name of a file, or two with a comma between */
    int line;
    struct setting *next;
};

/* One value of an axis, and what it sets. */
struct choice {
    const char *text;
    struct setting *settings;
    struct choice *next;
};

struct axis {
    const char *name;
    int line;
    struct choice *choices;
    struct axis *next;
};

/* `name: text` or `name: [text...]` of a rule; texts are the items of a tree. */
struct match {
    const char *name;
    const struct tree *value;
    struct match *next;
};

struct rule {
    struct match *matches; /* all of them */
    struct rule *next;
};

/* What a case has, and what all share. */
struct block {
    const char *name; /* of a case; NULL: the only one */
    struct setting *settings;
    struct axis *axes;
    struct rule *only, *skip;
    size_t seeds_n; /* 0: not said */
    uint64_t *seeds;
    struct block *next;
};

struct grid {
    const char *file, *name;
    char folder[PATH_MAX]; /* where relative names of files begin */
    unsigned jobs;         /* 0: not said */
    struct block shared;
    struct block *cases; /* at least one */
    bool has_cases;
    const char *column[GRID_COLUMNS_MAX]; /* labels, then axes */
    size_t columns, labels;
    bool keyed; /* idkey.h */
    uint8_t key[GRID_KEY_BYTES];
    struct arena text; /* the file's tree */
    struct arena arena;
};

/* STATUS_CONFIG with `file:line: reason`.  `data`: the folder of relative names of files; NULL: the
 * grid file's.  grid_deinit also after a failure. */
enum status grid_read(struct grid *g, const char *file, const char *data,
                      struct error *err) MUST_USE;
void grid_deinit(struct grid *g);

/* A run: `setting` is what holds after all have been looked at, in the order of kinds. */
struct run {
    const struct block *of;
    size_t axes;
    const struct axis *axis[GRID_AXES_MAX];
    const struct choice *pick[GRID_AXES_MAX];
    uint64_t seed;
    size_t settings;
    const struct setting *setting[GRID_SETTINGS_MAX];
    char id[GRID_ID_MAX];
};

/* Calls `take` for each run in the order of the file, until it fails. */
enum status grid_each(struct grid *g, enum status (*take)(void *ctx, const struct run *r),
                      void *ctx, struct error *err) MUST_USE;
/* The cell of column c of this run ("" when it has none). */
const char *grid_cell(const struct grid *g, const struct run *r, size_t c);
/* How many parties the run has. */
unsigned grid_parties(const struct run *r);

#endif
