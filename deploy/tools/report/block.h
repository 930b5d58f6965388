/* block.h -- a table of text with a title: built once, printed on terminals and in pages.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_BLOCK_H
#define COLONNADE_TOOLS_REPORT_BLOCK_H

#include "deploy/tools/report/pool.h"

#include <stddef.h>
#include <stdio.h>

struct block {
    const char *title, *note; /* note: "" or a line of explanation */
    size_t cols, cells;
    const char **head; /* cols */
    const char **cell; /* row by row; "" prints as "-"; the first column stands left */
};

/* All heads first, then the cells row by row. */
void block_head(struct block *b, struct pool *p, const char *text);
void block_cell(struct block *b, struct pool *p, const char *text);

void block_print(const struct block *b, FILE *to);

#endif
