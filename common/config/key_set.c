/* key_set.c -- type and range checks, and the store.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_set.h"

#include "common/base/check.h"
#include "common/config/config.h"
#include "common/config/key_text.h"
#include "common/config/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool refuse(struct key_set_fault *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool refuse(struct key_set_fault *f, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(f->want, sizeof f->want, fmt, args);
    va_end(args);
    return false;
}

static bool refuse_range(const struct key *k, struct key_set_fault *f)
{
    key_range(k, f->want, sizeof f->want);
    return false;
}

static bool refuse_choice(const struct key *k, const char *more, struct key_set_fault *f)
{
    size_t n = 0;

    for (size_t i = 0; k->choices[i] != NULL && n < sizeof f->want; i++)
        n += (size_t)snprintf(f->want + n, sizeof f->want - n, "%s%s", i == 0 ? "one of " : ", ",
                              k->choices[i]);
    if (n < sizeof f->want)
        snprintf(f->want + n, sizeof f->want - n, "%s", more);
    return false;
}

/* --- scalars --- */

static bool set_whole(const struct key *k, const struct key_value_item *item, uint64_t *out,
                      struct key_set_fault *f)
{
    if (item->quoted || !number_whole(out, item->text))
        return refuse(f, "a whole number");
    /* No bound is above 2^53, so the comparison is exact where it matters. */
    if ((double)*out < k->lo || (double)*out > k->hi)
        return refuse_range(k, f);
    return true;
}

static bool set_u64(const struct key *k, const struct key_value_item *item, uint64_t *out,
                    struct key_set_fault *f)
{
    uint64_t v;

    if (!set_whole(k, item, &v, f))
        return false;
    *out = v;
    return true;
}

static bool set_u32(const struct key *k, const struct key_value_item *item, uint32_t *out,
                    struct key_set_fault *f)
{
    uint64_t v;

    if (!set_whole(k, item, &v, f))
        return false;
    CHECK(v <= UINT32_MAX);
    *out = (uint32_t)v;
    return true;
}

static bool in_range(const struct key *k, double v)
{
    return k->lo_open ? v > k->lo && v <= k->hi : v >= k->lo && v <= k->hi;
}

static bool set_real(const struct key *k, const struct key_value_item *item, double *out,
                     struct key_set_fault *f)
{
    double v;

    if (item->quoted || !number_real(&v, item->text))
        return refuse(f, "a number");
    if (!in_range(k, v))
        return refuse_range(k, f);
    *out = v;
    return true;
}

static bool set_auto(const struct key *k, const struct key_value_item *item, double *out,
                     struct key_set_fault *f)
{
    bool *given = (bool *)((char *)out + k->given);

    if (!item->quoted && strcmp(item->text, "auto") == 0) {
        *given = false;
        *out = k->open;
        return true;
    }
    if (!set_real(k, item, out, f))
        return false;
    *given = true;
    return true;
}

static bool set_bool(const struct key_value_item *item, bool *out, struct key_set_fault *f)
{
    bool yes = strcmp(item->text, "true") == 0;

    if (item->quoted || (!yes && strcmp(item->text, "false") != 0))
        return refuse(f, "true or false");
    *out = yes;
    return true;
}

/* The index of a text in the choices, or -1. */
static int choice_of(const struct key *k, const char *text)
{
    for (int i = 0; k->choices[i] != NULL; i++) {
        if (strcmp(k->choices[i], text) == 0)
            return i;
    }
    return -1;
}

static bool set_choice(const struct key *k, const struct key_value_item *item, uint32_t *out,
                       struct key_set_fault *f)
{
    int i = choice_of(k, item->text);

    if (i < 0)
        return refuse_choice(k, "", f);
    if (k->type == KEY_CHOICE)
        *out = (uint32_t)i;
    return true;
}

static bool set_seed(const struct key *k, const struct key_value_item *item, uint64_t *out,
                     struct key_set_fault *f)
{
    bool *given = (bool *)((char *)out + k->given);
    uint64_t v = 0;
    bool random = strcmp(item->text, "random") == 0 && !item->quoted;

