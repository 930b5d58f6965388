/* plan.c -- keys of a plan, one after another, as long as plan_check admits the whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/plan.h"

#include "common/base/check.h"
#include "common/config/key_set.h"
#include "common/config/task.h"
#include "common/secagg/encode.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER_MAX = 4, STAYS = 0, ELSEWHERE = -1 };

/* What is too much for a run of milliseconds, or says nothing here. */
static const struct {
    const char *path;
    double most; /* STAYS: as it is; ELSEWHERE: it is drawn with what it is about */
} limits[] = {
    {"model.embedding", 5},
    {"training.batch", 6},
    {"training.epochs", 2},
    {"training.evaluate_every", 2},
    {"protocol.local_iterations", 8},
    {"protocol.patience_ms", 20000},
    {"protocol.deadline_ms", 20000},
    {"protocol.coded.segments", 3},
    {"protocol.coded.privacy", 3},
    {"protocol.fedvs.segments", 2},
    {"protocol.fedvs.privacy", 2},
    {"protocol.label_holders", 3},
    {"training.patience", 3},
    {"model.task", ELSEWHERE},       /* before all others: it decides the outputs */
    {"data.validate", ELSEWHERE},    /* with the rows that it keeps back */
    {"data.validate_by", STAYS},     /* which ones they are, before anything is said */
    {"training.stop.metric", STAYS}, /* the server's answer to sums, which are not the script's */
    {"training.stop.split", STAYS},
    {"training.stop.value", STAYS},
    {"privacy.max_epsilon", STAYS}, /* a limit of the server against itself */
};

/* Keys of which none can be set alone, and those that decide what others mean, first. */
static const char *const together[][TOGETHER_MAX] = {
    {"protocol.gaussian.match", "protocol.gaussian.sigma"},
    {"protocol.gaussian.match", "protocol.gaussian.epsilon"},
    {"protocol.pbm.wide", "protocol.pbm.beta"},
    {"protocol.local_iterations", "protocol.proximal"},
    {"model.output", "model.embedding"},
    {"protocol.coded.segments", "protocol.coded.privacy"},
    {"protocol.local_view", "protocol.label_holders"},
    {"protocol.fedvs.segments", "training.batch"},
};
static const char *const first[] = {"protocol.encoding", "protocol.straggler",
                                    "protocol.local_view", "training.releases",
                                    "protocol.local_iterations"};

static double limit_of(const struct key *k)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(limits[i].path, k->path) == 0)
            return limits[i].most < k->hi ? limits[i].most : k->hi;
    }
    return k->type == KEY_LAYERS ? 4 : k->type == KEY_CHOICE || k->type == KEY_BOOL ? 1 : k->hi;
}

/* --- one value --- */

static void draw_real(struct dice *d, const struct key *k, double most, char *out)
{
    static const double small[] = {1e-300, 1e-38, 1e-9, 1e-3};
    const double lo = fmax(k->lo, 1e-6);
    double x;

    switch (dice_next(d) % 8) {
    case 0: x = most; break;
    case 1: x = k->lo_open ? DICE_PICK(d, small) : k->lo; break;
    case 2: x = fmax(k->lo, DICE_PICK(d, small)); break;
    case 3: x = fmin(most, (double)dice_between(d, 1, 600)); break;
    default: x = lo * pow(most / lo, dice_real(d)); break;
    }
    snprintf(out, PAIR_SET_MAX, "%.17g", x);
}

static void draw_whole(struct dice *d, const struct key *k, double most, char *out)
{
    uint64_t lo = (uint64_t)k->lo, hi = (uint64_t)most;

    if (dice_percent(d, 15))
        hi = lo;
    else if (dice_percent(d, 15))
        lo = hi;
    snprintf(out, PAIR_SET_MAX, "%llu", (unsigned long long)dice_between(d, lo, hi));
}

static void draw_value(struct dice *d, const struct key *k, char *out)
{
    static const char *const layers[] = {"[]",
                                         "[1]",
                                         "[3]",
                                         "[4, 2]",
                                         "[4, batchnorm, relu]",
                                         "[batchnorm]",
                                         "[{groupnorm: {groups: 1}}, 3]",
                                         "[3, residual, 3, tanh, add]"};
    const double most = limit_of(k);
    size_t n = 0;

    /* Some fall back to what a server makes of its data: what is sent is a number. */
    if (k->fallback != NULL && k->given == 0 && dice_percent(d, 15) &&
        strtod(k->fallback, NULL) <= most) {
        snprintf(out, PAIR_SET_MAX, "%s", k->fallback);
        return;
    }
    switch (k->type) {
    case KEY_U32:
    case KEY_U64: draw_whole(d, k, most, out); return;
    case KEY_AUTO:
    case KEY_REAL: draw_real(d, k, most, out); return;
    case KEY_BOOL: strcpy(out, dice_percent(d, 50) ? "true" : "false"); return;
    case KEY_LAYERS: strcpy(out, DICE_PICK(d, layers)); return;
    case KEY_SEED:
        snprintf(out, PAIR_SET_MAX, "%llu", (unsigned long long)dice_between(d, 1, 9));
        return;
    case KEY_CHOICE:
        while (k->choices[n] != NULL)
            n++;
        strcpy(out, k->choices[dice_next(d) % n]);
        return;
    case KEY_PATH:
    case KEY_SOURCE:
    case KEY_SCALE:
    case KEY_ADDRESS:
    case KEY_COLUMN:
    case KEY_ALIGNMENT:
    case KEY_TEXT:
    case KEY_SHA256:
    case KEY_WIDTHS:
    case KEY_NAMES:
    case KEY_COMMAND:
    case KEY_SET:
    case KEY_DELAY: CHECK(!"no key of a plan has this type");
    }
}

