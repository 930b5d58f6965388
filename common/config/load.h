/* load.h -- defaults, a file, assignments: into the struct of any table, with the origin of every
 * value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_LOAD_H
#define COLONNADE_CONFIG_LOAD_H

#include "common/base/status.h"
#include "common/config/config.h"
#include "common/config/key.h"

#include <stddef.h>

/* Where the value of a row came from. */
struct load_origin {
    int line;        /* of the file; 0: not from the file */
    const char *set; /* the assignment; NULL: not from one */
};

struct load {
    const struct key_table *table;
    void *base;       /* the struct that the table describes */
    const char *file; /* as it was named; NULL: none */
    char dir[CONFIG_PATH_MAX];
    struct load_origin origin[KEY_TABLE_MAX];
};

/* Fills l->table, base, file; then this reads everything and checks that
 * required keys are there. */
enum status load_run(struct load *l, const char *const *sets, size_t n, struct error *err) MUST_USE;

/* The middle part of load_run: the text of l->file, over what the struct holds, with paths from
 * l->dir. */
enum status load_text(struct load *l, const char *text, size_t n, struct error *err) MUST_USE;

/* STATUS_CONFIG with the reason, told where the value of `path` came from. */
enum status load_refuse(const struct load *l, const char *path, const char *reason,
                        struct error *err);
/* The same; when nobody has given `path`, where the first of with[n] (NULL: no more) was given that
 * it does not go with. */
enum status load_refuse_with(const struct load *l, const char *path, const char *const *with,
                             size_t n, const char *reason, struct error *err);

#endif
