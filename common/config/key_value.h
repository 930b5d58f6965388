/* key_value.h -- what stands behind a key before its row gives it a meaning: one text, or a list of
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_VALUE_H
#define COLONNADE_CONFIG_KEY_VALUE_H

#include "common/config/tree.h"

#include <stdbool.h>
#include <stddef.h>

enum { KEY_VALUE_ITEMS_MAX = 96, KEY_VALUE_POOL = 4096, KEY_VALUE_MAP_MAX = 256 };

struct key_value_item {
    const char *text; /* in the pool of its value, 0-terminated */
    bool quoted;
    bool map; /* `{name: {a: 1, b: 2}}` as "name a=1 b=2", `{name: 1}` as "name 1" */
    int line; /* 0: none */
};

/* Zero-initialise.  Not to be copied: the items point into the pool. */
struct key_value {
    bool list;
    size_t n;
    struct key_value_item item[KEY_VALUE_ITEMS_MAX];
    char pool[KEY_VALUE_POOL];
    size_t used;
};

/* false when the pool or the list is full, or the text holds a 0 byte. */
bool key_value_add(struct key_value *v, const char *text, size_t n, bool quoted, int line);
/* A scalar, or a list of scalars and of maps as above, of a file or grid; false with the line and
 * why it is neither. */
bool key_value_read(struct key_value *v, const struct tree *t, int *line, const char **reason);
/* `[a,b]` becomes a list, anything else one scalar; blanks around items do not count.  An item
 * `{name: {a: 1, b: 2}}`, in just this spelling, is a map.  false as above, or for braces around
 * anything else. */
bool key_value_split(struct key_value *v, const char *text, size_t n);
/* The value as a person recognises it in a message: shortened to fit size (> 4), everything but
 * printable ASCII replaced. */
void key_value_show(const struct key_value *v, char *out, size_t size);

#endif
