/* config.c -- the two kinds of file: loaded, checked as a whole, printed, described.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"

#include "common/config/aggregation.h"
#include "common/config/config_keys.h"
#include "common/config/key_print.h"
#include "common/config/key_set.h"
#include "common/config/load.h"
#include "common/config/peers.h"
#include "common/config/plan_head.h"
#include "common/config/plan_keys.h"
#include "common/config/plan_rules.h"
#include "common/config/task.h"
#include "common/config/reference.h"

#include <string.h>

void config_server_defaults(struct config_server *c)
{
    memset(c, 0, sizeof *c);
    key_set_defaults(&config_keys_server, c);
}

void config_party_defaults(struct config_party *c)
{
    memset(c, 0, sizeof *c);
    key_set_defaults(&config_keys_party, c);
}

/* Where there is one encoding nobody has to name it. */
static void imply_encoding(const struct load *l, struct plan *p)
{
    const struct load_origin *o = &l->origin[key_find(l->table, "protocol.encoding")];

    if (aggregation_of(p)->polynomial && o->line == 0 && o->set == NULL)
        p->protocol.encoding = aggregation_of(p)->own;
}

static enum status check_plan(const struct load *l, struct plan *p, struct error *err)
{
    char numbers[PLAN_RULES_NUMBERS_MAX], reason[2 * PLAN_RULES_NUMBERS_MAX + 256];
    const struct plan_rule *rule;
    size_t number;

    imply_encoding(l, p);
    rule = plan_rules_broken(p, &number);
    if (rule == NULL)
        return STATUS_OK;
    plan_rules_numbers(rule, p, numbers);
    snprintf(reason, sizeof reason, "%s%s", rule->reason, numbers);
    return load_refuse_with(l, rule->key, rule->with, PLAN_RULES_WITH_MAX, reason, err);
}

/* A job that is interrupted goes on from what is kept of it. */
static enum status check_stand(const struct load *l, bool stand, const char *state_key,
                               struct error *err)
{
    return stand && state_key[0] == 0 ? load_refuse(l, "stand", "true needs a state_key", err)
                                      : STATUS_OK;
}

/* Without TLS whoever is on the way reads scores and the token. */
static enum status check_http(const struct load *l, const struct config_server *c,
                              struct error *err)
{
    if (c->http[0] != 0 && !c->stand)
        return load_refuse(l, "http", "needs stand: true", err);
    return c->http[0] == 0 || peers_on_loopback(c->http) || strncmp(c->http, "localhost:", 10) == 0
               ? STATUS_OK
               : load_refuse(l, "http", "an address of loopback with a port, as 127.0.0.1:8080",
                             err);
}

/* Names under it are made in rooms of CONFIG_PATH_MAX, and one that was cut would be another
 * file's.
 */
static enum status check_state(const struct load *l, const char *state, struct error *err)
{
    return strlen(state) > CONFIG_STATE_MAX
               ? load_refuse(l, "state", "a path of at most 384 bytes with its directory", err)
               : STATUS_OK;
}

/* The columns that the rows kept back are chosen by are there. */
static enum status check_columns(const struct load *l, enum plan_validate_by by, const char *group,
                                 const char *time, const char *side, struct error *err)
{
    char must[80];

    if (by == VALIDATE_GROUP && group[0] == 0)
        snprintf(must, sizeof must, "group needs %s.group, the column that says whose a row is",
                 side);
    else if (by == VALIDATE_TIME && time[0] == 0)
        snprintf(must, sizeof must, "time needs %s.time, the column that says when a row was",
                 side);
    else
        return STATUS_OK;
    return load_refuse(l, "data.validate_by", must, err);
}

static enum status check_head(const struct load *l, const struct config_server *c,
                              struct error *err)
{
    const char *why, *key = plan_head_needs_layers(&c->plan, &why);

    return c->head.command.n > 0 && key != NULL ? load_refuse(l, key, why, err) : STATUS_OK;
}

/* What the plan asks of the label files. */
static enum status check_labels(const struct load *l, const struct config_server *c,
                                struct error *err)
{
    if (task_of(&c->plan)->scores == TASK_OF_LABELS && c->labels_positive[0] != 0)
        return load_refuse(l, "labels.positive",
                           "multilabel takes labels that are 0, 1 or missing: no text is one", err);
    return check_columns(l, c->plan.data.validate_by, c->labels_group, c->labels_time, "labels",
                         err);
}

enum status config_load_server(struct config_server *c, const char *file, const char *const *sets,
                               size_t n, struct error *err)
{
    struct load l = {.table = &config_keys_server, .base = c, .file = file};
    enum status s;

    memset(c, 0, sizeof *c);
    s = load_run(&l, sets, n, err);
    if (s == STATUS_OK)
        s = check_state(&l, c->state, err);
    if (s == STATUS_OK)
        s = check_stand(&l, c->stand, c->state_key, err);
    if (s == STATUS_OK)
        s = check_http(&l, c, err);
    if (s == STATUS_OK)
        s = check_labels(&l, c, err);
    if (s == STATUS_OK)
        s = check_head(&l, c, err);
    return s == STATUS_OK ? check_plan(&l, &c->plan, err) : s;
}

