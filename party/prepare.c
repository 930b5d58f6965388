/* prepare.c -- reading what a party is given.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/prepare.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/daemon/absent.h"
#include "common/daemon/models.h"
#include "common/data/classes.h"
#include "common/data/intake.h"
#include "common/data/schema_fit.h"
#include "common/data/schema_text.h"
#include "common/data/validate.h"
#include "common/nn/safetensors.h"

#include <string.h>

enum { WEIGHTS_MAX = 1 << 30 }; /* bytes of first weights */

static enum status check_pin(const struct party_inputs *in, struct error *err)
{
    const char *pin = in->config.policy.roster_sha256;
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, in->roster.digest, sizeof in->roster.digest);
    if (pin[0] == 0 || strcmp(pin, hex) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_POLICY,
                     "policy.roster_sha256: %s has the digest %s, not the pinned one",
                     in->config.roster, hex);
}

enum status party_inputs_identify(struct party_inputs *in, const char *file,
                                  const char *const *sets, size_t n, struct error *err)
{
    uint8_t spki[SIGN_SPKI_DIGEST_BYTES];
    enum status s;
    int self;

    memset(in, 0, sizeof *in);
    package_init(&in->model);
    buf_init(&in->bottom.weights, WEIGHTS_MAX);
    s = config_load_party(&in->config, file, sets, n, err);
    if (s == STATUS_OK)
        s = folder_check(in->config.state, err);
    if (s == STATUS_OK) /* there is no key yet */
        s = program_new(&in->bottom.program, PROGRAM_BOTTOM, &in->config.program, in->config.stand,
                        err);
    if (s == STATUS_OK)
        s = roster_load(&in->roster, in->config.roster, err);
    if (s == STATUS_OK)
        s = check_pin(in, err);
    if (s == STATUS_OK)
        s = sign_key_load(&in->key, in->config.identity.key, err);
    if (s != STATUS_OK)
        return s;
    sign_spki_digest(spki, in->key.public_key);
    self = roster_find_key(&in->roster, spki);
    if (self < 0)
        return error_set(err, STATUS_CONFIG, "identity.key: this key is not in the roster %s",
                         in->config.roster);
    in->self = (uint32_t)self;
    return STATUS_OK;
}

enum status party_inputs_roster(const struct party_inputs *in, bool *changed, struct error *err)
{
    const struct roster *old = &in->roster;
    const char *gone = NULL;
    struct roster fresh;
    enum status s = roster_load(&fresh, in->config.roster, err);

    *changed = false;
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < old->n && gone == NULL; i++)
        if (roster_find_key(&fresh, old->party[i].key) < 0)
            gone = old->party[i].name;
    if (memcmp(fresh.server.key, old->server.key, ROSTER_KEY_BYTES) != 0)
        gone = old->server.name;
    if (gone != NULL)
        return error_set(err, STATUS_POLICY, "%s: %s is no longer in it, with the key of this run",
                         in->config.roster, gone);
    *changed = memcmp(fresh.digest, old->digest, sizeof old->digest) != 0;
    return STATUS_OK;
}

static enum status same_columns(const struct party_inputs *in, struct error *err)
{
    const struct table *a = &in->train, *b = &in->test;

    if (a->cols != b->cols)
        return error_set(err, STATUS_DATA, "%s: %zu feature columns, %s has %zu",
                         in->config.data_test, b->cols, in->config.data_train, a->cols);
    for (size_t c = 0; c < a->cols && a->names != NULL && b->names != NULL; c++) {
        const char *x = a->names + c * TABLE_NAME_MAX, *y = b->names + c * TABLE_NAME_MAX;
        if (strcmp(x, y) != 0)
            return error_set(err, STATUS_DATA, "%s: column %zu is \"%s\", in %s it is \"%s\"",
                             in->config.data_test, c + 2, y, in->config.data_train, x);
    }
    return STATUS_OK;
}

