/* package_text.c -- the metadata of a package, written and read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/package_text.h"

#include "common/base/mem.h"
#include "common/config/task.h"
#include "common/daemon/package_layers.h"
#include "common/data/schema_text.h"
#include "common/data/text.h"
#include "common/nn/safetensors_header.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[] = {[PACKAGE_BOTTOM] = "bottom", [PACKAGE_HEAD] = "head"};
static const char *const made[] = {
    [ACCOUNT_RAW] = "raw", [ACCOUNT_FROZEN] = "frozen", [ACCOUNT_DP] = "dp"};
enum { MADE = sizeof made / sizeof *made, KEYS_MAX = 32, KEY_CHARS = 32 };

/* --- writing --- */

/* One pair: `text` with what JSON does not take as it is escaped. */
static enum status pair(struct buf *out, const char *key, const char *text, size_t n)
{
    enum status s = buf_printf(out, "%s\"%s\":\"", out->len > 1 ? "," : "", key);

    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c == '\n')
            s = buf_append(out, "\\n", 2);
        else if (c == '"' || c == '\\')
            s = buf_append(out, (char[]){'\\', (char)c}, 2);
        else if (c < 0x20 || c == 0x7f)
            s = buf_printf(out, "\\u00%02x", c);
        else
            s = buf_append(out, &text[i], 1);
    }
    return s == STATUS_OK ? buf_append(out, "\"", 1) : s;
}

static enum status pair_text(struct buf *out, const char *key, const char *text)
{
    return pair(out, key, text, strlen(text));
}

static enum status pair_digest(struct buf *out, const char *key, const uint8_t digest[DIGEST_BYTES])
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, digest, DIGEST_BYTES);
    return pair_text(out, key, hex);
}

static enum status pair_number(struct buf *out, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    return pair_text(out, key, text);
}

static enum status pair_float(struct buf *out, const char *key, float value)
{
    char text[32];

    snprintf(text, sizeof text, "%.9g", (double)value);
    return pair_text(out, key, text);
}

static enum status pair_layers(struct buf *out, const struct nn_spec *spec)
{
    struct package_layers text;
    enum status s;

    package_layers_print(&text, spec);
    s = pair_text(out, "widths", text.widths);
    if (s == STATUS_OK)
        s = pair_text(out, "activations", text.activations);
    if (s == STATUS_OK)
        s = pair_float(out, "out_scale", spec->out_scale);
    if (s == STATUS_OK)
        s = pair_number(out, "degree", spec->layer[0].degree);
    if (s == STATUS_OK)
        s = pair_float(out, "x_max", spec->layer[0].x_max);
    return s == STATUS_OK && text.kinds[0] != 0 ? pair_text(out, "layers", text.kinds) : s;
}

/* What a party's columns are, as it would be written by hand (schema_text.h); empty without names.
 */
static enum status pair_schema(struct buf *out, const struct package *p, struct buf *text)
{
    enum status s = STATUS_OK;

    text->len = 0;
    if (p->schema.n > 0)
        s = schema_print(&p->schema, text);
    return s == STATUS_OK ? pair(out, "schema", (const char *)text->data, text->len) : s;
}

/* Names one a line; empty when the file had none. */
static enum status pair_columns(struct buf *out, const struct package *p, struct buf *text)
{
    enum status s = STATUS_OK;

    text->len = 0;
    for (size_t c = 0; p->names != NULL && c < p->cols && s == STATUS_OK; c++)
        s = buf_printf(text, "%s\n", p->names + c * TABLE_NAME_MAX);
    return s == STATUS_OK ? pair(out, "columns", (const char *)text->data, text->len) : s;
}

/* x <- (x - mean) / sd, a line `mean,sd` for each column; empty: x stays x. */
static enum status pair_preparation(struct buf *out, const struct package *p, struct buf *text)
{
    enum status s = STATUS_OK;

    text->len = 0;
    for (size_t c = 0; c < p->scale.cols && s == STATUS_OK; c++)
        s = buf_printf(text, "%.9g,%.9g\n", (double)p->scale.mean[c], (double)p->scale.sd[c]);
    return s == STATUS_OK ? pair(out, "standardise", (const char *)text->data, text->len) : s;
}

/* What the plan says of using the model, so that a reader needs no parser of plans. */
static enum status pair_use(struct buf *out, const struct plan *p)
{
    static const char *const fusions[] = {[FUSION_SUM] = "sum",
                                          [FUSION_MEAN] = "mean",
                                          [FUSION_CONCAT] = "concat",
                                          [FUSION_MAX] = "max"};
    enum status s = pair_text(out, "fusion", fusions[p->model.fusion]);

