/* asked.c -- ids and a head's package.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/asked.h"

#include "common/base/mem.h"
#include "common/daemon/models.h"
#include "common/data/lines.h"
#include "common/data/text.h"
#include "common/flow/prediction.h"

#include <stdio.h>
#include <string.h>

/* Grows in steps, so that a file without end is not believed first. */
static enum status note_id(struct server_inputs *in, uint32_t *room, struct error *err)
{
    uint32_t *grown;

    if (in->asked.rows + 1 < *room) {
        in->ids_at[++in->asked.rows] = (uint32_t)in->ids.len;
        return STATUS_OK;
    }
    *room = 2 * *room + 64;
    grown = mem_alloc(*room, sizeof *grown);
    if (grown == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %u ids", *room);
    if (in->ids_at != NULL)
        memcpy(grown, in->ids_at, (in->asked.rows + 1) * sizeof *grown);
    mem_free(in->ids_at);
    in->ids_at = grown;
    in->ids_at[++in->asked.rows] = (uint32_t)in->ids.len;
    return STATUS_OK;
}

static enum status take_id(struct server_inputs *in, const struct lines *l, const char *line,
                           size_t n, uint32_t *room, struct error *err)
{
    const unsigned long long number = (unsigned long long)l->number;

    if (!text_is_plain(line, n, TABLE_ID_MAX))
        return error_set(err, STATUS_DATA, "%s:%llu: no id", l->stream.path, number);
    if (in->asked.rows == PREDICTION_ROWS_MAX || buf_append(&in->ids, line, n) != STATUS_OK ||
        buf_append(&in->ids, "\n", 1) != STATUS_OK)
        return error_set(err, STATUS_DATA, "%s:%llu: more ids than one job can have",
                         l->stream.path, number);
    return note_id(in, room, err);
}

static enum status read_ids(struct server_inputs *in, const char *path, struct error *err)
{
    struct lines l = {0};
    uint32_t room = 64;
    char *line;
    size_t n;
    enum status s = lines_open(&l, path, TABLE_ID_MAX, err);

    in->ids_at = mem_alloc(room, sizeof *in->ids_at);
    if (s == STATUS_OK && in->ids_at == NULL)
        s = error_set(err, STATUS_MEMORY, "no memory for ids");
    if (s == STATUS_OK)
        in->ids_at[0] = 0;
    while (s == STATUS_OK) {
        s = lines_next(&l, &line, &n, err);
        if (s != STATUS_OK || line == NULL)
            break;
        s = take_id(in, &l, line, n, &room, err);
    }
    lines_close(&l);
    if (s == STATUS_OK && in->asked.rows == 0)
        s = error_set(err, STATUS_DATA, "%s: no ids", path);
    return s;
}

static enum status read_absent(struct server_inputs *in, const char *names, struct error *err)
{
    char name[WIRE_NAME_MAX + 1];

    for (const char *at = names; at != NULL;) {
        const size_t n = strcspn(at, ",");
        int i;

        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        i = roster_find_name(&in->roster, name);
        if (i < 0)
            return error_set(err, STATUS_CONFIG, "--absent %s: not in the roster", name);
        in->asked.absent[i] = true;
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return STATUS_OK;
}

/* What no party would take part in is not asked of any. */
static enum status check_model(const struct server_inputs *in, struct error *err)
{
    const struct plan *of = &in->model.plan;
    bool any = false;
    struct plan p;
    enum status s = prediction_plan(&p, of, in->model.reach, err);

    for (size_t i = 0; i < in->roster.n; i++)
        any |= in->asked.absent[i];
    if (s != STATUS_OK)
        return s;
    if (of->shape.parties != in->roster.n)
        return error_set(err, STATUS_CONFIG,
                         "the model of run %s is of %u parties, the roster has %zu", in->model.run,
                         of->shape.parties, in->roster.n);
    if (any && prediction_is_exact(&p))
        return error_set(err, STATUS_CONFIG,
                         "absent parties, under an encoding without noise: beside an answer with "
                         "all of them it would show what is theirs");
    return STATUS_OK;
}

static enum status load_wanted(struct server_inputs *in, const struct server_wanted *wanted,
                               struct error *err)
{
    enum status s = models_load(in->home, wanted->run, &in->model, err);

    if (s == STATUS_OK && in->model.role != PACKAGE_HEAD)
        s = error_set(err, STATUS_CONFIG, "%s/models: run %s has a bottom", in->home,
                      in->model.run);
    if (s == STATUS_OK)
        s = read_ids(in, wanted->ids, err);
    if (s == STATUS_OK)
        s = read_absent(in, wanted->absent, err);
    if (s != STATUS_OK)
        return s;
    s = check_model(in, err);
    if (s != STATUS_OK)
        return s;
    in->config.plan = in->model.plan;
    in->asked.model = &in->model;
    in->asked.ids = (const char *)in->ids.data;
    in->asked.at = in->ids_at;
    return STATUS_OK;
}

static void begin(struct server_inputs *in)
{
    buf_init(&in->ids, UINT32_MAX);
    package_init(&in->model);
    in->predicts = true;
}

enum status server_asked_load(struct server_inputs *in, const struct options *o,
                              const struct server_wanted *wanted, struct error *err)
{
    enum status s = server_inputs_identify(in, o, err);

    begin(in);
    in->config.stand = false; /* one job, and an end */
    return s == STATUS_OK ? load_wanted(in, wanted, err) : s;
}

enum status server_asked_errand(struct server_inputs *in, const struct server_inputs *whole,
                                const struct server_wanted *wanted, struct error *err)
{
    memset(in, 0, sizeof *in);
    in->config = whole->config;
    in->roster = whole->roster;
    snprintf(in->home, sizeof in->home, "%s", whole->home);
    begin(in);
    return load_wanted(in, wanted, err);
}

void server_asked_print(const struct server_inputs *in)
{
    const struct package *m = &in->model;
    char name[LEVELS_TEXT_MAX + 1];

    printf("# %u rows are asked for, by the model of run %s\n", in->asked.rows, m->run);
    for (uint32_t k = 0; m->classes != NULL && k < package_classes(&m->plan); k++) {
        package_class(m, k, name, sizeof name);
        printf("# class %u is \"%s\"\n", k, name);
    }
}