static bool are_same(const struct scale *a, const struct scale *b)
{
    return memcmp(a->mean, b->mean, a->cols * sizeof *a->mean) == 0 &&
           memcmp(a->sd, b->sd, a->cols * sizeof *a->sd) == 0;
}

/* Of levels alone a scale leaves all as it is, whoever made it. */
static bool says_something(const struct scale *s)
{
    for (size_t i = 0; i < s->cols; i++)
        if (s->mean[i] != 0 || s->sd[i] != 1)
            return true;
    return false;
}

/* An operator's word cannot be checked, but this mistake can: figures that are these records' own
 * to the last digit, of all columns or of those that are no levels. */
static enum status check_given(const struct scale *given, const struct party_inputs *in,
                               struct error *err)
{
    struct scale fitted = {0};
    enum status s = scale_fit(&fitted, &in->train);
    bool own = s == STATUS_OK && are_same(&fitted, given);

    if (s == STATUS_OK)
        schema_spare_levels(&in->schema, &fitted);
    own = own || (s == STATUS_OK && says_something(&fitted) && are_same(&fitted, given));
    if (s != STATUS_OK)
        error_set(err, s, "data.scale: %s", status_words(s));
    else if (own)
        s = error_set(err, STATUS_CONFIG,
                      "data.scale_given: %s holds just what fit makes of %s, so it was made of "
                      "these records",
                      in->config.scale, in->config.data_train);
    scale_deinit(&fitted);
    return s;
}

static enum status scale_tables(struct party_inputs *in, struct error *err)
{
    const char *how = in->config.scale;
    struct scale *scale = &in->fitted.scale;
    enum status s;

    if (strcmp(how, "none") == 0)
        return STATUS_OK;
    if (strcmp(how, "dp") == 0) {
        s = drawn_scale(&in->fitted.drawn, scale, &in->schema, in->train.rows, err);
    } else if (strcmp(how, "fit") == 0) {
        s = scale_fit(scale, &in->train);
        if (s != STATUS_OK)
            error_set(err, s, "data.scale: %s", status_words(s));
        else
            schema_spare_levels(&in->schema, scale);
    } else {
        s = scale_load(scale, how, &in->train, err);
        if (s == STATUS_OK && !schema_is_spared(&in->schema, scale))
            s = error_set(err, STATUS_CONFIG,
                          "data.scale: %s: a column that the schema embeds is the number of its "
                          "level, and needs mean 0 and sd 1",
                          how);
        if (s == STATUS_OK && in->config.scale_given && in->train.rows > 0)
            s = check_given(scale, in, err);
    }
    if (s != STATUS_OK)
        return s;
    scale_apply(scale, &in->train);
    if (in->test.rows > 0)
        scale_apply(scale, &in->test);
    return STATUS_OK;
}

void party_inputs_limit(struct party_inputs *in)
{
    const size_t beyond = table_limit(&in->train) + table_limit(&in->test);

    if (beyond > 0)
        log_warn("%zu feature values were beyond %g and cut off there: see data.scale", beyond,
                 (double)TABLE_VALUE_LIMIT);
}

/* The same records in the same order, or labels would go to others. */
static enum status read_labels(struct party_inputs *in, struct error *err)
{
    const struct config_party *c = &in->config;
    const struct classes_want want = {.positive = c->labels_positive,
                                      .group = c->validate_by == VALIDATE_GROUP ? c->group : NULL,
                                      .time = c->validate_by == VALIDATE_TIME ? c->time : NULL,
                                      .places = placed_places(&in->listed.placed.train)};
    struct classes classes = {0};
    enum status s = classes_read(&classes, &in->labels, c->labels_train, &want, err);

    classes_deinit(&classes);
    return s != STATUS_OK || table_same_ids(&in->labels, &in->train)
               ? s
               : table_differ(&in->labels, "data.labels.train", &in->train, in->config.data_train,
                              err);
}