    if (s == STATUS_OK)
        s = pair_number(out, "parties", p->shape.parties);
    if (s == STATUS_OK)
        s = pair_number(out, "clip", p->protocol.clip);
    if (s == STATUS_OK)
        s = pair_number(out, "gain", plan_gain(p));
    if (s == STATUS_OK)
        s = pair_text(out, "output", p->model.output == OUTPUT_IDENTITY ? "identity" : "linear");
    if (s == STATUS_OK)
        s = pair_text(out, "loss", task_of(p)->loss_name);
    return s == STATUS_OK ? pair_number(out, "outputs", p->shape.outputs) : s;
}

static enum status pair_run(struct buf *out, struct package *p, struct buf *text)
{
    enum status s = pair_text(out, "format", PACKAGE_FORMAT);

    text->len = 0;
    if (s == STATUS_OK)
        s = pair_text(out, "role", roles[p->role]);
    if (s == STATUS_OK)
        s = pair_text(out, "run", p->run);
    if (s == STATUS_OK)
        s = plan_print(&p->plan, text);
    if (s != STATUS_OK)
        return s;
    digest_sha256(p->plan_sha256, text->data, text->len);
    s = pair_digest(out, "plan_sha256", p->plan_sha256);
    if (s == STATUS_OK)
        s = pair(out, "plan", (const char *)text->data, text->len);
    if (s == STATUS_OK)
        s = pair_digest(out, "trail", p->trail);
    if (s == STATUS_OK)
        s = pair_number(out, "epochs", p->epochs);
    return s == STATUS_OK ? pair_number(out, "steps", (double)p->steps) : s;
}

static enum status pair_made(struct buf *out, const struct package *p)
{
    enum status s = pair_text(out, "train", made[p->made]);

    return s == STATUS_OK ? pair_number(out, "noise", p->noise) : s;
}

/* Only where targets were scaled: packages of before have no such key. */
static enum status pair_target(struct buf *out, const struct package *p)
{
    char text[64];

    if (p->role != PACKAGE_HEAD || !task_scales(&p->plan))
        return STATUS_OK;
    snprintf(text, sizeof text, "%.9g,%.9g", (double)p->center, (double)p->spread);
    return pair_text(out, "target", text);
}

/* Only where one was fitted. */
static enum status pair_temperature(struct buf *out, const struct package *p)
{
    const bool is = p->temperature < 1 || p->temperature > 1;

    return p->role == PACKAGE_HEAD && is ? pair_number(out, "temperature", (double)p->temperature)
                                         : STATUS_OK;
}

enum status package_text_print_columns(const struct package *p, struct buf *out)
{
    struct buf text;
    enum status s;

    buf_init(&text, PACKAGE_TEXT_MAX);
    s = pair_schema(out, p, &text);
    if (s == STATUS_OK)
        s = pair_columns(out, p, &text);
    if (s == STATUS_OK)
        s = pair_preparation(out, p, &text);
    buf_deinit(&text);
    return s;
}

enum status package_text_print(struct package *p, struct buf *out)
{
    struct buf text;
    enum status s = buf_append(out, "{", 1);

    buf_init(&text, PACKAGE_TEXT_MAX);
    if (s == STATUS_OK)
        s = pair_run(out, p, &text);
    if (s == STATUS_OK)
        s = pair_use(out, &p->plan);
    if (s == STATUS_OK)
        s = pair_layers(out, &p->spec);
    if (s == STATUS_OK)
        s = pair_number(out, "reach", p->reach);
    if (s == STATUS_OK && p->role == PACKAGE_BOTTOM)
        s = pair_made(out, p);
    if (s == STATUS_OK && p->role == PACKAGE_BOTTOM)
        s = package_text_print_columns(p, out);
    if (s == STATUS_OK && p->role == PACKAGE_HEAD)
        s = pair_text(out, "classes", p->classes != NULL ? p->classes : "");
    if (s == STATUS_OK)
        s = pair_target(out, p);
    if (s == STATUS_OK)
        s = pair_temperature(out, p);
    if (s == STATUS_OK && p->role == PACKAGE_HEAD)
        s = pair_text(out, "score", p->score);
    buf_deinit(&text);
    return s == STATUS_OK ? buf_append(out, "}", 2) : s;
}

/* --- reading --- */

