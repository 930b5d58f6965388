/* aside.c -- sizes, times and ends, by side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/aside.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "deploy/tools/audit/chance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MIN = 8, RUNS_MIN = 7, RUNS_MAX = 2000, LIST_MAX = 1 << 20 };

static bool differ(double p)
{
    return p < CHANCE_ERROR;
}

static void print_sizes(double p, size_t n, size_t m, const char *what)
{
    printf("sizes     %s, %zu against %zu: p %.2g, %s\n", what, n, m, p,
           differ(p) ? "DIFFER" : "no difference");
}

static void print_times(double p, size_t n, size_t m, const char *what)
{
    printf("times     %s, %zu against %zu: p %.2g, %s (not claimed)\n", what, n, m, p,
           differ(p) ? "differ" : "no difference");
}

/* --- the rounds of one run --- */

struct rounds {
    const struct seen_arrival **of; /* those of one number of rows */
    double *share;                  /* of D' among the rows */
    double *times;
    uint64_t *sizes;
    size_t n;
};

static double share_of(const struct view_of *of, const struct seen_arrival *a)
{
    const struct table *t = of->canaries;
    size_t primes = 0;

    for (size_t i = 0; i < a->rows; i++) {
        const size_t row = of->seen->arrived_row[a->row + i];

        for (size_t c = 0; c < t->cols && row < t->rows; c++)
            primes += t->x[row * t->cols + c] < 0;
    }
    return (double)primes / (double)a->rows;
}

/* Rows of a round, as most rounds have. */
static size_t usual_rows(const struct seen *s)
{
    size_t best = 0, most = 0;

    for (size_t i = 0; i < s->arrivals; i++) {
        size_t as_many = 0;

        if (s->arrival[i].rows == 0 || s->arrival[i].rows == best)
            continue;
        for (size_t k = i; k < s->arrivals; k++)
            as_many += s->arrival[k].rows == s->arrival[i].rows;
        if (as_many > most) {
            most = as_many;
            best = s->arrival[i].rows;
        }
    }
    return best;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Those above the median share come first; returns how many. */
static size_t part(struct rounds *r, const struct view_of *of)
{
    const size_t rows = usual_rows(of->seen);
    size_t above = 0, below;
    double median;

    for (size_t i = 0; i < of->seen->arrivals; i++) {
        if (of->seen->arrival[i].rows != rows || rows == 0)
            continue;
        r->of[r->n] = &of->seen->arrival[i];
        r->share[r->n] = r->times[r->n] = share_of(of, r->of[r->n]);
        r->n++;
    }
    if (r->n == 0)
        return 0;
    qsort(r->times, r->n, sizeof *r->times, ascending);
    median = r->times[(r->n - 1) / 2];
    for (size_t i = 0; i < r->n; i++)
        above += r->share[i] > median;
    below = above;
    above = 0;
    for (size_t i = 0; i < r->n; i++) {
        const size_t to = r->share[i] > median ? above++ : below++;

        r->times[to] = (double)r->of[i]->us;
        r->sizes[to] = r->of[i]->bytes;
    }
    return above;
}

enum status aside_rounds(const struct view_of *of, bool *broken, struct error *err)
{
    const size_t most = of->seen->arrivals + 1;
    struct rounds r = {mem_alloc(most, sizeof *r.of), mem_alloc(most, sizeof *r.share),
                       mem_alloc(most, sizeof *r.times), mem_alloc(most, sizeof *r.sizes), 0};
    enum status s = STATUS_OK;

    if (r.of == NULL || r.share == NULL || r.times == NULL || r.sizes == NULL) {
        s = error_set(err, STATUS_MEMORY, "no memory for %zu messages", most);
    } else {
        const size_t above = part(&r, of), below = r.n - above;

        if (above >= ROUNDS_MIN && below >= ROUNDS_MIN) {
            double p = chance_of_kinds(r.sizes, above, below);

            *broken |= differ(p);
            print_sizes(p, above, below, "rounds with more canaries of the other side");
            print_times(chance_of_ranks(r.times, above, below), above, below,
                        "rounds with more canaries of the other side");
        } else {
            printf("sizes     not looked at: %zu and %zu rounds, of %d each on\n", above, below,
                   ROUNDS_MIN);
            printf("times     not looked at, for the same reason\n");
        }
        printf("aborts    not looked at: one run has one end (vfl audit --pairs)\n");
    }
    mem_free(r.of);
    mem_free(r.share);
    mem_free(r.times);
    mem_free(r.sizes);
    return s;
}

/* --- many runs --- */

struct runs {
    struct seen *seen; /* those of one neighbour first */
    uint64_t *kind;
    double *us;
    size_t n[2], failed[2];
};

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 29);
}

