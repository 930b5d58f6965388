/* contributed.c -- questions, and their answers as a table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/contributed.h"

#include "common/base/mem.h"
#include "server/scores.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what is asked --- */

/* NAME=N at *at, which then stands behind it. */
static enum status read_columns(const struct server_inputs *in, const char **at, uint32_t *party,
                                uint32_t *n, struct error *err)
{
    char name[WIRE_NAME_MAX + 1];
    const size_t len = strcspn(*at, "=,");
    char *end = (char *)(uintptr_t)(*at + len);
    unsigned long many = 0;
    int i;

    snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name - 1), *at);
    i = roster_find_name(&in->roster, name);
    if (i < 0)
        return error_set(err, STATUS_CONFIG, "--columns %s: not in the roster", name);
    if (*end == '=' && end[1] >= '1' && end[1] <= '9')
        many = strtoul(end + 1, &end, 10);
    if (many == 0 || many > CONTRIBUTION_COLUMNS_MAX || (*end != ',' && *end != 0))
        return error_set(err, STATUS_CONFIG, "--columns %s: NAME=N,... with N from 1 to %d", name,
                         CONTRIBUTION_COLUMNS_MAX);
    *party = (uint32_t)i;
    *n = (uint32_t)many;
    *at = *end == ',' ? end + 1 : end;
    return STATUS_OK;
}

/* A question for each column behind those that there are. */
static enum status add_columns(struct server_inputs *in, const char *columns, struct error *err)
{
    struct contribution *c = &in->asks;
    bool seen[WIRE_MEMBERS_MAX] = {false};
    uint32_t party = 0, n = 0;
    enum status s = STATUS_OK;

    for (const char *at = columns; s == STATUS_OK && *at != 0;) {
        s = read_columns(in, &at, &party, &n, err);
        if (s == STATUS_OK && seen[party])
            s = error_set(err, STATUS_CONFIG, "--columns: %s twice", in->roster.party[party].name);
        if (s == STATUS_OK && c->n + n > CONTRIBUTION_ASKS_MAX)
            s = error_set(err, STATUS_CONFIG, "--columns: more than one job can ask for");
        for (uint32_t k = 0; s == STATUS_OK && k < n; k++)
            c->ask[c->n++] = (struct contribution_ask){.mixes = true, .party = party, .column = k};
        seen[s == STATUS_OK ? party : 0] = true;
    }
    return s;
}

static enum status make_asks(struct server_inputs *in, const struct contributed_want *want,
                             struct coalition *list, struct error *err)
{
    const uint32_t parties = (uint32_t)in->roster.n;
    const bool whole = want->orders == 0 && parties <= COALITIONS_WHOLE_MAX;
    const uint32_t orders = whole ? 0 : want->orders > 0 ? want->orders : COALITIONS_ORDERS;
    size_t n;
    enum status s = coalitions_list(list, &n, parties, orders);

    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_CONFIG,
                         "--permutations %u: more than %d sets of %u parties: ask for fewer",
                         orders, COALITIONS_MAX, parties);
    if (s == STATUS_OK)
        s = contribution_init(&in->asks, CONTRIBUTION_ASKS_MAX);
    if (s != STATUS_OK)
        return error_set(err, s, "contributions: %s", status_words(s));
    in->asks.seed = want->seed;
    in->asks.n = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        in->asks.ask[i].of = list[i];
    return want->columns == NULL ? STATUS_OK : add_columns(in, want->columns, err);
}

enum status contributed_ask(struct server_inputs *in, const struct contributed_want *want,
                            struct error *err)
{
    struct coalition *list = mem_alloc(COALITIONS_MAX, sizeof *list);
    struct plan p;
    enum status s;

    if (list == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for contributions");
    s = prediction_plan(&p, &in->model.plan, in->model.reach, err);
    if (s == STATUS_OK && prediction_is_exact(&p))
        s = error_set(err, STATUS_CONFIG, CONTRIBUTION_EXACT);
    if (s == STATUS_OK)
        s = make_asks(in, want, list, err);
    mem_free(list);
    return s;
}

void contributed_print(const struct server_inputs *in)
{
    uint32_t mixed = 0;

    for (uint32_t i = 0; i < in->asks.n; i++)
        mixed += in->asks.ask[i].mixes;
    printf("# %u rows, by the model of run %s, each asked for %u times: of %u sets of parties and "
           "%u columns\n",
           in->missing.n, in->model.run, in->asks.n, in->asks.n - mixed, mixed);
}

/* --- what was answered --- */

static void put_asked(FILE *f, const struct server_inputs *in, const struct contribution_ask *a)
{
    bool any = false;

    if (a->mixes)
        fprintf(f, "%s:%" PRIu32, in->roster.party[a->party].name, a->column + 1);
    for (uint32_t i = 0; i < in->roster.n; i++) {
        if (!coalition_lacks(&a->of, i))
            continue;
        fprintf(f, "%s%s", any ? "+" : "", in->roster.party[i].name);
        any = true;
    }
    fputc(',', f);
}

/* Row `row`'s scores of that question: answers of a round stand question by question. */
static const float *scores_of(const struct predict_scored *p, uint32_t row, uint32_t ask)
{
    const size_t first = row - row % p->batch, left = p->about->rows - first,
                 rows = left < p->batch ? left : p->batch;

    return p->scores + (first * p->asks->n + ask * rows + row % p->batch) * p->outputs;
}

enum status contributed_write(const struct server_inputs *in, struct server_predict *p,
                              const char *path, struct error *err)
{
    const struct predict_scored got = server_predict_scored(p);
    const struct contribution_ask nobody = {.of = coalition_none((uint32_t)in->roster.n)};
    struct scores out = {.loss = got.loss, .outputs = got.outputs, .first = "asked"};
    float *none = mem_alloc(got.outputs, sizeof *none);
    enum status s = none == NULL ? error_set(err, STATUS_MEMORY, "no memory for contributions")
                                 : scores_open(&out, path, false, err);

    if (s == STATUS_OK)
        server_predict_nobody(p, none);
    for (uint32_t k = 0; s == STATUS_OK && k <= got.asks->n; k++) {
        const bool last = k == got.asks->n;

        for (uint32_t i = 0; i < in->missing.n; i++) {
            size_t n;
            const char *id = ids_name(&in->missing, i, in->asked.placed, &n);

            put_asked(out.f, in, last ? &nobody : &got.asks->ask[k]);
            scores_put(&out, id, n, NULL, last ? none : scores_of(&got, i, k));
        }
    }
    if (s == STATUS_OK)
        s = scores_close(&out, err);
    mem_free(none);
    return s;
}