/* Weights that say which columns they are for are for no others. */
static enum status check_package(const struct party_inputs *in, struct error *err)
{
    struct package p;
    enum status s;

    package_init(&p);
    s = package_parse(&p, in->bottom.weights.data, in->bottom.weights.len, err);
    if (s == STATUS_OK && p.role != PACKAGE_BOTTOM)
        s = error_set(err, STATUS_DATA, "it is a head's package");
    if (s == STATUS_OK)
        s = package_columns(&p, &in->schema, &in->train, err);
    package_deinit(&p);
    return s;
}

/* Whether they fit a plan is seen when there is one; that they are numbers is seen now, before a
 * word is said to anybody. */
static enum status read_weights(struct party_inputs *in, struct error *err)
{
    enum status s = file_read(in->config.load, &in->bottom.weights, err);

    /* What a program saves only it understands. */
    if (s == STATUS_OK && in->config.program.command.n > 0 &&
        !package_is(in->bottom.weights.data, in->bottom.weights.len))
        return s;
    if (s == STATUS_OK)
        s = safetensors_numbers(in->bottom.weights.data, in->bottom.weights.len, err);
    if (s == STATUS_OK && package_is(in->bottom.weights.data, in->bottom.weights.len))
        s = check_package(in, err);
    if (s == STATUS_DATA)
        error_wrap(err, "model.load: %s", in->config.load);
    return s;
}

/* A record counts as one person's, whichever table it is in. */
static enum status same_persons(const struct party_inputs *in, const struct group *g,
                                struct error *err)
{
    const size_t row = group_at_odds(g, &in->train, &in->test);

    if (row == in->test.rows)
        return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "%.160s: data.group: row %zu by id is in %.160s too, with another value in "
                     "column \"%s\"",
                     in->config.data_test, row + 1, in->config.data_train, in->config.group);
}

static struct group_from persons_from(const struct party_inputs *in, const char *path)
{
    return (struct group_from){.path = path,
                               .places = placed_places(&in->listed.placed.train),
                               .source.table = in->config.table,
                               .id = in->schema.id,
                               .column = in->config.group};
}

static enum status read_persons(struct party_inputs *in, struct error *err)
{
    struct group_from from = persons_from(in, in->config.data_train);
    struct group g = {0};
    enum status s = group_read(&g, &from, &in->train, err);

    from.path = in->config.data_test;
    from.places = placed_places(&in->listed.placed.test);
    if (s == STATUS_OK && in->test.rows > 0)
        s = group_read(&g, &from, &in->test, err);
    if (s == STATUS_OK)
        s = group_number(&g, err);
    if (s == STATUS_OK)
        s = same_persons(in, &g, err);
    if (s == STATUS_OK)
        s = persons_init(&in->persons, &g, in->train.rows, err);
    group_deinit(&g);
    return s;
}

/* The rows decide what columns are and which features they make, unless something that others see
 * or claims for single records hang on it: then there is nothing to decide, and all are numbers.
 * Others see how many features there are where a plan can be refused for it: weights that were
 * loaded may not fit, nor may data.shape, and a bottom under dp may be too large for its noise
 * (threats G1). */
bool party_rows_may_decide(const struct config_party *c)
{
    return c->degree == 0 && c->load[0] == 0 && c->shape.n == 0 && c->train != TRAIN_DP &&
           (c->train == TRAIN_RAW || strcmp(c->scale, "fit") == 0);
}

/* For a rule by time, of the training rows as they were read; else NULL.  The caller frees them. */
static enum status read_places(const struct party_inputs *in, uint32_t **place, struct error *err)
{
    const struct config_party *c = &in->config;
    const struct group_from from = {.path = c->data_train,
                                    .places = placed_places(&in->listed.placed.train),
                                    .source.table = c->table,
                                    .id = in->schema.id,
                                    .column = c->time};

    if (!(c->validate > 0) || c->validate_by != VALIDATE_TIME)
        return STATUS_OK;
    return group_places(place, &from, &in->train, err);
}

