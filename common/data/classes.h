/* classes.h -- labels by name: which class each text is.
 *
 * The training rows decide the classes, the test rows must keep to them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CLASSES_H
#define COLONNADE_DATA_CLASSES_H

#include "common/data/places.h"
#include "common/data/schema.h"

struct classes {
    struct schema schema; /* of the one column `label` */
    uint32_t n;           /* 0: labels are numbers, and stay what they are */
    uint32_t *of;         /* the class of each level of the column */
};

struct classes_want {
    const char *positive; /* NULL or "": none */
    const char *group;    /* columns beside the labels that are left out; NULL: none */
    const char *time;
    const struct places *places; /* which rows are taken; NULL: all */
};

/* The label file, t->x being classes.  The first file of c decides: text makes classes in the order
 * of the texts; `positive` makes what equals it class 1 and all else class 0.
 * STATUS_DATA: a missing label, a class that the first file does not have, a file of one class
 * only. */
enum status classes_read(struct classes *c, struct table *t, const char *path,
                         const struct classes_want *as, struct error *err) MUST_USE;
/* The texts of class k, `a, b or ...`, cut off at n bytes. */
void classes_name(const struct classes *c, uint32_t k, char *out, size_t n);
/* What each class is called, a line for each: its text, or `other` where it has several; NULL where
 * labels are numbers.  *out is the caller's (mem_free). */
enum status classes_print(const struct classes *c, char **out) MUST_USE;
void classes_deinit(struct classes *c); /* safe on a zeroed struct */

#endif