    if (!random && (item->quoted || !number_whole(&v, item->text)))
        return refuse(f, "a whole number below 2^64, or random");
    *given = !random;
    *out = v;
    return true;
}

/* The kind that a text names; *number: where its number starts. */
static enum config_delay_kind delay_kind(const char *text, const char **number)
{
    static const struct {
        const char *prefix;
        enum config_delay_kind kind;
    } kinds[] = {{"const:", DELAY_CONST}, {"exp:", DELAY_EXP}, {"fedvs:", DELAY_FEDVS}};

    *number = text;
    if (strcmp(text, "none") == 0)
        return DELAY_NONE;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i].prefix);

        if (strncmp(text, kinds[i].prefix, n) == 0) {
            *number = text + n;
            return kinds[i].kind;
        }
    }
    return DELAY_CONST;
}

static bool set_delay(const struct key *k, const struct key_value_item *item,
                      struct config_inject *out, struct key_set_fault *f)
{
    const char *number;
    enum config_delay_kind kind = delay_kind(item->text, &number);
    double v = 0;

    if (kind != DELAY_NONE &&
        (!number_real(&v, number) || !in_range(k, v) || (kind == DELAY_FEDVS && !(v > 0)))) {
        char range[96];

        key_range(k, range, sizeof range);
        return refuse(f, "none, const:S, exp:MEAN, fedvs:SCALE (above 0) or S with numbers %s",
                      range);
    }
    out->delay = kind;
    out->delay_s = v;
    return true;
}

/* --- texts --- */