/* --- into the plan --- */

static size_t row_of(const char *path)
{
    for (size_t i = 0; i < PLAN_KEYS_N; i++) {
        if (strcmp(plan_keys[i].path, path) == 0)
            return i;
    }
    fprintf(stderr, "interference: no such key of a plan: %s\n", path);
    CHECK(!"a key was renamed: tests/interference/plan.c");
    return 0;
}

static uint32_t outputs_of(const struct pair *p, const struct plan *plan)
{
    return plan->model.binary_loss == BINARY_SIGMOID ? 1 : p->options.classes;
}

/* By everybody's rules, and by the server itself, which plays it. */
static bool admitted(const struct pair *p, const struct plan *plan)
{
    struct plan shaped = *plan;
    struct encode encode;
    struct error err = {0};

    shaped.shape.outputs = outputs_of(p, plan);
    return plan_check(&shaped, &err) == STATUS_OK &&
           encode_init(&encode, &shaped, shaped.shape.parties) == STATUS_OK;
}

/* These keys to these values, all of them or none. */
static bool set(struct pair *p, const size_t *row, char (*text)[PAIR_SET_MAX], size_t n)
{
    struct plan now = p->plan;
    struct key_set_fault fault;

    for (size_t i = 0; i < n; i++) {
        const struct key *k = &plan_keys[row[i]];
        struct key_value v = {0};

        CHECK(key_value_split(&v, text[i], strlen(text[i])));
        if (!key_set(k, (char *)&now + k->offset, &v, NULL, &fault))
            return false;
    }
    if (!admitted(p, &now))
        return false;
    p->plan = now;
    for (size_t i = 0; i < n; i++)
        snprintf(p->set[row[i]], sizeof p->set[0], "%.40s=%.50s", plan_keys[row[i]].path, text[i]);
    return true;
}

static void set_to(struct pair *p, const char *path, const char *value)
{
    const size_t row = row_of(path);
    char text[1][PAIR_SET_MAX];

    snprintf(text[0], sizeof text[0], "%s", value);
    (void)set(p, &row, text, 1);
}

static void try_keys(struct pair *p, struct dice *d, const size_t *row, size_t n)
{
    char text[TOGETHER_MAX][PAIR_SET_MAX];

    for (size_t i = 0; i < n; i++) {
        if (limit_of(&plan_keys[row[i]]) <= 0)
            return;
        draw_value(d, &plan_keys[row[i]], text[i]);
    }
    (void)set(p, row, text, n);
}

static void try_together(struct pair *p, struct dice *d, const char *const *paths)
{
    size_t row[TOGETHER_MAX], n = 0;

    while (n < TOGETHER_MAX && paths[n] != NULL) {
        row[n] = row_of(paths[n]);
        n++;
    }
    try_keys(p, d, row, n);
}

/* Who may see what decides which other keys there are: drawn evenly, whatever the table says. */
static void draw_aggregation(struct pair *p, struct dice *d)
{
    static const char *const all[] = {"masked", "masked", "masked", "coded", "coded",
                                      "fedvs",  "fedvs",  "clear",  "clear"};
    const char *aggregation = all[dice_next(d) % (p->strict ? 7 : 9)];

    if (strcmp(aggregation, "fedvs") == 0)
        set_to(p, "protocol.encoding", "fixed");
    set_to(p, "protocol.aggregation", aggregation);
}

/* Gaussian noise has its bounds in steps of the grid: of three keys drawn apart few fit. */
static void draw_gaussian(struct pair *p, struct dice *d)
{
    static const char *const paths[TOGETHER_MAX] = {"protocol.encoding", "protocol.gaussian.match",
                                                    "protocol.gaussian.sigma",
                                                    "protocol.gaussian.levels"};
    const uint64_t levels = dice_between(d, 16, 300);
    const double steps = 4 * pow(1e4, dice_real(d));
    char text[TOGETHER_MAX][PAIR_SET_MAX];
    size_t row[TOGETHER_MAX];

    for (size_t i = 0; i < TOGETHER_MAX; i++)
        row[i] = row_of(paths[i]);
    strcpy(text[0], "gaussian");
    strcpy(text[1], "sigma");
    snprintf(text[2], PAIR_SET_MAX, "%.17g", steps * p->plan.protocol.clip / (double)levels);
    snprintf(text[3], PAIR_SET_MAX, "%llu", (unsigned long long)levels);
    (void)set(p, row, text, TOGETHER_MAX);
}

