/* output.h -- the files that a set is cut into: labels-SET.csv and party-I-SET.csv or .idx, I
 * from 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_OUTPUT_H
#define COLONNADE_TOOLS_SPLIT_OUTPUT_H

#include "deploy/tools/split/split.h"

struct output_shape {
    uint32_t features;
    const char *names;        /* of columns: SOURCE_NAME_MAX bytes each; NULL: there are none */
    struct plan_widths shape; /* of a row, as columns.h has it */
};

/* What --label-map says. */
enum status output_label_map(struct split *s);
/* Once the first file has shown how many columns there are: who gets which, and all files.
 * STATUS_CONFIG: one of them is what is being cut. */
enum status output_open(struct split *s, const struct output_shape *shape);
/* The id, and for a set the label under the map behind it; the line is not ended.  False when the
 * map needs a class and the text is none. */
bool output_label(const struct split *s, int set, const char *id, const char *text);
/* Closes all.  After success they take the place of an earlier split's, all of them whole, and
 * those of a set without rows are gone: a reader would refuse them.  After a failure what was in
 * the folder is as it was. */
enum status output_close(struct split *s, enum status status);

#endif
