/* matrix.h -- small matrices over F_p, for tests that solve what a peer could solve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_MATRIX_H
#define COLONNADE_TESTS_SECAGG_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

enum { MATRIX_MAX = 96 };

struct matrix {
    uint64_t p;
    uint32_t rows, columns;
    uint64_t v[MATRIX_MAX][MATRIX_MAX];
};

void matrix_init(struct matrix *m, uint64_t p, uint32_t rows, uint32_t columns); /* zeros */
/* c = a b.  c is neither. */
void matrix_multiply(struct matrix *c, const struct matrix *a, const struct matrix *b);
/* a += s b */
void matrix_add(struct matrix *a, uint64_t s, const struct matrix *b);
/* The rows from..from+rows of a. */
void matrix_rows(struct matrix *c, const struct matrix *a, uint32_t from, uint32_t rows);
/* (a b), side by side. */
void matrix_beside(struct matrix *c, const struct matrix *a, const struct matrix *b);
uint32_t matrix_rank(const struct matrix *a);
/* False when there is none. */
bool matrix_inverse(struct matrix *inverse, const struct matrix *a);

#endif
