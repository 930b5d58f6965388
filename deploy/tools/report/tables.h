/* tables.h -- what a report says in tables and in words, from folded runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_TABLES_H
#define COLONNADE_TOOLS_REPORT_TABLES_H

#include "deploy/tools/report/block.h"
#include "deploy/tools/report/fold.h"

enum { TABLES_MAX = 6 };

struct tables {
    size_t n, notes;
    struct block block[TABLES_MAX];
    const char **note; /* what a reader must know: what is folded, left out, failed */
};

void tables_build(struct tables *t, const struct fold *f, struct pool *p);

/* "test auc", and with a target "test auc >= 0.74". */
const char *tables_score_name(const struct fold_want *want, struct pool *p);
const char *tables_target_name(const struct fold_want *want, struct pool *p);

/* The axes that all runs agree in, and their value. */
void tables_common(struct block *b, const struct fold *f, struct pool *p);

#endif