/* data.schema, which knows nothing of data.group and data.time: these columns are no features. */
static enum status load_schema(struct party_inputs *in, struct error *err)
{
    const struct config_party *c = &in->config;
    enum status s = schema_load(&in->schema, c->schema, err);
    bool embeds = false;

    if (s != STATUS_OK)
        return error_wrap(err, "data.schema");
    for (size_t i = 0; i < in->schema.n; i++) {
        embeds = embeds || in->schema.column[i].embedded;
        if (strcmp(in->schema.column[i].name, c->group) == 0 ||
            strcmp(in->schema.column[i].name, c->time) == 0)
            in->schema.column[i].kind = SCHEMA_IGNORED;
    }
    if (c->degree > 0 && embeds)
        return error_set(err, STATUS_CONFIG,
                         "data.schema: %s: encode: embedding, of a polynomial bottom "
                         "(model.polynomial.degree), which has no tables of vectors",
                         c->schema);
    if (in->schema.dp && placed_lacks(&in->listed.placed))
        return error_set(err, STATUS_CONFIG,
                         "data.schema: statistics: dp, of an alignment of labelled rows: which "
                         "rows they are sums over, and how many their charge is for, would tell "
                         "which of these are here");
    if (in->schema.dp)
        return drawn_begin(&in->fitted.drawn, c, &in->schema, err);
    if (in->schema.given || party_rows_may_decide(c))
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG,
                     "data.schema: %s: statistics: fit, where a claim for single records, or the "
                     "number of inputs that others are told, may not hang on the records",
                     c->schema);
}

void party_inputs_say_unexpected(const char *path, size_t unseen, size_t filled)
{
    if (unseen + filled > 0)
        log_warn("%s: %zu texts that no training row has, %zu missing cells in columns where none "
                 "is missing there",
                 path, unseen, filled);
}

/* Of both tables, once they have the rows that they end with. */
static enum status apply_schema(struct party_inputs *in, struct error *err)
{
    const struct config_party *c = &in->config;
    const char *tested = c->validate > 0 ? "rows to choose and to test by" : c->data_test;
    size_t unseen = 0, filled = 0;
    enum status s = schema_apply(&in->schema, &in->train, &unseen, &filled, err);

    if (s != STATUS_OK)
        return error_wrap(err, "%s", c->data_train);
    if (in->test.cols == 0)
        return STATUS_OK;
    /* Of no row, too, where rows that are not here will be in it: it has the same columns. */
    s = schema_apply(&in->schema, &in->test, &unseen, &filled, err);
    if (s != STATUS_OK)
        return error_wrap(err, "%s", tested);
    party_inputs_say_unexpected(tested, unseen, filled);
    return STATUS_OK;
}

static struct validate_rule rule_of(const struct party_inputs *in, const struct group *g,
                                    const uint32_t *place)
{
    return (struct validate_rule){.share = in->config.validate,
                                  .by = in->config.validate_by,
                                  .group = g,
                                  .place = place,
                                  .may_lack = in->listed.placed.train.may_lack};
}

static enum status fit_to(struct party_inputs *in, const struct validate *left, struct error *err)
{
    return placed_lacks(&in->listed.placed) ? schema_fit_some(&in->schema, &in->train, left, err)
                                            : schema_fit(&in->schema, &in->train, left, err);
}

/* Rows that are kept back decide as little of what a column is as test rows do. */
static enum status fit_schema(struct party_inputs *in, const uint32_t *place, struct error *err)
{
    const struct group_from from = persons_from(in, in->config.data_train);
    struct validate_rule rule;
    struct validate left = {0};
    struct group g = {0};
    enum status s = STATUS_OK;

