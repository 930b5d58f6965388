/* run.h -- a run's id and its command.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_RUN_H
#define COLONNADE_TOOLS_GRID_RUN_H

#include "deploy/tools/grid/grid.h"

#include <stdio.h>

/* Writes r->id: what was picked, the seed, and eight digits of a digest of all settings and, under
 * the folder's key (idkey.h), of what is in their files.  Other settings, another id: a finished
 * run is never taken for another one. */
enum status run_name(struct run *r, const struct grid *g, struct error *err) MUST_USE;

/* The arguments of `vfl cluster`, each after a tab; or, for people, as words of a shell. */
void run_print_arguments(const struct run *r, bool words, FILE *out);

#endif