/* A share is no plan without rows of its own, and the other way round: both, or neither. */
static void set_share(struct pair *p)
{
    if (p->options.validate_rows == 0)
        return;
    p->plan.shape.validate_rows = p->options.validate_rows;
    set_to(p, "data.validate", p->share);
    CHECK(p->plan.data.validate > 0);
}

/* What looks at the rows of data.validate: of keys drawn apart few would fit. */
static void draw_patience(struct pair *p, struct dice d)
{
    static const char *const paths[][TOGETHER_MAX] = {
        {"training.patience", "training.evaluate_every"},
        {"training.patience", "training.best_by"},
        {"training.best_by"},
    };

    if (p->options.validate_rows == 0 || !dice_percent(&d, 75))
        return;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        try_together(p, &d, paths[i]);
    if (p->plan.training.patience > 0) /* else few runs are long enough for a second best one */
        set_to(p, "training.epochs", "2");
}

/* Neither can be set without the other, and it is one schedule among many. */
static void draw_steps(struct pair *p, struct dice d)
{
    static const char *const paths[TOGETHER_MAX] = {"training.schedule", "training.step.epochs"};

    if (dice_percent(&d, 30))
        try_together(p, &d, paths);
}

void pair_plan_moved(const struct pair *p, bool moved[PLAN_KEYS_N])
{
    for (size_t i = 0; i < PLAN_KEYS_N; i++) {
        const char *value = strchr(p->set[i], '='), *fallback = plan_keys[i].fallback;

        moved[i] |= value != NULL && (fallback == NULL || strcmp(value + 1, fallback) != 0);
    }
}

size_t pair_plan_unmoved(const bool moved[PLAN_KEYS_N])
{
    size_t n = 0;

    for (size_t i = 0; i < PLAN_KEYS_N; i++) {
        if (moved[i] || limit_of(&plan_keys[i]) == STAYS)
            continue;
        printf("FAIL  no pair has a plan with another %s than the default\n", plan_keys[i].path);
        n++;
    }
    return n;
}

void pair_draw_plan(struct pair *p, struct dice *d)
{
    static const char *const begin[][2] = {
        {"training.epochs", "1"},           {"training.seed", "3"},
        {"training.optimizer", "sgd"},      {"training.schedule", "constant"},
        {"training.learning_rate", "0.01"}, {"training.weight_decay", "0"},
        {"privacy.delta", "1e-5"},          {"model.embedding", "4"},
        {"protocol.pbm.trials", "16"}};
    size_t tries = 2 * PLAN_KEYS_N;
    char batch[16];

    memset(p->set, 0, sizeof p->set);
    plan_defaults(&p->plan);
    p->plan.model.task = p->options.classes == 1   ? TASK_REGRESSION
                         : p->several              ? TASK_MULTILABEL
                         : p->options.classes == 2 ? TASK_BINARY
                                                   : TASK_MULTICLASS;
    p->plan.shape.parties = p->options.parties;
    p->plan.shape.train_rows = p->options.train_rows;
    p->plan.shape.test_rows = p->options.test_rows;
    /* First: with the default batch no plan for so few rows is admitted. */
    snprintf(batch, sizeof batch, "%u", p->options.train_rows < 3 ? p->options.train_rows : 3);
    set_to(p, "training.batch", batch);
    set_share(p);
    set_to(p, "model.task", task_names[p->plan.model.task]);
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        set_to(p, begin[i][0], begin[i][1]);
    draw_aggregation(p, d);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        try_together(p, d, (const char *const[TOGETHER_MAX]){first[i]});
    draw_patience(p, dice_of(p->seed, DRAW_VALIDATE, 1));
    draw_steps(p, dice_of(p->seed, DRAW_STEPS, 0));
    if (!p->strict && dice_percent(d, 30))
        draw_gaussian(p, d);
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (dice_percent(d, 40))
            try_together(p, d, together[i]);
    if (dice_percent(d, 40)) /* else many keys cover each other */
        tries = 8;
    while (tries-- > 0) {
        const size_t row = dice_next(d) % PLAN_KEYS_N;

        if (strcmp(plan_keys[row].path, "protocol.aggregation") != 0)
            try_keys(p, d, &row, 1);
    }
    if (p->strict && dice_percent(d, 90)) { /* what a default policy admits */
        if (p->plan.protocol.encoding > ENCODING_FIXED)
            set_to(p, "protocol.encoding", "pbm");
        if (p->plan.training.learning_rate > 1)
            set_to(p, "training.learning_rate", "0.9");
    }
    p->plan.shape.outputs = outputs_of(p, &p->plan);
}
