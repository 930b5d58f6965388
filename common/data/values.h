/* values.h -- where a table's values lie: in memory of this process, or in a file without a name
 * that is mapped, so that the kernel keeps on a disk what it has no room for.
 *
 * The file is made anew, of mode 0600, and gone with its owner; its disk has room for all of it
 * before a value is written (mapped.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_VALUES_H
#define COLONNADE_DATA_VALUES_H

#include "common/base/mapped.h"

/* Zeroed: memory, and none yet. */
struct values {
    const char *folder; /* where the file is made, kept by reference; NULL or "": memory */
    struct mapped file; /* data NULL: there is none */
};

/* *x, which is NULL or has `old` values, has n >= old then, and may lie elsewhere: what is there
 * stays, and the rest is 0.  STATUS_MEMORY, whose line is the caller's, or STATUS_IO, with one: all
 * is as it was. */
enum status values_grow(struct values *v, float **x, size_t old, size_t n,
                        struct error *err) MUST_USE;
/* No more than the first n are needed: a file is cut off behind them, memory stays as it is. */
void values_cut(struct values *v, float **x, size_t n);
/* They are complete: from now on they are only read, rows here and there.  A file is on its disk
 * then; STATUS_IO, with a line: that disk has failed to take it, and what it would give back later
 * is not to be trusted. */
enum status values_settle(const struct values *v, struct error *err) MUST_USE;
void values_free(struct values *v, float *x); /* safe on a zeroed struct and NULL */

#endif