static size_t lines_of(const char *text, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static bool read_columns(struct package *p, const char *text, size_t n)
{
    const size_t lines = lines_of(text, n);
    const char *at = text;

    if (n == 0)
        return true;
    if (lines != p->cols || text[n - 1] != '\n')
        return false;
    p->names = mem_alloc(lines, TABLE_NAME_MAX);
    for (size_t c = 0; p->names != NULL && c < lines; c++) {
        const size_t len = (size_t)(strchr(at, '\n') - at);

        if (len >= TABLE_NAME_MAX)
            return false;
        memcpy(p->names + c * TABLE_NAME_MAX, at, len);
        at += len + 1;
    }
    return p->names != NULL;
}

static bool read_schema(struct package *p, const char *text, size_t n)
{
    struct error ignored = {0};

    if (n > 0 && schema_parse(&p->schema, text, n, "schema", &ignored) != STATUS_OK)
        return false;
    /* What training rows have made of a column is settled. */
    for (size_t i = 0; i < p->schema.n; i++)
        if (schema_is_open(&p->schema.column[i]))
            return false;
    return true;
}

/* A name for each line. */
static bool read_classes(struct package *p, const char *text, size_t n)
{
    if (n == 0)
        return true;
    for (size_t at = 0; at < n;) {
        const size_t name = strcspn(text + at, "\n");

        if (at + name == n || !text_is_name(text + at, name, LEVELS_TEXT_MAX))
            return false;
        at += name + 1;
    }
    p->classes = mem_alloc(n + 1, 1);
    if (p->classes != NULL)
        memcpy(p->classes, text, n + 1);
    return p->classes != NULL;
}

static bool read_preparation(struct package *p, const char *text, size_t n)
{
    const size_t lines = lines_of(text, n);
    const char *at = text;

    if (n == 0)
        return true;
    if (lines != p->cols)
        return false;
    if (scale_init(&p->scale, lines) != STATUS_OK)
        return false;
    for (size_t c = 0; c < lines; c++) {
        char *end;

        p->scale.mean[c] = strtof(at, &end);
        if (*end != ',')
            return false;
        p->scale.sd[c] = strtof(end + 1, &end);
        if (*end != '\n' || !isfinite(p->scale.mean[c]) || !(p->scale.sd[c] > 0) ||
            !isfinite(p->scale.sd[c]))
            return false;
        at = end + 1;
    }
    return true;
}

static bool read_run(struct package *p, const char *key, const char *text, size_t n)
{
    struct error ignored = {0};

    if (strcmp(key, "role") == 0) {
        p->role = strcmp(text, roles[PACKAGE_HEAD]) == 0 ? PACKAGE_HEAD : PACKAGE_BOTTOM;
        return true;
    }
    if (strcmp(key, "run") == 0) {
        const bool good = n > 0 && n <= PACKAGE_RUN_MAX &&
                          strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;

        snprintf(p->run, sizeof p->run, "%s", good ? text : "");
        return good;
    }
    if (strcmp(key, "plan") == 0)
        return plan_parse(&p->plan, text, n, &ignored) == STATUS_OK;
    if (strcmp(key, "trail") == 0)
        return digest_from_hex(p->trail, DIGEST_BYTES, text) != 0;
    if (strcmp(key, "epochs") == 0) {
        p->epochs = strtod(text, NULL);
        return p->epochs >= 0 && isfinite(p->epochs);
    }
    p->steps = strtoull(text, NULL, 10);
    return p->steps < (UINT64_C(1) << 53);
}

static bool read_made(struct package *p, const char *key, const char *text)
{
    size_t i = 0;

    if (strcmp(key, "noise") == 0) {
        p->noise = strtod(text, NULL);
        return p->noise >= 0 && isfinite(p->noise);
    }
    while (i < MADE && strcmp(text, made[i]) != 0)
        i++;
    p->made = (enum account_bottom)i;
    return i < MADE;
}

static bool read_target(struct package *p, const char *text)
{
    char *end;

    p->center = strtof(text, &end);
    if (*end != ',')
        return false;
    p->spread = strtof(end + 1, NULL);
    return isfinite(p->center) && isfinite(p->spread) && p->spread > 0;
}

/* One pair into its field, in any order that needs no other; what is written anyhow is not looked
 * at, since all has to be as it would be written again. */
static bool read_pair(struct package *p, const char *key, const char *text, size_t n)
{
    static const char *const of_run[] = {"role", "run", "plan", "trail", "epochs", "steps"};
    static const char *const of_net[] = {"widths", "activations", "out_scale",
                                         "degree", "x_max",       "layers"};

    if (strlen(text) != n) /* a zero byte */
        return false;
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        if (strcmp(key, of_run[i]) == 0)
            return read_run(p, key, text, n);
    for (size_t i = 0; i < sizeof of_net / sizeof *of_net; i++)
        if (strcmp(key, of_net[i]) == 0)
            return package_layers_read(p, key, text);
    if (strcmp(key, "reach") == 0) {
        p->reach = strtod(text, NULL);
        return p->reach >= 0 && isfinite(p->reach);
    }
    if (strcmp(key, "train") == 0 || strcmp(key, "noise") == 0)
        return read_made(p, key, text);
    if (strcmp(key, "schema") == 0)
        return p->schema.n == 0 && read_schema(p, text, n);
    if (strcmp(key, "classes") == 0)
        return p->classes == NULL && read_classes(p, text, n);
    if (strcmp(key, "target") == 0)
        return read_target(p, text);
    if (strcmp(key, "temperature") == 0) {
        p->temperature = strtof(text, NULL);
        return p->temperature > 0 && isfinite(p->temperature) && package_classes(&p->plan) > 0;
    }
    if (strcmp(key, "columns") == 0)
        return p->names == NULL && read_columns(p, text, n);
    if (strcmp(key, "standardise") == 0)
        return p->scale.mean == NULL && read_preparation(p, text, n);
    if (strcmp(key, "score") == 0)
        return snprintf(p->score, sizeof p->score, "%s", text) < (int)sizeof p->score;
    return true;
}

/* The keys that were read.  What is allocated for one goes by what others have said, so that none
 * may be said again. */
struct keys {
    char name[KEYS_MAX][KEY_CHARS];
    size_t n;
};

static bool is_new(struct keys *k, const char *name)
{
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->name[i], name) == 0)
            return false;
    if (k->n == KEYS_MAX)
        return false;
    memcpy(k->name[k->n++], name, KEY_CHARS);
    return true;
}

