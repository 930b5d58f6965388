/* models.c -- vfl-models: the packages that one side keeps (common/daemon/models.h).
 *
 *   vfl-models [--state DIR] list           runs, which one is in use, what they are and scored
 *   vfl-models [--state DIR] show [RUN]     all that a package says of itself, but for its plan
 *   vfl-models [--state DIR] compare RUN RUN   what differs, and how far the weights are apart
 *   vfl-models [--state DIR] remove RUN     not the one in use
 *   vfl-models [--state DIR] rollback       back to the one that was in use before
 *   vfl-models [--state DIR] export [RUN] --onnx FILE   this side's part as an ONNX file
 *   vfl-models [--state DIR] forget --id ID    takes a person out of all lists there
 *
 * DIR is a daemon's state directory, without it the working directory.  Nothing that is printed is
 * of records, but scores, names of columns, their means and deviations are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/base/process.h"
#include "common/config/task.h"
#include "common/daemon/answers.h"
#include "common/daemon/models.h"
#include "common/daemon/package_layers.h"
#include "common/data/schema_text.h"
#include "common/data/text.h"
#include "common/nn/layer.h"
#include "deploy/tools/models/export.h"
#include "deploy/tools/models/forget.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: vfl models [--state DIR] list | show [RUN] | compare RUN RUN | remove RUN | rollback "
    "|\n"
    "                   export [RUN] | forget\n"
    "  --state DIR   a daemon's state directory; without it the working directory\n"
    "  --onnx FILE   of export: where to\n"
    "  --id ID       of forget: who is taken out of kept answers, jobs' lists and their scores\n";

static const char *role_name(const struct package *p)
{
    return p->role == PACKAGE_HEAD ? "head" : "bottom";
}

/* A package may come from elsewhere: what would not show on a terminal as it is becomes '?'. */
static void print_text(const char *text, size_t n)
{
    const bool shows = text_is_name(text, n, SIZE_MAX);

    for (size_t i = 0; i < n; i++)
        putchar(shows || (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?');
}

/* One figure of the scores, or nothing. */
static void print_score(const struct package *p, const char *name)
{
    const char *at = strstr(p->score, name);

    if (at == NULL)
        return;
    printf("  ");
    print_text(at, strcspn(at, "\n"));
}

static void print_scores(const char *score)
{
    for (const char *at = score; *at != 0; at += strspn(at, "\n")) {
        const size_t n = strcspn(at, "\n");

        print_text(at, n);
        printf("\n");
        at += n;
    }
}

static enum status list(const char *state, struct error *err)
{
    char(*runs)[PACKAGE_RUN_MAX + 1] = mem_alloc(MODELS_MAX, sizeof *runs),
                                  served[PACKAGE_RUN_MAX + 1];
    size_t n = 0;
    enum status s = models_served(state, served, err);

    if (runs == NULL)
        s = error_set(err, STATUS_MEMORY, "no memory");
    if (s == STATUS_OK)
        s = models_list(state, runs, MODELS_MAX, &n, err);
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        struct package p;

        package_init(&p);
        s = models_load(state, runs[i], &p, err);
        if (s == STATUS_OK) {
            printf("%c %-20s %s  epochs %g  steps %llu", strcmp(runs[i], served) == 0 ? '*' : ' ',
                   runs[i], role_name(&p), p.epochs, (unsigned long long)p.steps);
            print_score(&p, "test.auc=");
            print_score(&p, "test.r2=");
            print_score(&p, "test.loss=");
            printf("\n");
        }
        package_deinit(&p);
    }
    mem_free(runs);
    return s;
}

static bool has_kinds(const struct nn_spec *s)
{
    for (size_t i = 0; i < s->layers; i++)
        if (s->layer[i].kind != NN_DENSE && s->layer[i].kind != NN_POLYNOMIAL &&
            s->layer[i].kind != NN_EMBEDDING)
            return true;
    return false;
}

/* What layer i takes beyond the values of the one before, and what it makes of them. */
static void print_layer(const struct nn_spec *s, size_t i)
{
    static const char *const acts[] = {
        [NN_ACT_RELU] = ", relu", [NN_ACT_TANH] = ", tanh", [NN_ACT_SIGMOID] = ", sigmoid"};
    const struct nn_layer_spec *l = &s->layer[i];
    const struct nn_window *w = &l->window;

    printf("layer       %zu %s", i, layer_kind_of(s, i)->name);
    if (l->shape.channels > 0)
        printf(" of [%u, %u, %u]", l->shape.channels, l->shape.height, l->shape.width);
    if (w->size[0] > 0)
        printf(", window %u x %u, stride %u x %u, padding %u x %u", w->size[0], w->size[1],
               w->stride[0], w->stride[1], w->padding[0], w->padding[1]);
    if (l->groups > 1)
        printf(", %u groups", l->groups);
    if (l->units > 0)
        printf(", %u units", l->units);
    if (l->back > 0)
        printf(", of what came %u layers earlier", l->back);
    if (l->beside > 0)
        printf(", and of what came %u layers earlier", l->beside);
    printf("%s%s\n", l->bare ? ", no biases" : "", s->act[i] != NN_ACT_NONE ? acts[s->act[i]] : "");
}

static void print_layers(const struct package *p)
{
    const bool kinds = has_kinds(&p->spec);

    printf("layers      ");
    printf("%u", p->spec.width[0]);
    for (size_t i = 0; i < p->spec.layers; i++) {
        printf(" -> %u", p->spec.width[i + 1]);
        if (kinds)
            printf(" (%s)", layer_kind_of(&p->spec, i)->name);
    }
    if (p->spec.layer[0].kind == NN_POLYNOMIAL)
        printf(" (polynomial of degree %u)", p->spec.layer[0].degree);
    for (uint32_t k = 0; k < p->spec.embedded.n; k++)
        printf("%s%u x %u", k == 0 ? " (tables " : ", ", p->spec.embedded.of[k].levels,
               p->spec.embedded.of[k].width);
    printf("%s\n", p->spec.embedded.n > 0 ? ")" : "");
    for (size_t i = 0; i < p->spec.layers && kinds; i++)
        print_layer(&p->spec, i);
}

static void print_columns(const struct package *p)
{
    for (size_t c = 0; c < p->cols; c++) {
        const char *name = p->names == NULL ? NULL : p->names + c * TABLE_NAME_MAX;

        printf("column      ");
        if (name != NULL)
            print_text(name, strlen(name));
        else
            printf("%zu", c + 1);
        if (p->scale.cols > 0)
            printf("  (x - %.9g) / %.9g", (double)p->scale.mean[c], (double)p->scale.sd[c]);
        printf("\n");
    }
}

static void print_made(const struct package *p)
{
    static const char *const words[] = {
        [ACCOUNT_RAW] = "raw", [ACCOUNT_FROZEN] = "frozen", [ACCOUNT_DP] = "dp"};

    if (p->role == PACKAGE_BOTTOM)
        printf("train       %s", words[p->made]);
    if (p->role == PACKAGE_BOTTOM && p->made == ACCOUNT_DP)
        printf(", noise %g", p->noise);
    printf(p->role == PACKAGE_BOTTOM ? "\n" : "");
}

static void print_classes(const struct package *p)
{
    const char *of = task_of(&p->plan)->scores == TASK_OF_LABELS ? "label" : "class";
    char name[LEVELS_TEXT_MAX + 1];

    for (uint32_t k = 0; p->classes != NULL && k < package_classes(&p->plan); k++) {
        package_class(p, k, name, sizeof name);
        printf("%-12s%u ", of, k);
        print_text(name, strlen(name));
        printf("\n");
    }
}

/* What a table becomes before that, in the words of data.schema. */
static enum status print_schema(const struct package *p, struct error *err)
{
    struct buf text;
    enum status s;

    if (p->schema.n == 0)
        return STATUS_OK;
    buf_init(&text, SCHEMA_TEXT_MAX);
    s = schema_print(&p->schema, &text);
    if (s == STATUS_OK)
        printf("schema\n%.*s", (int)text.len, (char *)text.data);
    else
        error_set(err, s, "%s", status_words(s));
    buf_deinit(&text);
    return s;
}

static enum status print_kept(const char *state, const struct package *p, struct error *err)
{
    size_t n = 0;
    enum status s = answers_count(state, p->run, &n, err);

    if (s == STATUS_OK && p->role == PACKAGE_HEAD)
        printf("kept        %zu answers\n", n);
    return s;
}

static enum status show(const char *state, const char *run, struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1];
    struct package p;
    enum status s;

    package_init(&p);
    s = models_load(state, run, &p, err);
    if (s == STATUS_OK) {
        digest_hex(hex, p.plan_sha256, sizeof p.plan_sha256);
        printf("run         %s\nrole        %s\nplan        %s\n", p.run, role_name(&p), hex);
        digest_hex(hex, p.trail, sizeof p.trail);
        printf("trail       %s\nepochs      %g\nsteps       %llu\nparties     %u\n", hex, p.epochs,
               (unsigned long long)p.steps, p.plan.shape.parties);
        if (p.plan.training.from[0] != 0)
            printf("from        %s\n", p.plan.training.from);
        print_layers(&p);
        print_made(&p);
        print_columns(&p);
        print_classes(&p);
        if (p.role == PACKAGE_HEAD && (p.temperature < 1 || p.temperature > 1))
            printf("temperature %.4g\n", (double)p.temperature);
        print_scores(p.score);
        s = print_kept(state, &p, err);
    }
    if (s == STATUS_OK) {
        s = print_schema(&p, err);
    }
    package_deinit(&p);
    return s;
}

