/* audit.c -- vfl-audit: attacks on what a server saw, beside what was claimed.
 *
 *   vfl-audit --transcript FILE --canaries CSV --claims summary.json    epsilon, at least
 *   vfl-audit --transcript FILE --features CSV [--known N]             features from embeddings
 *   vfl-audit --transcript FILE --labels CSV                           labels from gradients
 *   vfl-audit --control [--runs N]                                     the auditor's own power
 *   vfl-audit --make DIR --rows N --parties M --embedding P            a federation of canaries
 *
 * Exit codes: 0; 5 when a bound is above its claim, or a control finds nothing; 2, 6 as everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/table.h"
#include "deploy/tools/audit/canary.h"
#include "deploy/tools/audit/contrast.h"
#include "deploy/tools/audit/control.h"
#include "deploy/tools/audit/distinguish.h"
#include "deploy/tools/audit/seen.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 200, RUNS = 20000, RUNS_MAX = 10000000, ROWS_MAX = 1000000, EMBEDDING_MAX = 1024 };

struct wanted {
    const char *transcript, *canaries, *claims, *features, *labels, *known, *runs;
    const char *make, *rows, *parties, *embedding;
    bool control;
};

static int usage(void)
{
    fprintf(stderr, "usage: vfl-audit --transcript FILE [--canaries CSV --claims SUMMARY] "
                    "[--features CSV [--known N]] [--labels CSV]\n"
                    "       vfl-audit --control [--runs N]\n"
                    "       vfl-audit --make DIR --rows N --parties M --embedding P\n");
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
        {"--claims", &w->claims},
        {"--features", &w->features},
        {"--labels", &w->labels},
        {"--known", &w->known},
        {"--runs", &w->runs},
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
    return (w->transcript != NULL) + w->control + (w->make != NULL) == 1 &&
           (w->canaries == NULL) == (w->claims == NULL);
}

/* A whole number in 1..most; 0: none. */
static size_t count_of(const char *text, size_t fallback, size_t most)
{
    char *end;
    unsigned long n;

    if (text == NULL)
        return fallback;
    n = strtoul(text, &end, 10);
    return *end == 0 && text[0] >= '0' && text[0] <= '9' && n <= most ? n : 0;
}

static enum status control(const struct wanted *w, bool *broken, struct error *err)
{
    size_t runs = count_of(w->runs, RUNS, RUNS_MAX);
    double epsilon = 0, one = 0;
    enum status s;

    if (runs < 40)
        return error_set(err, STATUS_CONFIG, "--runs: a whole number from 40 to %d", RUNS_MAX);
    s = control_raw(runs, &epsilon, &one, err);
    *broken |= s == STATUS_OK && epsilon <= one;
    return s;
}

static enum status make(const struct wanted *w, struct error *err)
{
    const struct canary c = {
        .rows = (uint32_t)count_of(w->rows, 0, ROWS_MAX),
        .parties = (uint32_t)count_of(w->parties, 0, PLAN_PARTIES_MAX),
        .embedding = (uint32_t)count_of(w->embedding, 0, EMBEDDING_MAX),
    };

    if (c.rows == 0 || c.parties == 0 || c.embedding == 0)
        return error_set(err, STATUS_CONFIG,
                         "--make: needs --rows up to %d, --parties up to %d, --embedding up to %d",
                         ROWS_MAX, PLAN_PARTIES_MAX, EMBEDDING_MAX);
    return canary_make(&c, w->make, err);
}

static enum status judge_claims(const struct wanted *w, const struct seen *seen, bool *broken,
                                struct error *err)
{
    json_error_t where;
    json_t *summary = json_load_file(w->claims, 0, &where);
    struct table_want any = {.labels = false};
    struct table canaries = {0};
    enum status s;

    if (summary == NULL)
        return error_set(err, STATUS_DATA, "%s:%d: %s", w->claims, where.line, where.text);
    s = table_read(&canaries, w->canaries, &any, err);
    if (s == STATUS_OK)
        s = distinguish(seen, &canaries, summary, broken, err);
    table_deinit(&canaries);
    json_decref(summary);
    return s;
}

static enum status contrast(const struct wanted *w, const struct seen *seen, struct error *err)
{
    struct table_want features = {.labels = false}, labels = {.labels = true};
    struct table t = {0};
    enum status s = STATUS_OK;

    if (w->features != NULL) {
        s = table_read(&t, w->features, &features, err);
        if (s == STATUS_OK)
            s = contrast_features(seen, &t, count_of(w->known, KNOWN, 1000000), err);
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
    else
        s = w.control ? control(&w, &broken, &err) : seen_read(&seen, w.transcript, &err);
    if (s == STATUS_OK && w.canaries != NULL)
        s = judge_claims(&w, &seen, &broken, &err);
    if (s == STATUS_OK && w.transcript != NULL)
        s = contrast(&w, &seen, &err);
    seen_deinit(&seen);
    if (s != STATUS_OK)
        fprintf(stderr, "vfl-audit: %s\n", err.text);
    return s != STATUS_OK ? status_exit_code(s) : broken ? 5 : 0;
}