static enum status read_all(struct package *p, const struct safetensors_text *metadata,
                            struct error *err)
{
    struct safetensors_header m;
    struct safetensors_text key, value;
    struct keys seen = {.n = 0};
    char *text = mem_alloc(metadata->len + 1, 1), name[KEY_CHARS] = "";
    int more;

    if (text == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for the metadata");
    safetensors_metadata_init(&m, metadata);
    while ((more = safetensors_metadata_next(&m, &key, &value)) == 1) {
        const size_t n = safetensors_text_decode(text, &value);

        snprintf(name, sizeof name, "%.*s", (int)(key.len < KEY_CHARS ? key.len : KEY_CHARS - 1),
                 key.at);
        if (n != SIZE_MAX)
            text[n] = 0;
        if (n == SIZE_MAX || !is_new(&seen, name) || !read_pair(p, name, text, n)) {
            mem_free(text);
            return error_set(err, STATUS_DATA, "its metadata says no such thing as its \"%s\"",
                             strlen(name) == key.len ? name : "key");
        }
    }
    mem_free(text);
    return more == 0 ? STATUS_OK : error_set(err, STATUS_DATA, "its metadata is no map of strings");
}

/* Written again it is the same: nothing was left out, nothing misread. */
static enum status check_form(struct package *p, const struct safetensors_text *metadata,
                              struct error *err)
{
    struct buf again;
    enum status s;

    if (p->plan.shape.parties == 0)
        return error_set(err, STATUS_DATA, "no model package: it has no plan");
    buf_init(&again, PACKAGE_TEXT_MAX);
    s = package_text_print(p, &again);
    if (s == STATUS_OK &&
        (again.len != metadata->len + 1 || memcmp(again.data, metadata->at, metadata->len) != 0))
        s = error_set(err, STATUS_DATA, "no model package (%s), or one that was changed",
                      PACKAGE_FORMAT);
    else if (s != STATUS_OK)
        error_set(err, s, "%s", status_words(s));
    buf_deinit(&again);
    return s;
}

enum status package_text_read(struct package *p, const struct safetensors_text *metadata,
                              struct error *err)
{
    const enum status s = read_all(p, metadata, err);

    return s == STATUS_OK ? check_form(p, metadata, err) : s;
}

enum status package_text_peek(struct package *p, const struct safetensors_text *metadata,
                              struct error *err)
{
    struct safetensors_header m;
    struct safetensors_text key, value;
    char text[DIGEST_HEX_CHARS + 1];

    p->run[0] = 0;
    safetensors_metadata_init(&m, metadata);
    while (safetensors_metadata_next(&m, &key, &value) == 1) {
        const bool trail = safetensors_text_is(&key, "trail");

        if (!trail && !safetensors_text_is(&key, "run"))
            continue;
        snprintf(text, sizeof text, "%.*s", (int)(value.len < sizeof text ? value.len : 0),
                 value.at);
        if (!read_run(p, trail ? "trail" : "run", text, strlen(text)))
            break;
        if (trail && p->run[0] != 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_DATA, "it does not say which run it is of");
}
