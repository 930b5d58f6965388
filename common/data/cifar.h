/* cifar.h -- batches of CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky, "Learning multiple
 * layers of features from tiny images", 2009), plain or packed, several files as one set.
 *
 * A file is records and nothing else: the label (of CIFAR-100 first the coarse one, of 20, then the
 * fine one, of 100), then 32 x 32 red, green and blue bytes, each plane row by row.
 *
 * A batch holds the labels, too, so it is no file of a party's: what cuts a set for a trial reads
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CIFAR_H
#define COLONNADE_DATA_CIFAR_H

#include "common/data/stream.h"

#include <limits.h>

enum {
    CIFAR_CHANNELS = 3,
    CIFAR_SIDE = 32,
    CIFAR_PIXELS = CIFAR_CHANNELS * CIFAR_SIDE * CIFAR_SIDE,
    CIFAR_LABELS_MAX = 2,
    CIFAR_FILES_MAX = 64
};

/* Which label: of CIFAR-10 its only one; of CIFAR-100 the fine one, unless somebody says coarse. */
enum cifar_label { CIFAR_ANY, CIFAR_FINE, CIFAR_COARSE };

struct cifar {
    size_t rows;     /* of all files */
    size_t labels;   /* of a record: 1 of CIFAR-10, 2 of CIFAR-100 */
    size_t left;     /* records of the present file that were not read */
    size_t record;   /* the last one that was, from 1 */
    unsigned chosen; /* which of the labels */
    const char *rest;
    char path[PATH_MAX];
    struct stream in;
};

/* `files`: their names with commas between, kept by reference.  A record is 3,073 bytes, or 3,074
 * where no whole number of 3,073 fits into the first file, or `label` says that it is of CIFAR-100.
 * STATUS_DATA: one is no whole number of records, or is empty, or there are too many of them. */
enum status cifar_open(struct cifar *c, const char *files, enum cifar_label label,
                       struct error *err) MUST_USE;
/* The next of c->rows records, in the order of the files.  STATUS_DATA: its file ends before it, or
 * one of its labels is none. */
enum status cifar_next(struct cifar *c, uint8_t pixels[CIFAR_PIXELS], uint8_t *label,
                       struct error *err) MUST_USE;
void cifar_close(struct cifar *c); /* safe on a zeroed struct */

#endif