static uint64_t end_of(const struct seen *s)
{
    uint64_t h = mix(s->ended, (uint64_t)s->exit_code);

    for (const char *c = s->outcome; *c != 0; c++)
        h = mix(h, (uint64_t)*c);
    return h;
}

static enum status read_runs(struct runs *r, char *text, int side, struct error *err)
{
    for (char *line = text, *end; *line != 0; line = end) {
        const size_t n = strcspn(line, "\n"), at = r->n[0] + r->n[1];
        char path[4096];
        enum status s;

        end = line + n + (line[n] != 0);
        if (n < 3 || n - 2 >= sizeof path || (line[0] != '0' && line[0] != '1') || line[1] != ' ')
            return error_set(err, STATUS_DATA, "a line that is neither `0 FILE` nor `1 FILE`");
        if (line[0] != '0' + side)
            continue;
        if (at == RUNS_MAX)
            return error_set(err, STATUS_DATA, "more than %d runs", RUNS_MAX);
        memcpy(path, line + 2, n - 2);
        path[n - 2] = 0;
        s = seen_read(&r->seen[at], path, NULL, err);
        if (s != STATUS_OK)
            return s;
        r->n[side]++;
        r->failed[side] += strcmp(r->seen[at].outcome, "completed") != 0;
    }
    return STATUS_OK;
}

/* Messages that every run has. */
static size_t common(const struct runs *r)
{
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < r->n[0] + r->n[1]; i++)
        least = r->seen[i].arrivals < least ? r->seen[i].arrivals : least;
    return least;
}

static void judge(struct runs *r, bool *broken)
{
    const size_t n = r->n[0], m = r->n[1], messages = common(r);
    double p;

    for (size_t i = 0; i < n + m; i++)
        r->kind[i] = end_of(&r->seen[i]);
    p = chance_of_kinds(r->kind, n, m);
    *broken |= differ(p);
    printf("aborts    %zu of %zu runs against %zu of %zu: p %.2g, %s\n", r->failed[0], n,
           r->failed[1], m, p, differ(p) ? "BROKEN: how a run ends tells" : "no difference");
    if (messages == 0) {
        printf("sizes     not looked at: a run without a message of the target\n"
               "times     not looked at, for the same reason\n");
        return;
    }
    for (size_t i = 0; i < n + m; i++) {
        r->kind[i] = 0;
        r->us[i] = 0;
        for (size_t k = 0; k < messages; k++) {
            r->kind[i] = mix(r->kind[i], r->seen[i].arrival[k].bytes);
            r->us[i] += (double)r->seen[i].arrival[k].us;
        }
    }
    p = chance_of_kinds(r->kind, n, m);
    *broken |= differ(p);
    print_sizes(p, n, m, "runs");
    print_times(chance_of_ranks(r->us, n, m), n, m, "runs");
}

enum status aside_runs(const char *list, bool *broken, struct error *err)
{
    struct runs r = {.seen = mem_alloc(RUNS_MAX, sizeof *r.seen),
                     .kind = mem_alloc(RUNS_MAX, sizeof *r.kind),
                     .us = mem_alloc(RUNS_MAX, sizeof *r.us)};
    struct buf text;
    enum status s;

    buf_init(&text, LIST_MAX);
    s = r.seen == NULL || r.kind == NULL || r.us == NULL
            ? error_set(err, STATUS_MEMORY, "no memory for runs")
            : file_read(list, &text, err);
    if (s == STATUS_OK && buf_append(&text, "", 1) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "no memory for runs");
    for (int side = 0; side < 2 && s == STATUS_OK; side++)
        s = read_runs(&r, (char *)text.data, side, err);
    if (s == STATUS_OK && (r.n[0] < RUNS_MIN || r.n[1] < RUNS_MIN))
        s = error_set(err, STATUS_DATA, "%s: %zu and %zu runs, fewer than %d tell nothing", list,
                      r.n[0], r.n[1], RUNS_MIN);
    if (s == STATUS_OK)
        judge(&r, broken);
    for (size_t i = 0; i < RUNS_MAX && r.seen != NULL; i++)
        seen_deinit(&r.seen[i]);
    mem_free(r.seen);
    mem_free(r.kind);
    mem_free(r.us);
    buf_deinit(&text);
    return s;
}
