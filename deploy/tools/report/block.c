/* block.c -- columns as wide as their widest cell; a letter counts once, however many bytes it has.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/block.h"

#include "common/base/check.h"

void block_head(struct block *b, struct pool *p, const char *text)
{
    CHECK(b->cell == NULL);
    b->head = pool_more(p, b->head, b->cols, sizeof *b->head);
    b->head[b->cols++] = text;
}

void block_cell(struct block *b, struct pool *p, const char *text)
{
    b->cell = pool_more(p, b->cell, b->cells, sizeof *b->cell);
    b->cell[b->cells++] = text[0] == 0 ? "-" : text;
}

static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text != 0; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t widest(const struct block *b, size_t col)
{
    size_t most = width_of(b->head[col]);

    for (size_t i = col; i < b->cells; i += b->cols) {
        size_t n = width_of(b->cell[i]);

        most = n > most ? n : most;
    }
    return most;
}

static void print_row(const struct block *b, const char *const *cell, FILE *to)
{
    for (size_t col = 0; col < b->cols; col++) {
        int fill = (int)(widest(b, col) - width_of(cell[col]));

        if (col == 0)
            fprintf(to, "  %s%*s", cell[col], b->cols > 1 ? fill : 0, "");
        else
            fprintf(to, "   %*s%s", fill, "", cell[col]);
    }
    fputc('\n', to);
}

void block_print(const struct block *b, FILE *to)
{
    fprintf(to, "%s\n", b->title);
    if (b->note[0] != 0)
        fprintf(to, "%s\n", b->note);
    fputc('\n', to);
    print_row(b, b->head, to);
    for (size_t i = 0; i < b->cells; i += b->cols)
        print_row(b, &b->cell[i], to);
    fputc('\n', to);
}