static const struct key_table plan_only = {
    .name = "plan", .parts = 1, .part = {{plan_keys, PLAN_KEYS_N, 0}}};

#define JOB_PLAN "the job's plan"

enum status config_check_job(const char *text, size_t n, struct error *err)
{
    struct plan p;
    struct load l = {.table = &plan_only, .base = &p, .file = JOB_PLAN};

    memset(&p, 0, sizeof p);
    key_set_defaults(l.table, l.base);
    return load_text(&l, text, n, err);
}

enum status config_load_server_job(struct config_server *c, const struct config_job *job,
                                   struct error *err)
{
    struct load l = {.table = &config_keys_server, .base = c, .file = job->file};
    enum status s = config_check_job(job->plan, job->plan_n, err);

    memset(c, 0, sizeof *c);
    if (s == STATUS_OK)
        s = load_run(&l, job->sets, job->sets_n, err);
    l.file = JOB_PLAN;
    if (s == STATUS_OK)
        s = load_text(&l, job->plan, job->plan_n, err);
    if (s == STATUS_OK)
        s = check_http(&l, c, err);
    if (s == STATUS_OK)
        s = check_labels(&l, c, err);
    if (s == STATUS_OK)
        s = check_head(&l, c, err);
    return s == STATUS_OK ? check_plan(&l, &c->plan, err) : s;
}

static bool admits_polynomial_alone(const struct config_policy *policy)
{
    bool some = false, others = false;

    for (size_t i = 0; i < PLAN_AGGREGATIONS; i++) {
        const bool polynomial = aggregation_row((enum plan_aggregation)i)->polynomial;

        some |= policy->aggregation[i] && polynomial;
        others |= policy->aggregation[i] && !polynomial;
    }
    return some && !others;
}

/* Only dp has a use for noise, and none without it. */
static enum status check_train(const struct load *l, const struct config_party *c,
                               struct error *err)
{
    if (c->train == TRAIN_DP && c->noise <= 0)
        return load_refuse(l, "model.noise", "must be given (above 0) with model.train dp", err);
    if (c->train != TRAIN_DP && c->noise > 0)
        return load_refuse(l, "model.noise", "has a meaning only with model.train dp", err);
    return STATUS_OK;
}

static bool is_given(const struct load *l, const char *key)
{
    const struct load_origin *o = &l->origin[key_find(l->table, key)];

    return o->line != 0 || o->set != NULL;
}

/* model.preset stands for a list of layers: beside it model.layers may only be that list. */
static enum status check_preset(const struct load *l, struct config_party *c, struct error *err)
{
    struct config_layers layers;

    if (c->preset == PRESET_NONE || c->degree > 0)
        return c->preset == PRESET_NONE
                   ? STATUS_OK
                   : load_refuse(l, "model.preset", "a polynomial bottom has no layers", err);
    layers_of_preset(&layers, c->preset);
    if (is_given(l, "model.layers") && memcmp(&layers, &c->layers, sizeof layers) != 0)
        return load_refuse(l, "model.preset", "model.layers says other layers: leave one out", err);
    c->layers = layers;
    return STATUS_OK;
}

/* What a program computes nobody here can clip, freeze or take apart. */
static enum status check_program(const struct load *l, struct config_party *c, struct error *err)
{
    static const char alone[] = "not beside model.program, which is the bottom: leave it out";

    if (c->program.command.n == 0)
        return STATUS_OK;
    if (c->degree > 0)
        return load_refuse(l, "model.polynomial.degree", alone, err);
    if (c->preset != PRESET_NONE)
        return load_refuse(l, "model.preset", alone, err);
    if (is_given(l, "model.layers") && c->layers.n > 0)
        return load_refuse(l, "model.layers", alone, err);
    if (c->train != TRAIN_RAW)
        return load_refuse(l, "model.train",
                           "must be raw: what a program (model.program) does with records is not "
                           "known",
                           err);
    c->layers = (struct config_layers){0};
    return STATUS_OK;
}

/* A polynomial bottom has no hidden layers: none by default, and whoever names some is told.  So is
 * a party whose bottom no plan that it admits can take. */
static enum status check_bottom(const struct load *l, struct config_party *c, struct error *err)
{
    static const char key[] = "model.layers";

    if (c->degree > 0 && !is_given(l, key))
        c->layers = (struct config_layers){0};
    if (c->degree == 0 && admits_polynomial_alone(&c->policy))
        return load_refuse(l, "model.polynomial.degree",
                           "is 0, a layered bottom, but fedvs, all that policy.aggregations "
                           "admits, takes polynomial bottoms only",
                           err);
    if (c->shape.n == 1 || c->shape.n > 3)
        return load_refuse(l, "data.shape", "must be [C, H, W], [T, C] or []", err);
    if (c->degree == 0 || c->layers.n == 0)
        return check_preset(l, c, err);
    return load_refuse(l, key,
                       "a polynomial bottom (model.polynomial.degree) has no layers: leave this "
                       "out, or make it []",
                       err);
}

