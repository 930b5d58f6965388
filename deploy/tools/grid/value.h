/* value.h -- what stands behind a name in a grid, as the text that a command line takes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_VALUE_H
#define COLONNADE_TOOLS_GRID_VALUE_H

#include "common/base/arena.h"
#include "common/config/tree.h"

/* A scalar's text, a list as `[a,b]`, and a map, as the items of model.layers are, as
 * `{name: value}`; NULL when memory is short or it is too long. */
const char *value_text(const struct tree *t, struct arena *a);

#endif
