/* audit.c -- vfl-audit: attacks on what a server saw, beside what was claimed.
 *
 *   vfl-audit --transcript FILE --canaries CSV [--probes CSV] [--seed N]
 *             --summary summary.json [--claims summary.json]     epsilon, at least
 *   vfl-audit --transcript FILE --features CSV [--known N]       features from embeddings
 *   vfl-audit --transcript FILE --labels CSV                     labels from gradients
 *   vfl-audit --pairs LIST                                       how runs of two neighbours end
 *   vfl-audit --control [--runs N]                               the auditor's own power
 *   vfl-audit --make DIR --rows N --parties M --embedding P [--probes R]
 *                                                                a federation of canaries
 *
 * Exit codes: 0; 5 when a bound is above its claim, low bits, sizes or ends tell, or a control
 * finds nothing; 2, 6 as everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/number.h"
#include "common/data/table.h"
#include "common/metrics/json_file.h"
#include "deploy/tools/audit/aside.h"
#include "deploy/tools/audit/canary.h"
#include "deploy/tools/audit/contrast.h"
#include "deploy/tools/audit/control.h"
#include "deploy/tools/audit/distinguish.h"
#include "deploy/tools/audit/seen.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN = 200,
    KNOWN_MAX = 1000000,
    RUNS = 20000,
    RUNS_MIN = 40,
    RUNS_MAX = 10000000,
    ROWS_MAX = 1000000,
    EMBEDDING_MAX = 1024,
    PROBES_MAX = 1000,
    PROBES_ROWS_MAX = 10000 /* a column each */
};

struct wanted {
    const char *transcript, *canaries, *probes, *summary, *claims, *seed;
    const char *features, *labels, *known, *runs;
    const char *pairs, *make, *rows, *parties, *embedding;
    bool control;
};

static int usage(void)
{
    fprintf(stderr, "usage: vfl-audit --transcript FILE [--canaries CSV [--probes CSV] [--seed N] "
                    "--summary FILE [--claims FILE]]\n"
                    "                 [--features CSV [--known N]] [--labels CSV]\n"
                    "       vfl-audit --pairs LIST\n"
                    "       vfl-audit --control [--runs N]\n"
                    "       vfl-audit --make DIR --rows N --parties M --embedding P "
                    "[--probes R]\n");
    return 2;
}

static bool read_options(struct wanted *w, int argc, char **argv)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--transcript", &w->transcript},
        {"--canaries", &w->canaries},
        {"--probes", &w->probes},
        {"--summary", &w->summary},
        {"--claims", &w->claims},
        {"--seed", &w->seed},
        {"--features", &w->features},
        {"--labels", &w->labels},
        {"--known", &w->known},
        {"--runs", &w->runs},
        {"--pairs", &w->pairs},
        {"--make", &w->make},
        {"--rows", &w->rows},
        {"--parties", &w->parties},
        {"--embedding", &w->embedding},
    };

    for (int i = 1; i < argc; i++) {
        size_t k = 0;

        if (strcmp(argv[i], "--control") == 0) {
            w->control = true;
            continue;
        }
        while (k < sizeof options / sizeof *options && strcmp(argv[i], options[k].name) != 0)
            k++;
        if (k == sizeof options / sizeof *options || ++i == argc)
            return false;
        *options[k].value = argv[i];
    }
    return (w->transcript != NULL) + w->control + (w->make != NULL) + (w->pairs != NULL) == 1 &&
           (w->canaries == NULL) == (w->summary == NULL) &&
           (w->canaries != NULL || w->claims == NULL) &&
           (w->probes == NULL || w->canaries != NULL || w->make != NULL) &&
           (w->known == NULL || w->features != NULL);
}

/* A whole number of an option; as it was where the option is not given. */
static enum status read_number(uint32_t *out, const char *option, const char *text, uint32_t least,
                               uint32_t most, struct error *err)
{
    uint64_t n;

    if (text == NULL && *out >= least)
        return STATUS_OK;
    if (text == NULL || !number_whole(&n, text) || n < least || n > most)
        return error_set(err, STATUS_CONFIG, "%s %s: a whole number from %u to %u expected", option,
                         text == NULL ? "(not given)" : text, least, most);
    *out = (uint32_t)n;
    return STATUS_OK;
}

static enum status control(const struct wanted *w, bool *broken, struct error *err)
{
    uint32_t runs = RUNS;
    double epsilon = 0, one = 0;
    enum status s = read_number(&runs, "--runs", w->runs, RUNS_MIN, RUNS_MAX, err);

