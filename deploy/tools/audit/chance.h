/* chance.h -- are two samples of one law?  Permutation tests: exact at any size, of any law.
 *
 * If they are, every way to share the pooled observations out between the two sides is as likely as
 * the one that was seen.  p is how many of CHANCE_DRAWS random ways, and the one that was seen,
 * set the sides apart as far: at most p of all runs of one law do so (Phipson and Smyth 2010).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_CHANCE_H
#define COLONNADE_TOOLS_AUDIT_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* A test is passed when p is not below this: one in a thousand fails by chance. */
#define CHANCE_ERROR 1e-3
enum { CHANCE_DRAWS = 20000 };

/* x[0 .. n) are of one side, x[n .. n + m) of the other; x is reordered. */
/* Things that are equal or not; how far: the sum over the kinds of | share here - share there |. */
double chance_of_kinds(uint64_t *x, size_t n, size_t m);
/* Numbers; how far: the difference of the mean ranks. */
double chance_of_ranks(double *x, size_t n, size_t m);

#endif
