/* package.c -- a package as a file: metadata (package_text.h), then weights.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/package.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/config/plan_head.h"
#include "common/config/task.h"
#include "common/daemon/embedded.h"
#include "common/daemon/package_text.h"
#include "common/nn/layer.h"
#include "common/nn/safetensors.h"
#include "common/nn/safetensors_header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void package_init(struct package *p)
{
    *p = (struct package){.spread = 1, .temperature = 1};
    buf_init(&p->file, SIZE_MAX);
}

void package_deinit(struct package *p)
{
    schema_deinit(&p->schema);
    mem_free(p->names);
    scale_deinit(&p->scale);
    mem_free(p->classes);
    buf_deinit(&p->file);
    p->names = p->classes = NULL;
}

/* Behind a backslash each byte of a plan or a class's name is two. */
_Static_assert(4 * PLAN_TEXT_MAX + 4 * PACKAGE_SCORE_MAX + 16384 < PACKAGE_RUN_TEXT_MAX,
               "what a run adds");
/* Up to its trail: the keys before it, and what they say. */
enum { PACKAGE_HEAD_MAX = 2 * PLAN_TEXT_MAX + 1024 };

_Static_assert(2 * PLAN_CLASSES_MAX * (LEVELS_TEXT_MAX + 1) <
                   PACKAGE_TEXT_MAX - PACKAGE_RUN_TEXT_MAX,
               "a name for each class");

enum status package_room(const struct package *p, struct error *err)
{
    struct buf text;
    enum status s;

    buf_init(&text, PACKAGE_TEXT_MAX - PACKAGE_RUN_TEXT_MAX);
    s = package_text_print_columns(p, &text);
    buf_deinit(&text);
    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_DATA,
                         "what is made of the columns cannot be kept: with the names of %zu "
                         "features it is over %d MiB in a model package",
                         p->cols, (PACKAGE_TEXT_MAX - PACKAGE_RUN_TEXT_MAX) >> 20);
    return s == STATUS_OK ? s : error_set(err, s, "model package: %s", status_words(s));
}

enum status package_print(struct package *p, const struct nn_net *n, struct buf *out,
                          struct error *err)
{
    struct buf metadata;
    enum status s;

    buf_init(&metadata, PACKAGE_TEXT_MAX);
    p->spec = n->spec;
    out->len = 0;
    s = package_text_print(p, &metadata);
    if (s == STATUS_OK)
        s = safetensors_print_with(n, (const char *)metadata.data, out);
    buf_deinit(&metadata);
    return s == STATUS_OK ? s : error_set(err, s, "model package: %s", status_words(s));
}

static enum status score_lines(struct buf *b, const char *split, const struct score *s)
{
    enum status st = STATUS_OK;

    for (int m = 0; st == STATUS_OK && m < SCORE_METRICS; m++)
        if (s->has[m] && isfinite(s->value[m]))
            st = buf_printf(b, "%s.%s=%.6g\n", split, score_names[m], s->value[m]);
    return st;
}

void package_score(char out[PACKAGE_SCORE_MAX], const struct score *train,
                   const struct score *validate, const struct score *test)
{
    struct buf b;

    buf_init(&b, PACKAGE_SCORE_MAX - 1);
    out[0] = 0;
    if (score_lines(&b, "train", train) == STATUS_OK &&
        score_lines(&b, "validate", validate) == STATUS_OK &&
        score_lines(&b, "test", test) == STATUS_OK)
        snprintf(out, PACKAGE_SCORE_MAX, "%.*s", (int)b.len, b.len > 0 ? (char *)b.data : "");
    buf_deinit(&b);
}

/* --- reading --- */

static size_t features_of(const struct schema *s)
{
    size_t width = 0;

    for (size_t i = 0; i < s->n; i++)
        width += schema_width(&s->column[i]);
    return width;
}

