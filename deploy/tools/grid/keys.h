/* keys.h -- are this key and this value what a daemon, or `vfl cluster`, would take?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_KEYS_H
#define COLONNADE_TOOLS_GRID_KEYS_H

#include "common/config/tree.h"

#include <stdbool.h>
#include <stddef.h>

enum { KEYS_REASON_MAX = 512 };

/* A key of the server's file, or of a party's.  *file: the value names a file.  false with the
 * reason. */
bool keys_check(bool party, const char *key, const struct tree *value, bool *file,
                char reason[KEYS_REASON_MAX]);
/* Whether keys of the server's file start with `key.`, or are it. */
bool keys_is_server(const char *key);
/* An option of `vfl cluster`, as a grid has it. */
bool keys_check_cluster(const char *key, const struct tree *value, bool *file,
                        char reason[KEYS_REASON_MAX]);

/* Does the option take several files, with commas between on a command line? */
bool keys_take_files(const char *key);

#endif