/* What is moved is an image, and not out of sight. */
static enum status check_augment(const struct load *l, const struct config_party *c,
                                 struct error *err)
{
    const char *key = c->augment_crop > 0 ? "data.augment.crop" : "data.augment.flip";

    if (c->augment_crop == 0 && !c->augment_flip)
        return STATUS_OK;
    if (c->shape.n != 3 || c->degree > 0)
        return load_refuse(
            l, key, "is of images, which data.shape: [C, H, W] says they are, before layers", err);
    if (c->augment_crop >= c->shape.width[1] || c->augment_crop >= c->shape.width[2])
        return load_refuse(l, key, "would move images of data.shape out of sight", err);
    return STATUS_OK;
}

/* A bottom that does not train would be another one for each batch. */
static enum status check_dropout(const struct load *l, const struct config_party *c,
                                 struct error *err)
{
    bool units = false;

    for (size_t i = 0; i < c->layers.n; i++)
        units |= c->layers.item[i].word == LAYERS_UNITS;
    if (c->dropout > 0 && !units)
        return load_refuse(l, "model.dropout",
                           "is of hidden layers, and this bottom has none (model.layers)", err);
    if (c->dropout > 0 && c->train == TRAIN_FROZEN)
        return load_refuse(l, "model.dropout", "has no meaning with model.train frozen", err);
    return STATUS_OK;
}

enum status config_load_party(struct config_party *c, const char *file, const char *const *sets,
                              size_t n, struct error *err)
{
    struct load l = {.table = &config_keys_party, .base = c, .file = file};

    enum status s;

    memset(c, 0, sizeof *c);
    s = load_run(&l, sets, n, err);
    if (s == STATUS_OK)
        s = check_state(&l, c->state, err);
    if (s == STATUS_OK)
        s = check_stand(&l, c->stand, c->state_key, err);
    if (s == STATUS_OK)
        s = check_columns(&l, c->validate_by, c->group, c->time, "data", err);
    if (s == STATUS_OK)
        s = check_train(&l, c, err);
    if (s == STATUS_OK)
        s = check_program(&l, c, err);
    if (s == STATUS_OK)
        s = check_bottom(&l, c, err);
    if (s == STATUS_OK)
        s = check_augment(&l, c, err);
    return s == STATUS_OK ? check_dropout(&l, c, err) : s;
}

/* Prints the sections of `path` that `before` was not already in. */
static enum status print_sections(const char *path, const char *before, struct buf *out)
{
    int depth = 0;

    for (const char *dot; (dot = strchr(path, '.')) != NULL; depth++) {
        size_t n = (size_t)(dot + 1 - path);
        bool same = before != NULL && strncmp(path, before, n) == 0;

        if (!same) {
            enum status s = buf_printf(out, "%*s%.*s:\n", 2 * depth, "", (int)n - 1, path);

            if (s != STATUS_OK)
                return s;
        }
        before = same ? before + n : NULL;
        path += n;
    }
    return STATUS_OK;
}

/* `given`: only rows that a file has given; NULL: all. */
static enum status print_table(const struct key_table *t, const void *base,
                               const struct load *given, struct buf *out)
{
    const char *before = NULL;
    const struct key *k;
    size_t offset;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        const char *field = (const char *)base + offset, *name = k->path;
        int depth = 0;
        enum status s;

        if (given != NULL ? given->origin[i].line == 0 : !key_print_needed(k, field))
            continue;
        s = print_sections(k->path, before, out);
        for (const char *dot; (dot = strchr(name, '.')) != NULL; depth++)
            name = dot + 1;
        if (s == STATUS_OK)
            s = buf_printf(out, "%*s%s: ", 2 * depth, "", name);
        if (s == STATUS_OK)
            s = key_print(k, field, out);
        if (s == STATUS_OK)
            s = buf_append(out, "\n", 1);
        if (s != STATUS_OK)
            return s;
        before = k->path;
    }
    return STATUS_OK;
}

enum status config_print_server(const struct config_server *c, struct buf *out)
{
    return print_table(&config_keys_server, c, NULL, out);
}

enum status config_print_party(const struct config_party *c, struct buf *out)
{
    return print_table(&config_keys_party, c, NULL, out);
}

enum status config_print_plan_file(const char *file, struct buf *out, struct error *err)
{
    struct plan p;
    struct load l = {.table = &plan_only, .base = &p, .file = file};
    enum status s;

    memset(&p, 0, sizeof p);
    s = load_run(&l, NULL, 0, err);
    if (s == STATUS_OK)
        s = check_plan(&l, &p, err);
    if (s != STATUS_OK)
        return s;
    s = print_table(&plan_only, &p, &l, out);
    return s == STATUS_OK ? s : error_set(err, s, "%s: %s", file, status_words(s));
}

enum status config_reference(struct buf *out)
{
    enum status s = reference_table(&config_keys_server, out);

    return s == STATUS_OK ? reference_table(&config_keys_party, out) : s;
}