static size_t names_of(const char *lines)
{
    size_t n = 0;

    for (const char *at = lines; at != NULL && *at != 0; at++)
        n += *at == '\n';
    return n;
}

/* Of the head's spec, what its plan alone says: that it has stand-ins. */
static void add_table(struct package *p)
{
    if (p->role != PACKAGE_HEAD || !(p->plan.training.party_dropout > 0))
        return;
    p->spec.table.rows = p->plan.shape.parties;
    p->spec.table.width = p->plan.model.embedding;
}

/* And of a bottom's, what its schema alone says: that its first layer has tables. */
static enum status check_embedded(struct package *p, struct error *err)
{
    struct nn_spec *spec = &p->spec;

    spec->embedded = embedded_of(&p->schema);
    if (spec->embedded.n == 0)
        return STATUS_OK;
    if (spec->layers < 2 || spec->layer[0].kind != NN_DENSE)
        return error_set(err, STATUS_DATA, "its schema embeds columns, and its layers do not");
    spec->layer[0].kind = NN_EMBEDDING;
    if (!layer_kind_of(spec, 0)->fits(spec, 0))
        return error_set(err, STATUS_DATA, "its first layer is not that of its schema");
    return schema_is_spared(&p->schema, &p->scale)
               ? STATUS_OK
               : error_set(err, STATUS_DATA, "it standardises the numbers of levels");
}

/* Does it fit the plan that stands in it? */
static enum status check_shape(const struct package *p, struct error *err)
{
    const struct nn_spec *spec = &p->spec;
    const struct plan *plan = &p->plan;
    const uint32_t fused = plan_head_inputs(plan);
    const bool head = p->role == PACKAGE_HEAD;
    const char *why;

    if (spec->width[0] != (head ? fused : (uint32_t)p->cols) ||
        spec->width[spec->layers] != (head ? plan->shape.outputs : plan->model.embedding) ||
        (!head && spec->layers == 0))
        return error_set(err, STATUS_DATA, "its layers are not those of its plan");
    if (head && spec->layers > 0 && spec->layer[0].kind == NN_OUTSIDE &&
        plan_head_needs_layers(plan, &why) != NULL)
        return error_set(err, STATUS_DATA,
                         "a program computes its head, and its plan needs layers");
    if (!nn_spec_fits(spec))
        return error_set(err, STATUS_DATA, "its layers are none that follow one another");
    if (p->reach > 0 && !aggregation_of(plan)->polynomial)
        return error_set(err, STATUS_DATA, "its plan cuts embeddings off, and it says otherwise");
    if ((p->made == ACCOUNT_DP) != (p->noise > 0))
        return error_set(err, STATUS_DATA, "noise without model.train dp, or dp without noise");
    if (p->schema.n > 0 && (head || features_of(&p->schema) != p->cols))
        return error_set(err, STATUS_DATA, "its schema does not make its columns");
    if (p->classes != NULL && (!head || names_of(p->classes) != package_classes(plan)))
        return error_set(err, STATUS_DATA, "it has not a name for each of its classes");
    return STATUS_OK;
}

static enum status check_weights(const struct package *p, size_t data_bytes, struct error *err)
{
    if (nn_spec_params(&p->spec) == data_bytes / sizeof(float))
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "its weights are not as many as its layers have");
}

enum status package_parse(struct package *p, const uint8_t *bytes, size_t n, struct error *err)
{
    struct safetensors_text metadata = {NULL, 0};
    size_t data_bytes = 0;
    enum status s = safetensors_metadata(&metadata, &data_bytes, bytes, n, err);

