/* asked.c -- ids and a head's package.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/asked.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/task.h"
#include "common/crypto/cert_name.h"
#include "common/daemon/models.h"
#include "common/flow/prediction.h"
#include "server/contributed.h"

#include <stdio.h>
#include <string.h>

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

static enum status take_name(struct server_inputs *in, const char *by, struct error *err)
{
    const char *name = by != NULL && by[0] != 0 ? by : in->config.predict_by;
    const size_t n = strlen(name);

    if (!cert_name_is(name, n))
        return error_set(err, STATUS_CONFIG, "predict.by: %s", CERT_NAME_RULE);
    memcpy(in->asked.by, name, n + 1);
    return STATUS_OK;
}

/* Under exact sums the configuration's number is for other models. */
static enum status take_least(struct server_inputs *in, const struct server_wanted *wanted,
                              const struct plan *p, struct error *err)
{
    const uint32_t configured = in->config.predict_min_parties;
    const bool exact = prediction_is_exact(p);

    if (wanted->contributed != NULL)
        return STATUS_OK; /* of everybody */
    in->asked.wait_ms = in->config.predict_wait_ms;
    in->asked.min_parties = wanted->min_parties > 0 ? wanted->min_parties : configured;
    if (in->asked.min_parties > in->roster.n)
        return error_set(err, STATUS_CONFIG, "%s %u: the roster has %zu parties",
                         wanted->min_parties > 0 ? "--min-parties" : "predict.min_parties",
                         in->asked.min_parties, in->roster.n);
    if (!exact || in->asked.min_parties == 0 || in->asked.min_parties == in->roster.n)
        return STATUS_OK;
    if (wanted->min_parties > 0)
        return error_set(
            err, STATUS_CONFIG,
            "--min-parties %u: the model's sums are without noise, so that one without "
            "a party would show what is that party's, beside one of all",
            wanted->min_parties);
    log_info("predict.min_parties: not of this model, whose sums are without noise");
    in->asked.min_parties = 0;
    return STATUS_OK;
}

/* What no party would take part in is not asked of any. */
static enum status check_model(struct server_inputs *in, const struct server_wanted *wanted,
                               struct error *err)
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
    return take_least(in, wanted, &p, err);
}

/* Who is left out, as kept answers have it. */
static struct answers_key key_of(const struct server_inputs *in)
{
    struct answers_key key = {.epoch = in->config.epoch, .outputs = in->model.plan.shape.outputs};

    answers_missing(key.absent, in->asked.absent, in->roster.n);
    if (in->asked.placed != NULL)
        digest_hex(key.alignment, in->listed.placed.places.digest,
                   sizeof in->listed.placed.places.digest);
    return key;
}

/* What was answered before is not asked again. */
static enum status find_missing(struct server_inputs *in, struct error *err)
{
    const struct answers_key key = key_of(in);
    enum status s;

    in->answers = mem_alloc(1, sizeof *in->answers);
    if (in->answers == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for kept answers");
    s = in->asks.n > 0 ? STATUS_OK /* of which none is kept */
                       : answers_open(in->answers, in->home, in->model.run, &key, err);
    if (s == STATUS_OK)
        s = ids_missing(&in->missing, &in->wanted, in->answers, err);
    in->asked.ids = (const char *)in->missing.text.data;
    in->asked.at = in->missing.at;
    in->asked.rows = in->missing.n;
    return s;
}

static enum status load_model(struct server_inputs *in, const struct server_wanted *wanted,
                              struct error *err)
{
    char found[PACKAGE_RUN_MAX + 1];
    enum status s = models_load(in->home, wanted->run, &in->model, err);

    if (s == STATUS_OK && in->model.role != PACKAGE_HEAD)
        s = error_set(err, STATUS_CONFIG, "%s/models: run %s has a bottom", in->home,
                      in->model.run);
    if (s == STATUS_OK)
        s = package_tells(in->model.trail, in->model.run, err);
    if (s == STATUS_OK) /* that it is the only one of its run */
        s = models_find(in->home, in->model.plan_sha256, in->model.trail, found, err);
    if (s == STATUS_OK)
        s = read_absent(in, wanted->absent, err);
    if (s == STATUS_OK)
        s = take_name(in, wanted->by, err);
    if (s == STATUS_OK)
        s = check_model(in, wanted, err);
    in->config.plan = in->model.plan;
    in->asked.model = &in->model;
    return s;
}

/* What no party would answer is not asked of any. */
static enum status load_places(struct server_inputs *in, const struct server_wanted *wanted,
                               struct error *err)
{
    struct plan p;
    enum status s = placed_open(&in->listed.placed, in->home, wanted->alignment, err);

    if (s == STATUS_OK)
        s = prediction_plan(&p, &in->model.plan, in->model.reach, err);
    if (s == STATUS_OK && in->listed.placed.file.labelled && prediction_is_exact(&p))
        s = error_set(err, STATUS_CONFIG, PREDICTION_LABELLED, wanted->alignment);
    if (s == STATUS_OK)
        s = ids_read_placed(&in->wanted, wanted->ids, &in->listed.placed, err);
    in->asked.placed = &in->listed.placed;
    return s;
}

static enum status load_wanted(struct server_inputs *in, const struct server_wanted *wanted,
                               struct error *err)
{
    enum status s = load_model(in, wanted, err);

    if (s == STATUS_OK)
        s = wanted->alignment != NULL ? load_places(in, wanted, err)
                                      : ids_read(&in->wanted, wanted->ids, err);
    if (s == STATUS_OK && wanted->contributed != NULL)
        s = contributed_ask(in, wanted->contributed, err);
    in->asked.asks = in->asks.n > 0 ? &in->asks : NULL;
    return s == STATUS_OK ? find_missing(in, err) : s;
}

static void begin(struct server_inputs *in)
{
    ids_init(&in->wanted);
    ids_init(&in->missing);
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

static void begin_errand(struct server_inputs *in, const struct server_inputs *whole)
{
    memset(in, 0, sizeof *in);
    in->config = whole->config;
    in->head.program = whole->head.program;
    in->roster = whole->roster;
    snprintf(in->home, sizeof in->home, "%s", whole->home);
    begin(in);
}

enum status server_asked_open(struct server_inputs *in, const struct server_inputs *whole,
                              const char *run, struct error *err)
{
    const struct server_wanted wanted = {.run = run};

    begin_errand(in, whole);
    return load_model(in, &wanted, err);
}

enum status server_asked_errand(struct server_inputs *in, const struct server_inputs *whole,
                                const struct server_wanted *wanted, struct error *err)
{
    begin_errand(in, whole);
    return load_wanted(in, wanted, err);
}

void server_asked_print(const struct server_inputs *in)
{
    const struct package *m = &in->model;
    const char *of = task_of(&m->plan)->scores == TASK_OF_LABELS ? "label" : "class";
    char name[LEVELS_TEXT_MAX + 1];

    if (in->asks.n > 0) {
        contributed_print(in);
        return;
    }
    printf("# %u rows, by the model of run %s, %u to be asked for\n", in->wanted.n, m->run,
           in->asked.rows);
    if (in->asked.placed != NULL)
        printf("# rows are asked for by their places in alignment %s\n",
               in->listed.placed.file.name);
    for (uint32_t k = 0; m->classes != NULL && k < package_classes(&m->plan); k++) {
        package_class(m, k, name, sizeof name);
        printf("# %s %u is \"%s\"\n", of, k, name);
    }
}