static enum status weights_of(const struct package *p, struct arena *arena, float **out, size_t *n,
                              struct error *err)
{
    struct nn_spec spec = p->spec;
    struct nn_net net;
    enum status s;

    spec.rows_max = 1;
    *n = nn_spec_params(&spec);
    *out = mem_alloc(*n + 1, sizeof **out);
    s = *out == NULL ? STATUS_MEMORY : arena_init(arena, nn_net_bytes(&spec));
    if (s == STATUS_OK)
        s = nn_net_init(&net, &spec, arena);
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    s = package_weights(p, &net, err);
    if (s == STATUS_OK)
        nn_net_copy_params(&net, *out);
    return s;
}

static void say_differs(bool same, const char *what)
{
    printf("%-12s%s\n", what, same ? "the same" : "different");
}

static bool same_columns(const struct package *a, const struct package *b)
{
    return a->cols == b->cols && (a->names == NULL) == (b->names == NULL) &&
           schema_embeds_as(&a->schema, &b->schema) &&
           (a->names == NULL || memcmp(a->names, b->names, a->cols * TABLE_NAME_MAX) == 0);
}

static void compare_layers(const struct package *a, const struct package *b)
{
    struct package_layers x, y;

    package_layers_print(&x, &a->spec);
    package_layers_print(&y, &b->spec);
    say_differs(strcmp(x.widths, y.widths) == 0 && strcmp(x.kinds, y.kinds) == 0 &&
                    a->spec.layer[0].degree == b->spec.layer[0].degree,
                "layers");
    say_differs(strcmp(x.activations, y.activations) == 0, "activations");
}

