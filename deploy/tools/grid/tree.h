/* tree.h -- a YAML file as a tree whose nodes know their lines.
 *
 * For files whose keys no table can list.  Anchors, aliases, tags, directives, merge keys, repeated
 * keys and texts of several lines are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_TREE_H
#define COLONNADE_TOOLS_GRID_TREE_H

#include "common/base/arena.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { TREE_BYTES_MAX = 65536, TREE_DEPTH_MAX = 12 };

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree {
    enum tree_kind kind;
    int line;         /* where it begins; of an entry of a map, where its name is */
    const char *name; /* in a map */
    const char *text; /* of a scalar */
    bool quoted;
    size_t n; /* items of a list, entries of a map */
    struct tree *first, *next;
};

/* Everything lives in the arena.  STATUS_CONFIG with `path:line: reason`. */
enum status tree_read(const struct tree **root, const char *path, struct arena *a,
                      struct error *err) MUST_USE;

/* The entry of a map, or NULL. */
const struct tree *tree_find(const struct tree *map, const char *name);
/* `map: ` without anything behind it. */
bool tree_is_empty(const struct tree *t);
/* A scalar's text, or a list as `[a,b]`; NULL when memory is short.  Not for maps. */
const char *tree_text(const struct tree *t, struct arena *a);

/* Text in the arena, or NULL. */
const char *tree_copy(struct arena *a, const char *text, size_t n);

#endif
