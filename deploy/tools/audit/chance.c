/* chance.c -- permutation tests.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/chance.h"

#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which ways are drawn is no secret, and the same in every audit. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static void shuffle(double *x, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = draw(state) % i;
        const double was = x[i - 1];

        x[i - 1] = x[k];
        x[k] = was;
    }
}

/* --- how far apart --- */

static double by_kinds(const double *kind, size_t n, size_t m, double *balance, size_t kinds)
{
    double far = 0;

    memset(balance, 0, kinds * sizeof *balance);
    for (size_t i = 0; i < n + m; i++)
        balance[(size_t)kind[i]] += i < n ? 1.0 / (double)n : -1.0 / (double)m;
    for (size_t k = 0; k < kinds; k++)
        far += fabs(balance[k]);
    return far;
}

static double by_ranks(const double *rank, size_t n, size_t m)
{
    double here = 0, there = 0;

    for (size_t i = 0; i < n + m; i++)
        *(i < n ? &here : &there) += rank[i];
    return fabs(here / (double)n - there / (double)m);
}

/* balance NULL: by ranks. */
static double p_of(double *x, size_t n, size_t m, double *balance, size_t kinds)
{
    const double seen =
        (balance != NULL ? by_kinds(x, n, m, balance, kinds) : by_ranks(x, n, m)) * (1 - 1e-12);
    uint64_t state = 1;
    size_t as_far = 1;

    for (int i = 0; i < CHANCE_DRAWS; i++) {
        shuffle(x, n + m, &state);
        as_far += (balance != NULL ? by_kinds(x, n, m, balance, kinds) : by_ranks(x, n, m)) >= seen;
    }
    return (double)as_far / (CHANCE_DRAWS + 1);
}

/* --- the tests --- */

double chance_of_kinds(uint64_t *x, size_t n, size_t m)
{
    double *room = mem_alloc(2 * (n + m) + 1, sizeof *room), p = 1;
    size_t kinds = 0;

    if (room == NULL || n == 0 || m == 0) {
        mem_free(room);
        return 1;
    }
    for (size_t i = 0; i < n + m; i++) {
        size_t first = 0;

        while (x[first] != x[i])
            first++;
        room[i] = first == i ? (double)kinds++ : room[first];
    }
    if (kinds > 1)
        p = p_of(room, n, m, room + n + m, kinds);
    mem_free(room);
    return p;
}

static int ascending(const void *a, const void *b)
{
    const double x = **(const double *const *)a, y = **(const double *const *)b;

    return (x > y) - (x < y);
}

double chance_of_ranks(double *x, size_t n, size_t m)
{
    double **at = mem_alloc(n + m + 1, sizeof *at), *rank = mem_alloc(n + m + 1, sizeof *rank);
    double p = 1;

    if (at != NULL && rank != NULL && n > 0 && m > 0) {
        for (size_t i = 0; i < n + m; i++)
            at[i] = &x[i];
        qsort(at, n + m, sizeof *at, ascending);
        for (size_t i = 0, end; i < n + m; i = end) { /* what is equal shares its ranks */
            for (end = i + 1; end < n + m && *at[end] == *at[i]; end++) {
            }
            for (size_t k = i; k < end; k++)
                rank[at[k] - x] = (double)(i + end - 1) / 2;
        }
        p = p_of(rank, n, m, NULL, 0);
    }
    mem_free(at);
    mem_free(rank);
    return p;
}
