/* tree.h -- a YAML text as a tree whose nodes know their lines: configurations, rosters, grids.
 *
 * The only place that knows libyaml, and of libyaml its events alone: its scanner looks at every
 * open bracket again for each token and its loader builds whatever there is, so 60 KB of brackets
 * took 7 s.  Here a text is refused at the first event that is too deep, too many or too long, and
 * a refusal costs no more than what was accepted.  Anchors, aliases, tags, directives, merge keys,
 * repeated names, second documents and characters that hide lines (key_text.h) are refused, so a
 * small text cannot become a large one and a line means what it says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_TREE_H
#define COLONNADE_CONFIG_TREE_H

#include "common/base/arena.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TREE_PATH_MAX = 160,
    TREE_NAMES_MAX = 256 /* in one mapping: each is held against all before it */
};

struct tree_limits {
    size_t bytes;    /* of the whole text, below 2^31 */
    int depth;       /* mappings and lists within each other */
    size_t nodes;    /* scalars, names among them, mappings and lists */
    size_t text_max; /* bytes of a scalar */
};

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree {
    enum tree_kind kind;
    int line;         /* where it begins; of an entry of a map, where its name is */
    int value_line;   /* where it begins */
    const char *name; /* in a map; not empty */
    const char *text; /* of a scalar: one line of printable characters */
    bool quoted;      /* the scalar is */
    size_t n;         /* items of a list, entries of a map */
    struct tree *first, *next;
};

struct tree_fault {
    int line;                 /* 0: not known */
    char path[TREE_PATH_MAX]; /* the names above it, with dots between; may be empty */
    char reason[192];
};

/* Reads n bytes of UTF-8.  *root lives in *a, which is made here, large enough for any text within
 * the limits, and is the caller's to deinit whatever comes of it; NULL when there is no document.
 * STATUS_CONFIG (or STATUS_MEMORY) and *f at the first mistake. */
enum status tree_read(const struct tree **root, struct arena *a, const char *text, size_t n,
                      const struct tree_limits *limits, struct tree_fault *f) MUST_USE;
/* `file:line: path: reason`; what is not known is left out. */
enum status tree_refuse(const char *file, enum status s, const struct tree_fault *f,
                        struct error *err);

/* Nothing stands there: `name:` with nothing behind it. */
bool tree_is_empty(const struct tree *t);

#endif