    if (s == STATUS_OK && (metadata.len == 0 || metadata.len > PACKAGE_TEXT_MAX))
        s = error_set(err, STATUS_DATA, "weights without the metadata of a model package");
    if (s == STATUS_OK)
        s = package_text_read(p, &metadata, err);
    if (s == STATUS_OK) {
        add_table(p);
        s = check_shape(p, err);
    }
    if (s == STATUS_OK)
        s = check_embedded(p, err);
    if (s == STATUS_OK)
        s = check_weights(p, data_bytes, err);
    if (s == STATUS_OK && p->file.data != bytes) {
        p->file.len = 0;
        s = buf_append(&p->file, bytes, n);
        if (s != STATUS_OK)
            error_set(err, s, "%s", status_words(s));
    }
    return s;
}

bool package_is(const uint8_t *bytes, size_t n)
{
    static const char begins[] = "{\"format\":\"colonnade-model/";
    struct safetensors_text metadata = {NULL, 0};
    struct error ignored = {0};
    size_t data_bytes;

    return safetensors_metadata(&metadata, &data_bytes, bytes, n, &ignored) == STATUS_OK &&
           metadata.len >= sizeof begins && memcmp(metadata.at, begins, sizeof begins - 1) == 0;
}

enum status package_load(struct package *p, const char *path, struct error *err)
{
    enum status s = file_read_own(path, &p->file, err);

    if (s != STATUS_OK)
        return s;
    s = package_parse(p, p->file.data, p->file.len, err);
    return s == STATUS_OK ? s : error_wrap(err, "%s", path);
}

/* What this program has written begins with its metadata, and that with what it is of. */
static enum status peek(struct package *p, const struct buf *head, struct error *err)
{
    static const char begins[] = "{\"__metadata__\":";
    enum { LENGTH_BYTES = 8, METADATA = LENGTH_BYTES + sizeof begins - 1 };
    struct safetensors_text metadata;

    if (head->len <= METADATA || memcmp(head->data + LENGTH_BYTES, begins, sizeof begins - 1) != 0)
        return error_set(err, STATUS_DATA, "it is no model package");
    metadata = (struct safetensors_text){(const char *)head->data + METADATA, head->len - METADATA};
    return package_text_peek(p, &metadata, err);
}

enum status package_peek(struct package *p, const char *path, struct error *err)
{
    struct error longer = {0};
    struct buf head;
    enum status s;

    buf_init(&head, PACKAGE_HEAD_MAX);
    s = file_read_own(path, &head, &longer);
    if (s == STATUS_OK || s == STATUS_LIMIT) {
        s = peek(p, &head, err);
        if (s != STATUS_OK)
            error_wrap(err, "%s", path);
    } else {
        *err = longer;
    }
    buf_deinit(&head);
    return s;
}

enum status package_columns(const struct package *p, const struct schema *s, const struct table *t,
                            struct error *err)
{
    if (p->cols != t->cols)
        return error_set(err, STATUS_DATA, "it is for %zu columns, the data has %zu", p->cols,
                         t->cols);
    for (size_t c = 0; p->names != NULL && t->names != NULL && c < t->cols; c++) {
        const char *want = p->names + c * TABLE_NAME_MAX, *is = t->names + c * TABLE_NAME_MAX;

        if (strcmp(want, is) != 0)
            return error_set(err, STATUS_DATA, "its column %zu is \"%s\", in the data it is \"%s\"",
                             c + 1, want, is);
    }
    return schema_embeds_as(&p->schema, s)
               ? STATUS_OK
               : error_set(err, STATUS_DATA,
                           "it embeds other columns or levels, or in vectors of "
                           "another length");
}

enum status package_prepare(const struct package *p, struct table *t, size_t *unseen,
                            size_t *filled, struct error *err)
{
    enum status s;

    *unseen = *filled = 0;
    if ((p->names == NULL) != (t->names == NULL))
        return error_set(err, STATUS_DATA,
                         p->names == NULL ? "it is for IDX, whose columns have no names"
                                          : "it is for columns with names, which IDX has not");
    s = schema_apply(&p->schema, t, unseen, filled, err);
    if (s == STATUS_OK)
        s = package_columns(p, &p->schema, t, err);
    if (s == STATUS_OK && p->scale.cols > 0)
        scale_apply(&p->scale, t);
    return s;
}

