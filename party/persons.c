/* persons.c -- the public schedule, counted by the party's own grouping.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/persons.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/schedule.h"

#include <string.h>

enum { WALK_ROWS_MAX = 1 << 24 }; /* a fifth of a second */

static void count(struct persons *p)
{
    p->most = 0;
    memset(p->train, 0, p->group.n * sizeof *p->train);
    memset(p->test, 0, p->group.n * sizeof *p->test);
    for (size_t i = 0; i < p->group.rows; i++) {
        uint32_t *rows = i < p->train_rows ? p->train : p->test, of = p->group.of[i];

        rows[of]++;
        if (i < p->train_rows && rows[of] > p->most)
            p->most = rows[of];
    }
}

enum status persons_init(struct persons *p, struct group *g, size_t train_rows, struct error *err)
{
    *p = (struct persons){.group = *g, .train_rows = train_rows};
    *g = (struct group){0};
    p->train = mem_alloc(p->group.n, sizeof *p->train);
    p->test = mem_alloc(p->group.n, sizeof *p->test);
    if (p->train == NULL || p->test == NULL)
        return error_set(err, STATUS_MEMORY, "data.group: no memory for %u groups", p->group.n);
    count(p);
    return STATUS_OK;
}

/* Both tables still have each row once. */
enum status persons_split(struct persons *p, const struct validate *v, struct error *err)
{
    struct group *g = &p->group;
    uint32_t *at = mem_alloc(g->rows, sizeof *at), *of = mem_alloc(g->rows, sizeof *of);

    CHECK(g->rows == v->left + v->held);
    if (at == NULL || of == NULL) {
        mem_free(at);
        mem_free(of);
        return error_set(err, STATUS_MEMORY, "data.group: no memory for %zu rows", g->rows);
    }
    for (size_t i = 0; i < g->rows; i++) {
        at[i] = g->at[v->from[i]];
        of[i] = g->of[v->from[i]];
    }
    mem_free(g->at);
    mem_free(g->of);
    g->at = at;
    g->of = of;
    p->train_rows = v->left;
    count(p);
    return STATUS_OK;
}

void persons_deinit(struct persons *p)
{
    group_deinit(&p->group);
    mem_free(p->train);
    mem_free(p->test);
    *p = (struct persons){0};
}

static uint64_t batches_of(const struct plan *plan)
{
    struct agenda agenda;

    agenda_make(&agenda, plan);
    return agenda.party_steps / agenda.turns;
}

/* `here`: by number of the group, all 0 before and after. */
static uint32_t most_in(const struct persons *p, const uint32_t *row, uint32_t n, uint32_t *here)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t *count = &here[p->group.of[row[i]]];

        if (++*count > most)
            most = *count;
    }
    for (uint32_t i = 0; i < n; i++)
        here[p->group.of[row[i]]] = 0;
    return most;
}

enum status persons_together(uint32_t *out, const struct persons *p, const struct plan *plan,
                             uint32_t self, struct error *err)
{
    const uint64_t batches = batches_of(plan);
    const uint32_t batch = plan->training.batch;
    struct schedule schedule = {0};
    uint32_t *here, n;
    enum status s;

    *out = p->most < batch ? p->most : batch;
    if (!plan->training.seed_given || *out <= 1 || batches > WALK_ROWS_MAX / batch)
        return STATUS_OK;
    here = mem_alloc(p->group.n, sizeof *here);
    s = schedule_init(&schedule, agenda_seed(plan, self), (uint32_t)p->train_rows, batch,
                      plan->protocol.fedvs.segments);
    if (here == NULL || s != STATUS_OK) {
        s = error_set(err, STATUS_MEMORY, "data.group: no memory for the schedule");
    } else {
        const uint32_t bound = *out;

        *out = 1;
        for (uint64_t i = 0; i < batches && *out < bound; i++) {
            const uint32_t *row = schedule_batch(&schedule, i, &n), most = most_in(p, row, n, here);

            *out = most > *out ? most : *out;
        }
    }
    schedule_deinit(&schedule);
    mem_free(here);
    return s;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t c;

    return __builtin_mul_overflow(a, b, &c) ? UINT64_MAX / 2 : c;
}

void persons_releases(const struct persons *p, const struct agenda_releases *r,
                      uint64_t *participations, uint64_t *trained)
{
    *participations = 0;
    for (uint32_t i = 0; i < p->group.n; i++) {
        const uint64_t all =
            times(p->train[i], r->train_record_max) + times(p->test[i], r->test_record_max);

        if (all > *participations)
            *participations = all;
    }
    *trained = times(p->most, r->trained_max);
    if (*trained > *participations)
        *trained = *participations;
}

uint64_t persons_predicted(const struct persons *p, uint32_t rows)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < p->group.n; i++)
        most = p->test[i] > most ? p->test[i] : most;
    return most < rows ? most : rows;
}
