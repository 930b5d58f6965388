/* split.h -- what the parts of vfl-split share: the options, and where rows go.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_SPLIT_H
#define COLONNADE_TOOLS_SPLIT_SPLIT_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/data/array.h"
#include "common/data/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SPLIT_SETS = 2, /* train, test */
    SPLIT_FOLDER_MAX = 4000
};

enum label_map { MAP_NONE, MAP_EVENODD, MAP_BINARY };

struct split_options {
    const char *out, *train, *test, *columns, *label_map;
    const char *pair_train, *pair_test; /* an array and its labels, or batches of CIFAR */
    const char *predict; /* rows to be predicted, instead of a set: nothing is made of labels */
    bool pair_predict;   /* it is an array, as of images, or batches */
    bool pair, cifar;    /* what the pairs are: a name does not tell batches from other files */
    bool with_labels;    /* all the same: labels go to a file of their own, and ids with them */
    const char *label; /* the column that is the label, or several, between '+'; NULL: the last one,
                        * called label */
    const char *group; /* the column that says whose a row is: everybody gets it; NULL: none */
    const char *time;  /* the one that says when it was, likewise */
    const char *id;    /* the column that is the id; NULL: `id`, or else the row's number */
    const char *schema; /* of the whole table (schemas.h); NULL: none */
    char delimiter;     /* of CSV; 0: found out */
    double test_share;  /* of the rows of a single set; 0: not said (sets.h) */
    enum plan_validate_by test_by;
    uint32_t parties; /* 0: not said */
};

/* Rows of which nobody looks at labels. */
static inline bool split_bare(const struct split_options *o)
{
    return o->predict != NULL && !o->with_labels;
}

struct split {
    struct split_options o;
    enum label_map map;
    unsigned long map_class;
    struct columns columns;
    uint32_t features;
    uint32_t labels;               /* of a row */
    char beside[SPLIT_FOLDER_MAX]; /* in o.out, where the files become whole; "": none yet */
    FILE *features_out[SPLIT_SETS][PLAN_PARTIES_MAX];
    FILE *labels_out[SPLIT_SETS];
    uint64_t rows[SPLIT_SETS];
    const char *ending; /* of the outputs: idx or npy; NULL: they are CSV */
    struct array array; /* of the first input there, whichever it is */
    size_t of_batch;    /* labels of a record of its batches (cifar.h); 0: it has none */
    struct buf *schema; /* of each party, as text; NULL: there is none */
    struct error err;
};

#endif