    if (!(in->config.validate > 0) || in->schema.n == 0)
        return fit_to(in, NULL, err);
    rule = rule_of(in, &g, place);
    if (rule.by == VALIDATE_GROUP)
        s = group_read(&g, &from, &in->train, err);
    if (s == STATUS_OK)
        s = validate_choose(&left, &in->train, &rule, err);
    group_deinit(&g);
    if (s == STATUS_OK)
        s = fit_to(in, &left, err);
    validate_deinit(&left);
    return s;
}

/* Cells as they were read: they become features when it is known which rows are trained on. */
static enum status read_tables(struct party_inputs *in, uint32_t **place, struct error *err)
{
    const struct config_party *c = &in->config;
    const bool decide = party_rows_may_decide(c);
    struct intake_want want = {.source.table = c->table,
                               .places = placed_places(&in->listed.placed.train),
                               .group = c->group[0] != 0 ? c->group : NULL,
                               .time = c->time[0] != 0 ? c->time : NULL,
                               .kind = decide ? SCHEMA_AUTO : SCHEMA_NUMBER,
                               .complete = !decide,
                               .mapped = c->data_mapped,
                               .limits = &INTAKE_LIMITS};
    enum status s = c->schema[0] != 0 ? load_schema(in, err) : STATUS_OK;

    if (s == STATUS_OK && strcmp(c->scale, "dp") == 0 && !in->schema.dp)
        s = error_set(err, STATUS_CONFIG,
                      "data.scale: dp, but no data.schema that says statistics: dp");
    if (s == STATUS_OK)
        s = intake_read(&in->train, &in->schema, c->data_train, &want, err);
    if (s == STATUS_OK && c->schema[0] != 0 && in->train.names == NULL)
        s = error_set(err, STATUS_CONFIG, "data.schema: the columns of %s have no names",
                      c->data_train);
    if (s == STATUS_OK)
        s = read_places(in, place, err);
    if (s == STATUS_OK && decide && !in->schema.dp)
        s = fit_schema(in, *place, err);
    if (s != STATUS_OK || c->data_test[0] == 0)
        return s;
    want.places = placed_places(&in->listed.placed.test);
    s = intake_read(&in->test, &in->schema, c->data_test, &want, err);
    return s == STATUS_OK ? same_columns(in, err) : s;
}

static enum status copy_columns(const struct party_inputs *in, struct package *p)
{
    const struct table *t = &in->train;
    const size_t cols = in->fitted.scale.cols;

    p->cols = t->cols;
    if (t->names != NULL) {
        p->names = mem_alloc(t->cols, TABLE_NAME_MAX);
        if (p->names == NULL)
            return STATUS_MEMORY;
        memcpy(p->names, t->names, t->cols * TABLE_NAME_MAX);
    }
    if (cols == 0)
        return STATUS_OK;
    if (scale_init(&p->scale, cols) != STATUS_OK)
        return STATUS_MEMORY;
    memcpy(p->scale.mean, in->fitted.scale.mean, cols * sizeof *p->scale.mean);
    memcpy(p->scale.sd, in->fitted.scale.sd, cols * sizeof *p->scale.sd);
    return STATUS_OK;
}

enum status party_inputs_columns(const struct party_inputs *in, struct package *p,
                                 struct error *err)
{
    enum status s = schema_copy(&p->schema, &in->schema, err);

    if (s != STATUS_OK)
        return s;
    s = copy_columns(in, p);
    return s == STATUS_OK ? s : error_set(err, s, "model package: %s", status_words(s));
}

/* Whether the model's package can be written is a matter of records; so it is seen now, before
 * anything is said. */
static enum status check_kept(const struct party_inputs *in, struct error *err)
{
    struct package p;
    enum status s;

    package_init(&p);
    s = party_inputs_columns(in, &p, err);
    if (s == STATUS_OK)
        s = package_room(&p, err);
    package_deinit(&p);
    return s == STATUS_OK ? s : error_wrap(err, "data.train");
}

