/* tables.h -- tables with a label in one of their columns, cut into those of parties.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_TABLES_H
#define COLONNADE_TOOLS_SPLIT_TABLES_H

#include "deploy/tools/split/split.h"

enum status tables_split(struct split *s);

#endif
