/* spared.c -- what a job has charged, row by row.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/spared.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/wire/purpose.h"

#include <inttypes.h>
#include <string.h>

static enum status init_rows(struct spared_rows *r, const struct table *t)
{
    r->table = t;
    r->absent = mem_alloc(t->rows, sizeof *r->absent);
    r->left_out = mem_alloc(t->rows, sizeof *r->left_out);
    r->charged = mem_alloc(t->rows, sizeof *r->charged);
    r->trained = mem_alloc(t->rows, sizeof *r->trained);
    if (r->absent == NULL || r->left_out == NULL || r->charged == NULL || r->trained == NULL)
        return STATUS_MEMORY;
    if (t->lacks != NULL)
        memcpy(r->absent, t->lacks, t->rows);
    return STATUS_OK;
}

static void deinit_rows(struct spared_rows *r)
{
    mem_free(r->absent);
    mem_free(r->left_out);
    mem_free(r->charged);
    mem_free(r->trained);
    *r = (struct spared_rows){0};
}

enum status spared_init(struct spared *s, const struct table *train, const struct table *test)
{
    enum status status = STATUS_OK;

    if (s->train.table != NULL)
        return status;
    status = init_rows(&s->train, train);
    if (status == STATUS_OK)
        status = init_rows(&s->test, test);
    if (status != STATUS_OK)
        spared_deinit(s);
    return status;
}

bool spared_is_on(const struct spared *s)
{
    return s->most > 0;
}

void spared_deinit(struct spared *s)
{
    deinit_rows(&s->train);
    deinit_rows(&s->test);
    s->most = s->most_trained = 0;
}

/* The log is this side's alone. */
static void begin_rows(struct spared_rows *r, const char *what)
{
    const struct table *t = r->table;
    size_t n = 0;

    for (size_t i = 0; i < t->rows && t->lacks != NULL; i++) {
        n += r->left_out[i] > r->absent[i];
        t->lacks[i] = r->absent[i] | r->left_out[i];
    }
    memset(r->charged, 0, t->rows * sizeof *r->charged);
    memset(r->trained, 0, t->rows * sizeof *r->trained);
    r->most = 0;
    if (n > 0)
        log_warn("%zu of %zu %s rows have no room for what this job may release of them "
                 "(policy.max_releases.record, policy.max_epsilon), and have no part in it",
                 n, t->rows, what);
}

void spared_begin(struct spared *s, const struct account_entry *planned)
{
    s->most = planned->participations_max;
    s->most_trained = planned->trained_max;
    begin_rows(&s->train, "training");
    begin_rows(&s->test, "test");
}

static struct spared_rows *rows_of(struct spared *s, const struct action_charge *c)
{
    return purpose_of(c->purpose)->test ? &s->test : &s->train;
}

static void count(struct spared_rows *r, const struct action_charge *c, bool back)
{
    const uint32_t one = back ? UINT32_MAX : 1; /* modulo 2^32 */
    const bool trains = purpose_of(c->purpose)->trains;

    for (size_t i = 0; i < c->n; i++) {
        r->charged[c->rows[i]] += one;
        r->trained[c->rows[i]] += trains ? one : 0;
    }
}

enum status spared_charge(struct spared *s, const struct action_charge *c, struct error *err)
{
    struct spared_rows *r = rows_of(s, c);
    const uint64_t others = r == &s->test ? s->train.most : s->test.most;
    uint64_t most = 0, trained = 0;

    count(r, c, false);
    for (size_t i = 0; i < c->n; i++) {
        const uint32_t row = c->rows[i];

        most = r->charged[row] > most ? r->charged[row] : most;
        trained = r->trained[row] > trained ? r->trained[row] : trained;
    }
    /* A person may be a row of both splits. */
    if (most + others <= s->most && trained <= s->most_trained) {
        r->most = most > r->most ? most : r->most;
        return STATUS_OK;
    }
    count(r, c, true);
    return error_set(err, STATUS_BUDGET,
                     "policy.max_releases.record, policy.max_epsilon: rounds were played again so "
                     "often that a row would be released %" PRIu64 " times, where %" PRIu64
                     " were planned with repetitions",
                     most + others, s->most);
}

void spared_take_back(struct spared *s, const struct action_charge *c)
{
    count(rows_of(s, c), c, true);
}
