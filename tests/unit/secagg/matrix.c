/* matrix.c -- Gauss, one element at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/secagg/matrix.h"

#include "common/base/check.h"
#include "common/field/mod.h"

#include <string.h>

void matrix_init(struct matrix *m, uint64_t p, uint32_t rows, uint32_t columns)
{
    CHECK(rows <= MATRIX_MAX && columns <= MATRIX_MAX);
    m->p = p;
    m->rows = rows;
    m->columns = columns;
    memset(m->v, 0, sizeof m->v);
}

void matrix_multiply(struct matrix *c, const struct matrix *a, const struct matrix *b)
{
    CHECK(a->columns == b->rows && c != a && c != b);
    matrix_init(c, a->p, a->rows, b->columns);
    for (uint32_t i = 0; i < a->rows; i++)
        for (uint32_t k = 0; k < a->columns; k++)
            for (uint32_t j = 0; j < b->columns; j++)
                c->v[i][j] = mod_add(c->v[i][j], mod_mul(a->v[i][k], b->v[k][j], a->p), a->p);
}

void matrix_add(struct matrix *a, uint64_t s, const struct matrix *b)
{
    CHECK(a->rows == b->rows && a->columns == b->columns);
    for (uint32_t i = 0; i < a->rows; i++)
        for (uint32_t j = 0; j < a->columns; j++)
            a->v[i][j] = mod_add(a->v[i][j], mod_mul(s, b->v[i][j], a->p), a->p);
}

void matrix_rows(struct matrix *c, const struct matrix *a, uint32_t from, uint32_t rows)
{
    CHECK(from + rows <= a->rows && c != a);
    matrix_init(c, a->p, rows, a->columns);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(c->v[i], a->v[from + i], sizeof c->v[i]);
}

void matrix_beside(struct matrix *c, const struct matrix *a, const struct matrix *b)
{
    CHECK(a->rows == b->rows && c != a && c != b);
    matrix_init(c, a->p, a->rows, a->columns + b->columns);
    for (uint32_t i = 0; i < a->rows; i++) {
        memcpy(c->v[i], a->v[i], a->columns * sizeof c->v[i][0]);
        memcpy(c->v[i] + a->columns, b->v[i], b->columns * sizeof c->v[i][0]);
    }
}

static void swap_rows(struct matrix *a, uint32_t i, uint32_t k)
{
    for (uint32_t j = 0; j < a->columns && i != k; j++) {
        const uint64_t kept = a->v[i][j];

        a->v[i][j] = a->v[k][j];
        a->v[k][j] = kept;
    }
}

/* To reduced form, by pivots in the first `columns` columns: how many there are. */
static uint32_t reduce(struct matrix *a, uint32_t columns)
{
    uint32_t rank = 0;

    for (uint32_t j = 0; j < columns && rank < a->rows; j++) {
        uint32_t i = rank;
        uint64_t scale;

        while (i < a->rows && a->v[i][j] == 0)
            i++;
        if (i == a->rows)
            continue;
        swap_rows(a, i, rank);
        scale = mod_inv(a->v[rank][j], a->p);
        for (uint32_t k = 0; k < a->columns; k++)
            a->v[rank][k] = mod_mul(a->v[rank][k], scale, a->p);
        for (i = 0; i < a->rows; i++) {
            const uint64_t s = a->v[i][j];

            for (uint32_t k = 0; k < a->columns && i != rank && s != 0; k++)
                a->v[i][k] = mod_sub(a->v[i][k], mod_mul(s, a->v[rank][k], a->p), a->p);
        }
        rank++;
    }
    return rank;
}

uint32_t matrix_rank(const struct matrix *a)
{
    static struct matrix work;

    work = *a;
    return reduce(&work, a->columns);
}

bool matrix_inverse(struct matrix *inverse, const struct matrix *a)
{
    static struct matrix unit, work;

    CHECK(a->rows == a->columns && 2 * a->rows <= MATRIX_MAX && inverse != a);
    matrix_init(&unit, a->p, a->rows, a->rows);
    for (uint32_t i = 0; i < a->rows; i++)
        unit.v[i][i] = 1;
    matrix_beside(&work, a, &unit);
    if (reduce(&work, a->rows) < a->rows)
        return false;
    matrix_init(inverse, a->p, a->rows, a->rows);
    for (uint32_t i = 0; i < a->rows; i++)
        memcpy(inverse->v[i], work.v[i] + a->rows, a->rows * sizeof inverse->v[i][0]);
    return true;
}