    if (s == STATUS_OK)
        s = control_raw(runs, &epsilon, &one, err);
    *broken |= s == STATUS_OK && epsilon <= one;
    return s;
}

static enum status make(const struct wanted *w, struct error *err)
{
    struct canary c = {0};
    enum status s = read_number(&c.probes, "--probes", w->probes, 0, PROBES_MAX, err);

    if (s == STATUS_OK)
        s = read_number(&c.rows, "--rows", w->rows, 1, c.probes > 0 ? PROBES_ROWS_MAX : ROWS_MAX,
                        err);
    if (s == STATUS_OK)
        s = read_number(&c.parties, "--parties", w->parties, 1, PLAN_PARTIES_MAX, err);
    if (s == STATUS_OK)
        s = read_number(&c.embedding, "--embedding", w->embedding, 1, EMBEDDING_MAX, err);
    return s == STATUS_OK ? canary_make(&c, w->make, err) : s;
}

/* NULL is an answer where `path` is NULL. */
static enum status read_summary(json_t **out, const char *path, struct error *err)
{
    json_error_t where;

    *out = path == NULL ? NULL : json_file_load(path, 0, &where);
    if (path != NULL && *out == NULL)
        return error_set(err, STATUS_DATA, "%s:%d: %s", path, where.line, where.text);
    return STATUS_OK;
}

static enum status judge_claims(const struct wanted *w, const struct seen *seen, bool *broken,
                                struct error *err)
{
    const struct table_want any = {.labels = false};
    struct table canaries = {0}, probes = {0};
    struct view_of of = {seen, &canaries, w->probes != NULL ? &probes : NULL};
    json_t *own = NULL, *claims = NULL;
    enum status s = read_summary(&own, w->summary, err);

    if (s == STATUS_OK)
        s = read_summary(&claims, w->claims, err);
    if (s == STATUS_OK)
        s = table_read(&canaries, w->canaries, &any, err);
    if (s == STATUS_OK && w->probes != NULL)
        s = table_read(&probes, w->probes, &any, err);
    if (s == STATUS_OK) {
        const struct distinguish_summaries by = {own, claims != NULL ? claims : own};

        s = distinguish(&of, &by, broken, err);
        if (s == STATUS_OK)
            s = aside_rounds(&of, broken, err);
    }
    table_deinit(&canaries);
    table_deinit(&probes);
    json_decref(own);
    json_decref(claims);
    return s;
}

static enum status contrast(const struct wanted *w, const struct seen *seen, struct error *err)
{
    struct table_want features = {.labels = false}, labels = {.labels = true};
    struct table t = {0};
    uint32_t known = KNOWN;
    enum status s = read_number(&known, "--known", w->known, 1, KNOWN_MAX, err);

    if (s == STATUS_OK && w->features != NULL) {
        s = table_read(&t, w->features, &features, err);
        if (s == STATUS_OK)
            s = contrast_features(seen, &t, known, err);
        table_deinit(&t);
    }
    if (s == STATUS_OK && w->labels != NULL) {
        s = table_read(&t, w->labels, &labels, err);
        if (s == STATUS_OK)
            s = contrast_labels(seen, &t, err);
        table_deinit(&t);
    }
    return s;
}

static enum status read_transcript(const struct wanted *w, struct seen *seen, struct error *err)
{
    uint64_t seed;

    if (w->seed != NULL && !number_whole(&seed, w->seed))
        return error_set(err, STATUS_CONFIG, "--seed %s: a whole number expected", w->seed);
    return seen_read(seen, w->transcript, w->seed != NULL ? &seed : NULL, err);
}

int main(int argc, char **argv)
{
    struct wanted w = {0};
    struct error err = {0};
    struct seen seen = {0};
    bool broken = false;
    enum status s;

    if (!read_options(&w, argc, argv))
        return usage();
    if (w.make != NULL)
        s = make(&w, &err);
    else if (w.pairs != NULL)
        s = aside_runs(w.pairs, &broken, &err);
    else
        s = w.control ? control(&w, &broken, &err) : read_transcript(&w, &seen, &err);
    if (s == STATUS_OK && w.canaries != NULL)
        s = judge_claims(&w, &seen, &broken, &err);
    if (s == STATUS_OK && w.transcript != NULL)
        s = contrast(&w, &seen, &err);
    seen_deinit(&seen);
    if (s != STATUS_OK)
        fprintf(stderr, "vfl-audit: %s\n", err.text);
    return s != STATUS_OK ? status_exit_code(s) : broken ? 5 : 0;
}