uint32_t package_classes(const struct plan *plan)
{
    switch (task_of(plan)->loss) {
    case TASK_SQUARED: return 0;
    case TASK_SIGMOID: return 2;
    case TASK_SOFTMAX:
    case TASK_SIGMOIDS: break;
    }
    return plan->shape.outputs;
}

void package_class(const struct package *p, uint32_t k, char *out, size_t n)
{
    const char *at = p->classes;

    for (uint32_t i = 0; at != NULL && i < k; i++)
        at = strchr(at, '\n') + 1;
    if (at == NULL)
        snprintf(out, n, "%u", k);
    else
        snprintf(out, n, "%.*s", (int)strcspn(at, "\n"), at);
}

static bool same_list(const struct config_layers *a, const struct config_layers *b)
{
    return a->n == b->n && memcmp(a->item, b->item, a->n * sizeof *a->item) == 0;
}

enum status package_continues(const struct package *p, const struct plan *plan, struct error *err)
{
    const struct plan *of = &p->plan;
    const double clip = of->protocol.clip, now = plan->protocol.clip;
    const double gain = plan_gain(of), gain_now = plan_gain(plan);
    const struct {
        const char *key;
        bool same;
    } must[] = {
        {"model.task", of->model.task == plan->model.task},
        {"model.output", of->model.output == plan->model.output},
        {"model.fusion", of->model.fusion == plan->model.fusion},
        {"model.embedding", of->model.embedding == plan->model.embedding},
        {"model.head", same_list(&of->model.head, &plan->model.head)},
        {"model.head_activation", of->model.head_activation == plan->model.head_activation},
        {"model.binary_loss", of->model.binary_loss == plan->model.binary_loss},
        {"protocol.clip", !(clip < now) && !(clip > now)},
        {"protocol.pbm.gain", !(gain < gain_now) && !(gain > gain_now)},
        {"training.party_dropout",
         (of->training.party_dropout > 0) == (plan->training.party_dropout > 0)},
        {"the number of parties", of->shape.parties == plan->shape.parties},
        {"the number of outputs", of->shape.outputs == plan->shape.outputs},
    };

    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        if (!must[i].same)
            return error_set(err, STATUS_CONFIG,
                             "training.from: %s is not that of run %s, whose model the plan goes "
                             "on from",
                             must[i].key, p->run);
    return STATUS_OK;
}

static bool same_layer(const struct nn_layer_spec *a, const struct nn_layer_spec *b)
{
    return a->kind == b->kind && a->degree == b->degree && a->groups == b->groups &&
           a->units == b->units && a->flattens == b->flattens && a->back == b->back &&
           a->beside == b->beside && a->bare == b->bare &&
           memcmp(&a->shape, &b->shape, sizeof a->shape) == 0 &&
           memcmp(&a->window, &b->window, sizeof a->window) == 0;
}

enum status package_weights(const struct package *p, struct nn_net *n, struct error *err)
{
    bool same = p->spec.layers == n->spec.layers;

    for (size_t i = 0; same && i < p->spec.layers; i++)
        same = p->spec.act[i] == n->spec.act[i] && same_layer(&p->spec.layer[i], &n->spec.layer[i]);
    if (!same)
        return error_set(err, STATUS_CONFIG, "its layers, or their activations, are others");
    return safetensors_parse(n, p->file.data, p->file.len, err);
}

enum status package_tells(const uint8_t trail[DIGEST_BYTES], const char *run, struct error *err)
{
    static const uint8_t nothing[DIGEST_BYTES];

    if (memcmp(trail, nothing, sizeof nothing) != 0)
        return STATUS_OK;
    return error_set(
        err, STATUS_CONFIG,
        "the model of run %s does not say which playing of its plan it is of (an older "
        "version has kept it, with a trail of zeros): train it again",
        run);
}
