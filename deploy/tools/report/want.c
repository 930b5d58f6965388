/* want.c -- options to a struct, each refused with its reason.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/want.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status bad(struct error *err, const char *option, const char *value, const char *why)
{
    return error_set(err, STATUS_CONFIG, "--%s %s: %s", option, value, why);
}

/* METRIC[=VALUE][,split=train|test]; with `target` the value must be there. */
static enum status read_score(struct fold_want *w, const char *option, const char *text,
                              bool target, struct error *err)
{
    size_t n = strcspn(text, "=,"), i;
    const char *rest = text + n;
    char *end;

    for (i = 0; i < RUNS_METRICS; i++)
        if (strlen(runs_metric_name((enum runs_metric)i)) == n &&
            strncmp(text, runs_metric_name((enum runs_metric)i), n) == 0)
            break;
    if (i == RUNS_METRICS)
        return bad(err, option, text, "known are loss, accuracy, auc, auprc, f1");
    w->metric = (enum runs_metric)i;
    w->has_score = true;
    if (target != (*rest == '='))
        return bad(err, option, text, target ? "METRIC=VALUE expected" : "METRIC expected");
    if (target) {
        w->target = strtod(rest + 1, &end);
        if (end == rest + 1 || !isfinite(w->target))
            return bad(err, option, text, "no number");
        w->has_target = true;
        rest = end;
    }
    w->split = strcmp(rest, ",split=train") == 0 ? RUNS_TRAIN : RUNS_TEST;
    if (rest[0] != 0 && w->split == RUNS_TEST && strcmp(rest, ",split=test") != 0)
        return bad(err, option, text, "behind it only ,split=train or ,split=test");
    return STATUS_OK;
}

/* Cuts the text at its commas. */
static enum status read_axes(struct fold_want *w, char *text, struct error *err)
{
    for (char *next = text; next != NULL;) {
        text = next;
        next = strchr(text, ',');
        if (next != NULL)
            *next++ = 0;
        if (text[0] == 0)
            return bad(err, "by", text, "the name of an axis expected");
        if (w->by == FOLD_BY_MAX)
            return bad(err, "by", text, "too many axes");
        w->by_axis[w->by++] = text;
    }
    return STATUS_OK;
}

static enum status read_where(struct fold_want *w, const char *text, struct error *err)
{
    if (strchr(text, '=') == NULL || text[0] == '=')
        return bad(err, "where", text, "AXIS=VALUE expected");
    if (w->where == FOLD_BY_MAX)
        return bad(err, "where", text, "too many");
    w->where_text[w->where++] = text;
    return STATUS_OK;
}

static enum status read_best(struct fold_want *w, const char *text, struct error *err)
{
    static const struct {
        const char *name;
        int best;
    } known[] = {{"score", FOLD_BEST_SCORE}, {"rounds", RUNS_ROUNDS}, {"epochs", RUNS_EPOCHS},
                 {"payload", RUNS_PAYLOAD},  {"wire", RUNS_WIRE},     {"seconds", RUNS_SECONDS},
                 {"epsilon", RUNS_EPSILON},  {"total", RUNS_WIRE_ALL}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(text, known[i].name) == 0) {
            w->best = known[i].best;
            return STATUS_OK;
        }
    return bad(err, "best", text,
               "known are score, rounds, epochs, payload, wire, total, seconds, epsilon");
}

static enum status read_option(struct want *w, int option, struct error *err)
{
    struct fold_want *f = &w->fold;

    switch (option) {
    case 't': return read_score(f, "target", optarg, true, err);
    case 's': return f->has_target ? STATUS_OK : read_score(f, "score", optarg, false, err);
    case 'b': return read_axes(f, optarg, err);
    case 'w': return read_where(f, optarg, err);
    case 'e': return read_best(f, optarg, err);
    case 'r': f->base = optarg; break;
    case 'p': w->plots = optarg; break;
    case 'h': w->html = optarg; break;
    case 'c': w->csv = optarg; break;
    case 'S': w->scores = optarg; break;
    case 'u': f->by_curve = true; break;
    case 'i': w->title = optarg; break;
    case 'o': w->command = optarg; break;
    case 'q': w->quiet = true; break;
    default: return error_set(err, STATUS_CONFIG, "unknown option (vfl report --help)");
    }
    return STATUS_OK;
}

enum status want_read(struct want *w, int argc, char **argv, struct error *err)
{
    static const struct option known[] = {{"target", required_argument, NULL, 't'},
                                          {"score", required_argument, NULL, 's'},
                                          {"by", required_argument, NULL, 'b'},
                                          {"where", required_argument, NULL, 'w'},
                                          {"best", required_argument, NULL, 'e'},
                                          {"by-curve", no_argument, NULL, 'u'},
                                          {"base", required_argument, NULL, 'r'},
                                          {"plots", required_argument, NULL, 'p'},
                                          {"html", required_argument, NULL, 'h'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"title", required_argument, NULL, 'i'},
                                          {"command", required_argument, NULL, 'o'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"scores", required_argument, NULL, 'S'},
                                          {0}};
    enum status status = STATUS_OK;

    *w = (struct want){.fold = {.best = FOLD_BEST_NONE}};
    opterr = 0;
    for (int c; status == STATUS_OK && (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        status = read_option(w, c, err);
    if (status != STATUS_OK)
        return status;
    w->folders = (size_t)(argc - optind);
    w->folder = argv + optind;
    if (w->scores != NULL) {
        const struct fold_want *f = &w->fold;
        const bool folds = f->has_score || f->has_target || f->by > 0 || f->where > 0 ||
                           f->by_curve || f->best != FOLD_BEST_NONE || f->base != NULL;

        if (w->folders > 0 || w->html != NULL || w->csv != NULL || folds)
            return error_set(err, STATUS_CONFIG, "--scores goes with --plots and --quiet alone");
        return STATUS_OK;
    }
    if (w->folders == 0)
        return error_set(err, STATUS_CONFIG, "which folder? (vfl report --help)");
    if (w->fold.best >= 0 && !w->fold.has_target)
        return error_set(err, STATUS_CONFIG, "--best but for score needs --target");
    if (w->fold.by_curve && !w->fold.has_target)
        return error_set(err, STATUS_CONFIG, "--by-curve needs --target");
    return STATUS_OK;
}
