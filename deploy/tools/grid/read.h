/* read.h -- what the two halves of reading a grid share: settings, and the axes of blocks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_READ_H
#define COLONNADE_TOOLS_GRID_READ_H

#include "deploy/tools/grid/grid.h"

struct read {
    struct grid *g;
    struct error *err;
};

/* STATUS_CONFIG: `file:line: name: reason`; the name is left out when NULL. */
bool read_refuse(struct read *r, int line, const char *name, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Zeroed, or NULL and the error. */
void *read_make(struct read *r, size_t size);
/* A scalar's or list's text; NULL and the error for a map, or when memory is short. */
const char *read_text(struct read *r, const struct tree *t);

/* --- settings (setting.c): each appends to the list --- */

/* `set`, `party`, `link`, `cluster` or `labels`, by its name. */
bool read_is_section(const char *name);
bool read_section(struct read *r, const struct tree *section, struct setting **list);
/* A lone entry: `key.path`, `WHO:key.path`, `link.KEY` or `cluster.KEY`. */
bool read_entry(struct read *r, const char *name, const struct tree *value, struct setting **list);
/* Whether such a name is one of those. */
bool read_is_entry(const char *name);
/* Whether both set the same thing. */
bool read_same_key(const struct setting *a, const struct setting *b);

#endif
