/* key_set.h -- a value through its row into its struct.
 *
 * Every source of values (file, command line, peer, the table's own defaults) passes here, so a
 * type or a range has one meaning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_SET_H
#define COLONNADE_CONFIG_KEY_SET_H

#include "common/config/key.h"
#include "common/config/key_value.h"

#include <stdbool.h>
#include <stddef.h>

/* Why a value is refused.  Reads "<value> is not <want>" or "must be <want>". */
struct key_set_fault {
    char value[64];
    char want[256];
    int line; /* of the guilty item; 0: none */
};

/* Checks v and stores it at `field`, which keeps what it had when v is refused.  Relative paths are
 * taken from the directory `dir` (NULL: unchanged). */
bool key_set(const struct key *k, void *field, const struct key_value *v, const char *dir,
             struct key_set_fault *f);
/* Sets every row of the table to its default; the text of a required key becomes empty. */
void key_set_defaults(const struct key_table *t, void *base);

#endif