static bool same_scale(const struct package *a, const struct package *b)
{
    const size_t bytes = a->scale.cols * sizeof(float);

    return a->scale.cols == b->scale.cols &&
           (bytes == 0 || (memcmp(a->scale.mean, b->scale.mean, bytes) == 0 &&
                           memcmp(a->scale.sd, b->scale.sd, bytes) == 0));
}

static enum status compare_weights(const struct package *a, const struct package *b,
                                   struct error *err)
{
    struct arena arena[2] = {{0}, {0}};
    float *w[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    enum status s = weights_of(a, &arena[0], &w[0], &n[0], err);

    if (s == STATUS_OK)
        s = weights_of(b, &arena[1], &w[1], &n[1], err);
    if (s == STATUS_OK && n[0] == n[1]) {
        double largest = 0, square = 0;

        for (size_t i = 0; i < n[0]; i++) {
            const double d = (double)w[0][i] - (double)w[1][i];

            largest = fmax(largest, fabs(d));
            square += d * d;
        }
        if (a->spec.layers > 0 && a->spec.layer[0].kind == NN_OUTSIDE)
            printf("weights     a program's: %s\n", largest > 0 ? "others" : "the same");
        else
            printf("weights     %zu, apart by at most %.6g, %.6g in all\n", n[0], largest,
                   sqrt(square));
    } else if (s == STATUS_OK) {
        printf("weights     %zu and %zu\n", n[0], n[1]);
    }
    for (int i = 0; i < 2; i++) {
        mem_free(w[i]);
        arena_deinit(&arena[i]);
    }
    return s;
}

static enum status compare(const char *state, const char *x, const char *y, struct error *err)
{
    struct package a, b;
    enum status s;