static bool set_path(const struct key *k, const struct key_value_item *item, const char *dir,
                     char *out, struct key_set_fault *f)
{
    const char *text = item->text;
    bool word = (k->type == KEY_SCALE && choice_of(k, text) >= 0) ||
                (k->type == KEY_SOURCE && key_text_is_server(text));
    char path[CONFIG_PATH_MAX];
    int n;

    if (k->type == KEY_SCALE && text[0] == 0)
        return refuse_choice(k, " or a path", f);
    if (!item->quoted && (strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return refuse(f, "a path (leave the key out to say nothing)");
    if (text[0] == 0 && k->fallback == NULL)
        return refuse(f, "a path");
    while (text[0] == '.' && text[1] == '/' && text[2] != 0 && !key_text_is_server(text + 2))
        text += 2;
    if (word || text[0] == 0 || text[0] == '/' || dir == NULL)
        n = snprintf(path, sizeof path, "%s", text);
    else
        n = snprintf(path, sizeof path, "%s%s%s", dir, strcmp(dir, "/") == 0 ? "" : "/", text);
    if (n >= CONFIG_PATH_MAX)
        return refuse(f, "a path of fewer than %d bytes with its directory", CONFIG_PATH_MAX);
    if (!key_text_is_printable(path))
        return refuse(f, "a path of printable UTF-8 characters");
    memset(out, 0, CONFIG_PATH_MAX); /* no rest of a default behind a shorter value */
    memcpy(out, path, (size_t)n + 1);
    return true;
}

static bool set_address(const struct key *k, const struct key_value_item *item, char *out,
                        struct key_set_fault *f)
{
    if (!key_text_is_address(item->text, (unsigned)k->lo))
        return refuse(f, "host:port (an IPv6 address in brackets, port %.0f to 65535)", k->lo);
    snprintf(out, CONFIG_PATH_MAX, "%s", item->text);
    return true;
}

/* As the header of a table may have it (common/data/csv.h). */
static bool set_column(const struct key_value_item *item, char *out, struct key_set_fault *f)
{
    const size_t n = strlen(item->text);
    bool plain =
        n < CONFIG_COLUMN_MAX && (n == 0 || (item->text[0] != ' ' && item->text[n - 1] != ' '));

    for (size_t i = 0; i < n; i++)
        plain &=
            item->text[i] >= ' ' && item->text[i] <= '~' && strchr(",\"", item->text[i]) == NULL;
    if (!plain || strcmp(item->text, "id") == 0 || strcmp(item->text, "label") == 0)
        return refuse(f, "the name of a column: at most %d printable bytes, neither id nor label",
                      CONFIG_COLUMN_MAX - 1);
    memcpy(out, item->text, n + 1);
    return true;
}

static bool set_alignment(const struct key_value_item *item, char *out, struct key_set_fault *f)
{
    if (item->text[0] != 0 && !key_text_is_alignment(item->text))
        return refuse(f, "the name of an alignment: 1 to %d of a-z, 0-9 and '-', and not asked",
                      CONFIG_ALIGN_NAME_MAX);
    memcpy(out, item->text, strlen(item->text) + 1);
    return true;
}

static bool set_text(const struct key_value_item *item, char *out, struct key_set_fault *f)
{
    const size_t n = strlen(item->text);

    if (n >= CONFIG_COLUMN_MAX || !key_text_is_printable(item->text))
        return refuse(f, "a text of at most %d printable bytes", CONFIG_COLUMN_MAX - 1);
    memset(out, 0, CONFIG_COLUMN_MAX);
    memcpy(out, item->text, n + 1);
    return true;
}

static bool set_sha256(const struct key_value_item *item, char *out, struct key_set_fault *f)
{
    size_t n = strlen(item->text);

    if (n != 0 && (n != 64 || strspn(item->text, "0123456789abcdef") != 64))
        return refuse(f, "64 lowercase hex digits");
    memcpy(out, item->text, n + 1);
    return true;
}

/* --- lists --- */

static bool set_widths(const struct key *k, const struct key_value *v, struct plan_widths *out,
                       struct key_set_fault *f)
{
    struct plan_widths w = {.n = v->n};

    if (v->n > PLAN_LAYERS_MAX)
        return refuse(f, "a list of at most %d widths", PLAN_LAYERS_MAX);
    for (size_t i = 0; i < v->n; i++) {
        f->line = v->item[i].line;
        if (!set_u32(k, &v->item[i], &w.width[i], f))
            return false;
    }
    *out = w;
    return true;
}

static bool set_layers(const struct key *k, const struct key_value *v, struct config_layers *out,
                       struct key_set_fault *f)
{
    struct config_layers layers = {.n = v->n};
    const int most = (int)k->hi;

    if (v->n > (size_t)most)
        return refuse(f, "a list of at most %d layers", most);
    for (size_t i = 0; i < v->n; i++) {
        f->line = v->item[i].line;
        if (!layers_read(&layers.item[i], &v->item[i], f->want, sizeof f->want))
            return false;
    }
    *out = layers;
    return true;
}

static bool set_names(const struct key_value *v, struct config_names *out, struct key_set_fault *f)
{
    struct config_names names = {.n = v->n};

    if (v->n > CONFIG_LIST_MAX)
        return refuse(f, "a list of at most %d names", CONFIG_LIST_MAX);
    for (size_t i = 0; i < v->n; i++) {
        const char *text = v->item[i].text;
        size_t n = strlen(text);

        f->line = v->item[i].line;
        if (n == 0 || n >= CONFIG_NAME_MAX || strspn(text, KEY_TEXT_HOST ":") != n)
            return refuse(f,
                          "a list of names or addresses (letters, digits, . - _ :, below %d bytes)",
                          CONFIG_NAME_MAX);
        memcpy(names.name[i], text, n + 1);
    }
    *out = names;
    return true;
}

/* Which of its words are files nobody says: those that there are, seen from dir, are. */
static bool is_file(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISREG(is.st_mode);
}

static bool set_command(const struct key_value *v, const char *dir, struct config_command *out,
                        struct key_set_fault *f)
{
    struct config_command c = {.n = v->n};

    if (v->n > CONFIG_LIST_MAX)
        return refuse(f, "a list of at most %d words", CONFIG_LIST_MAX);
    for (size_t i = 0; i < v->n; i++) {
        const char *text = v->item[i].text;
        char path[CONFIG_PATH_MAX];
        int n = dir == NULL || text[0] == '/' ? CONFIG_PATH_MAX
                                              : snprintf(path, sizeof path, "%s/%s", dir, text);

        f->line = v->item[i].line;
        if (i == 0 && strchr(text, '/') == NULL) /* python3 is found by PATH, whatever lies here */
            n = CONFIG_PATH_MAX;
        n = snprintf(c.arg[i], sizeof c.arg[i], "%s",
                     n < CONFIG_PATH_MAX && is_file(path) ? path : text);
        if (n >= CONFIG_PATH_MAX || !key_text_is_printable(c.arg[i]) || (i == 0 && text[0] == 0))
            return refuse(f, "a command and its arguments, printable and below %d bytes each",
                          CONFIG_PATH_MAX);
    }
    *out = c;
    return true;
}

static bool set_set(const struct key *k, const struct key_value *v, bool *out,
                    struct key_set_fault *f)
{
    bool seen[KEY_VALUE_ITEMS_MAX] = {0};

    if (v->n == 0)
        return refuse(f, "a list of at least one");
    for (size_t i = 0; i < v->n; i++) {
        int at = choice_of(k, v->item[i].text);

        f->line = v->item[i].line;
        if (at < 0)
            return refuse_choice(k, "", f);
        if (seen[at])
            return refuse(f, "a list without repetitions");
        seen[at] = true;
    }
    for (size_t i = 0; k->choices[i] != NULL; i++)
        out[i] = seen[i];
    return true;
}

/* --- the dispatch --- */

static bool is_list(const struct key *k)
{
    return k->type == KEY_WIDTHS || k->type == KEY_LAYERS || k->type == KEY_NAMES ||
           k->type == KEY_COMMAND || k->type == KEY_SET;
}

/* A layer alone may have arguments. */
static bool has_map(const struct key_value *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->item[i].map)
            return true;
    return false;
}

bool key_set(const struct key *k, void *field, const struct key_value *v, const char *dir,
             struct key_set_fault *f)
{
    const struct key_value_item *item = &v->item[0];

    *f = (struct key_set_fault){.line = v->n > 0 ? item->line : 0};
    key_value_show(v, f->value, sizeof f->value);
    if (v->list != is_list(k))
        return refuse(f, "%s", v->list ? "a single value" : "a list like [a, b]");
    if (k->type != KEY_LAYERS && has_map(v))
        return refuse(f, "a list of single values");
    CHECK(v->list || v->n == 1);
    switch (k->type) {
    case KEY_U32: return set_u32(k, item, field, f);
    case KEY_U64: return set_u64(k, item, field, f);
    case KEY_REAL: return set_real(k, item, field, f);
    case KEY_AUTO: return set_auto(k, item, field, f);
    case KEY_BOOL: return set_bool(item, field, f);
    case KEY_CHOICE: return set_choice(k, item, field, f);
    case KEY_SEED: return set_seed(k, item, field, f);
    case KEY_PATH:
    case KEY_SOURCE:
    case KEY_SCALE: return set_path(k, item, dir, field, f);
    case KEY_ADDRESS: return set_address(k, item, field, f);
    case KEY_ALIGNMENT: return set_alignment(item, field, f);
    case KEY_COLUMN: return set_column(item, field, f);
    case KEY_TEXT: return set_text(item, field, f);
    case KEY_SHA256: return set_sha256(item, field, f);
    case KEY_WIDTHS: return set_widths(k, v, field, f);
    case KEY_LAYERS: return set_layers(k, v, field, f);
    case KEY_NAMES: return set_names(v, field, f);
    case KEY_COMMAND: return set_command(v, dir, field, f);
    case KEY_SET: return set_set(k, v, field, f);
    case KEY_DELAY: return set_delay(k, item, field, f);
    }
    CHECK(false);
    return false;
}

void key_set_defaults(const struct key_table *t, void *base)
{
    const struct key *k;
    size_t offset;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        struct key_value v = {0};
        struct key_set_fault f;
        char *field = (char *)base + offset;

        if (k->fallback == NULL) {
            if (k->type == KEY_PATH || k->type == KEY_SOURCE || k->type == KEY_ADDRESS)
                *field = 0;
            continue;
        }
        CHECK(key_value_split(&v, k->fallback, strlen(k->fallback)));
        CHECK(key_set(k, field, &v, NULL, &f));
    }
}