/* Rows to choose by are none to train on, nor to fit anything to. */
static enum status keep_back(struct party_inputs *in, const uint32_t *place, struct error *err)
{
    struct validate v = {0};
    const struct validate_rule rule = rule_of(in, &in->persons.group, place);
    enum status s = validate_split(&v, &in->train, &in->test, &rule, err);

    if (s == STATUS_OK && persons_named(&in->persons))
        s = persons_split(&in->persons, &v, err);
    if (s == STATUS_OK && in->labels.rows > 0)
        s = validate_cut(&v, &in->labels, err);
    in->kept_back = v.train - v.left;
    validate_deinit(&v);
    return s;
}

/* data.alignment and that of the test rows. */
static enum status open_places(struct party_inputs *in, struct error *err)
{
    const struct config_party *c = &in->config;
    const struct placed_names names = {.key = "data",
                                       .may_lack = true,
                                       .align_key = c->align.key,
                                       .train = c->data_alignment,
                                       .test = c->data_alignment_test,
                                       .test_file = c->data_test,
                                       .by_order =
                                           c->validate > 0 && c->validate_by == VALIDATE_ORDER};
    const enum status s = placed_open_pair(&in->listed.placed, c->state, &names, err);

    return s == STATUS_OK ? absent_check(&in->listed.placed, c, err) : s;
}

enum status party_inputs_read(struct party_inputs *in, bool looks, struct error *err)
{
    const char *column = in->config.group;
    uint32_t *place = NULL;
    enum status s = open_places(in, err);

    if (s == STATUS_OK)
        s = read_tables(in, &place, err);
    if (s == STATUS_OK && column[0] != 0)
        s = read_persons(in, err);
    if (s == STATUS_OK && in->config.labels_train[0] != 0)
        s = read_labels(in, err);
    if (s == STATUS_OK) {
        placed_show(&in->listed.placed.train, &in->train, in->config.data_train);
        placed_show(&in->listed.placed.test, &in->test, in->config.data_test);
    }
    if (s == STATUS_OK && in->config.validate > 0)
        s = keep_back(in, place, err);
    mem_free(place);
    if (s == STATUS_OK && in->schema.dp)
        s = drawn_make(&in->fitted.drawn, &in->schema, &in->train, &in->persons, looks, err);
    if (s == STATUS_OK)
        s = apply_schema(in, err);
    if (s == STATUS_OK && in->config.load[0] != 0)
        s = read_weights(in, err);
    if (s == STATUS_OK)
        s = scale_tables(in, err);
    if (s == STATUS_OK)
        s = check_kept(in, err);
    if (s == STATUS_OK)
        party_inputs_limit(in);
    if (s == STATUS_OK)
        s = absent_fill(&in->listed.placed, &in->train, &in->test, in->config.validate, err);
    CHECK(s != STATUS_OK || in->test.rows == 0 || in->test.cols == in->train.cols);
    if (in->train.lacks != NULL)
        in->kept_back = in->listed.placed.train.file.n - in->train.rows;
    placed_close_pair(&in->listed.placed);
    return s;
}

enum status party_inputs_listed(struct party_inputs *in, bool alone, struct error *err)
{
    in->listed.alone = alone;
    if (in->config.align.table[0] != 0)
        return idlist_read(&in->listed.ids, &in->config.align, err);
    return alone ? error_set(err, STATUS_CONFIG, "align.table: there is none, for --align")
                 : STATUS_OK;
}

void party_inputs_deinit(struct party_inputs *in)
{
    program_free(in->bottom.program);
    idlist_deinit(&in->listed.ids);
    placed_close_pair(&in->listed.placed);
    table_deinit(&in->train);
    table_deinit(&in->test);
    table_deinit(&in->labels);
    scale_deinit(&in->fitted.scale);
    package_deinit(&in->model);
    sign_key_deinit(&in->key);
    buf_deinit(&in->bottom.weights);
    persons_deinit(&in->persons);
    schema_deinit(&in->schema);
    drawn_deinit(&in->fitted.drawn);
}