    package_init(&a);
    package_init(&b);
    s = models_load(state, x, &a, err);
    if (s == STATUS_OK)
        s = models_load(state, y, &b, err);
    if (s == STATUS_OK) {
        say_differs(memcmp(a.plan_sha256, b.plan_sha256, DIGEST_BYTES) == 0, "plan");
        if (a.role == PACKAGE_BOTTOM) {
            say_differs(same_columns(&a, &b), "columns");
            say_differs(same_scale(&a, &b), "preparation");
        }
        compare_layers(&a, &b);
        printf("epochs      %g and %g\n", a.epochs, b.epochs);
        s = compare_weights(&a, &b, err);
        if (a.score[0] != 0) {
            printf("%s:\n", x);
            print_scores(a.score);
            printf("%s:\n", y);
            print_scores(b.score);
        }
    }
    package_deinit(&a);
    package_deinit(&b);
    return s;
}

static enum status rollback(const char *state, struct error *err)
{
    char run[PACKAGE_RUN_MAX + 1];
    enum status s = models_rollback(state, run, err);

    if (s == STATUS_OK)
        printf("run %s is in use\n", run);
    return s;
}

/* Out of the answers of every model. */
/* What the options say. */
struct asked {
    const char *state, *id, *onnx;
};

static enum status carry_out(const struct asked *a, char **word, int n, struct error *err)
{
    const char *state = a->state;
    const char *command = n > 0 ? word[0] : "";

    if (strcmp(command, "list") == 0 && n == 1)
        return list(state, err);
    if (strcmp(command, "show") == 0 && (n == 1 || n == 2))
        return show(state, n == 2 ? word[1] : "", err);
    if (strcmp(command, "compare") == 0 && n == 3)
        return compare(state, word[1], word[2], err);
    if (strcmp(command, "remove") == 0 && n == 2)
        return models_remove(state, word[1], err);
    if (strcmp(command, "rollback") == 0 && n == 1)
        return rollback(state, err);
    if (strcmp(command, "export") == 0 && (n == 1 || n == 2) && a->onnx != NULL)
        return export_onnx(state, n == 2 ? word[1] : "", a->onnx, err);
    if (strcmp(command, "forget") == 0 && n == 1 && a->id != NULL)
        return forget_id(state, a->id, err);
    return error_set(err, STATUS_CONFIG, "unknown command or wrong arguments\n%s", usage);
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"state", required_argument, NULL, 's'}, {"id", required_argument, NULL, 'i'},
        {"onnx", required_argument, NULL, 'o'},  {"export", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},        {0}};
    struct asked asked = {".", NULL, NULL};
    struct error err = {0};
    enum status s = STATUS_OK;

    for (int c; s == STATUS_OK && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (c == 's')
            asked.state = optarg;
        else if (c == 'i')
            asked.id = optarg;
        else if (c == 'o')
            asked.onnx = optarg;
        else
            s = error_set(&err, STATUS_CONFIG, "unknown option\n%s", usage);
    }
    /* A service has a user of its own; a file that is exported is the caller's. */
    if (s == STATUS_OK && asked.onnx == NULL && !process_become_owner(asked.state))
        s = error_set(&err, STATUS_CONFIG, "%s: it cannot be worked in as its owner", asked.state);
    if (s == STATUS_OK)
        s = carry_out(&asked, argv + optind, argc - optind, &err);
    if (s != STATUS_OK)
        fprintf(stderr, "vfl models: %s\n", err.text);
    return status_exit_code(s);
}
