/* plan.c -- a plan's canonical text, and the door through which a peer's text comes in.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan.h"

#include "common/base/check.h"
#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/key_print.h"
#include "common/config/key_set.h"
#include "common/config/plan_keys.h"
#include "common/config/plan_rules.h"
#include "common/config/task.h"

#include <string.h>

double plan_weight_decay(const struct plan *p)
{
    if (p->training.weight_decay_given)
        return p->training.weight_decay;
    return p->training.optimizer == OPTIMIZER_ADAMW ? PLAN_ADAMW_DECAY : 0;
}

double plan_gain(const struct plan *p)
{
    return p->protocol.encoding == ENCODING_PBM ? p->protocol.pbm.gain : 1;
}

bool plan_keeps_apart(const struct plan *p)
{
    return p->model.fusion == FUSION_CONCAT || p->model.fusion == FUSION_MAX;
}

bool plan_compresses(const struct plan *p)
{
    return encoding_of(p)->compresses;
}

uint32_t plan_value_max(const struct plan *p)
{
    const struct encoding *e = encoding_of(p);

    return e->value_max == NULL ? 0 : e->value_max(p);
}

uint32_t plan_withstands(const struct plan *p)
{
    const struct aggregation *a = aggregation_of(p);

    return a->withstands == NULL ? 1 : a->withstands(p);
}

bool plan_shows_each(const struct plan *p)
{
    if (plan_keeps_apart(p))
        return true;
    if (!aggregation_of(p)->plaintext)
        return false;
    return p->protocol.straggler != STRAGGLER_WAIT ||
           (plan_compresses(p) && p->protocol.local_view == VIEW_REFRESHED);
}

enum plan_metric plan_best_by(const struct plan *p)
{
    return p->training.best_by != METRIC_NONE ? p->training.best_by : task_of(p)->best_by;
}

void plan_defaults(struct plan *p)
{
    *p = (struct plan){0};
    key_set_defaults(&plan_keys_text, p);
    memset(&p->shape, 0, sizeof p->shape);
}

enum status plan_check(const struct plan *p, struct error *err)
{
    char numbers[PLAN_RULES_NUMBERS_MAX];
    const struct plan_rule *r;
    size_t number;

    r = plan_rules_broken(p, &number);
    if (r == NULL)
        return STATUS_OK;
    plan_rules_numbers(r, p, numbers);
    return error_set(err, STATUS_CONFIG, "%s: %s%s", r->key, r->reason, numbers);
}

/* A text stands there as it is, and may be empty: a rule says what it may hold. */
static bool is_text(const struct key *k)
{
    return k->type == KEY_TEXT || k->type == KEY_SHA256;
}

static enum status print_value(const struct key *k, const void *field, struct buf *out)
{
    return is_text(k) ? buf_printf(out, "%s", (const char *)field) : key_print(k, field, out);
}

enum status plan_print(const struct plan *p, struct buf *out)
{
    const struct key *k;
    size_t offset;

    CHECK(p->training.seed_given && p->training.weight_decay_given && p->privacy.delta_given);
    for (size_t i = 0; (k = key_at(&plan_keys_text, i, &offset)) != NULL; i++) {
        enum status s = buf_printf(out, "%s=", k->path);

        if (s == STATUS_OK)
            s = print_value(k, (const char *)p + offset, out);
        if (s == STATUS_OK)
            s = buf_append(out, "\n", 1);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

/* One line "key=value" of n bytes (no newline) into its field.  Only the canonical text of a value
 * passes, so that equal plans have equal bytes and equal digests. */
static enum status parse_line(const struct key *k, void *field, const char *line, size_t n,
                              struct error *err)
{
    struct buf canonical;
    struct key_value v = {0};
    struct key_set_fault f;
    size_t key_len = strlen(k->path);
    enum status s;

    if (n <= key_len || memcmp(line, k->path, key_len) != 0 || line[key_len] != '=')
        return error_set(err, STATUS_PROTOCOL, "%s: expected here", k->path);
    line += key_len + 1;
    n -= key_len + 1;
    if (!key_value_split(&v, line, n))
        return error_set(err, STATUS_PROTOCOL, "%s: too long, or not text", k->path);
    if (!key_set(k, field, &v, NULL, &f))
        return error_set(err, STATUS_PROTOCOL, "%s: %s is not %s", k->path, f.value, f.want);
    if (!is_text(k) && !key_print_needed(k, field))
        return error_set(err, STATUS_PROTOCOL, "%s: must be a number here", k->path);
    buf_init(&canonical, PLAN_TEXT_MAX);
    s = print_value(k, field, &canonical);
    if (s != STATUS_OK)
        error_set(err, s, "%s: %s", k->path, status_words(s));
    else if (canonical.len != n || memcmp(canonical.data, line, n) != 0)
        s = error_set(err, STATUS_PROTOCOL, "%s: %s is not written as %.*s", k->path, f.value,
                      (int)canonical.len, (const char *)canonical.data);
    buf_deinit(&canonical);
    return s;
}

enum status plan_parse(struct plan *p, const char *text, size_t n, struct error *err)
{
    const char *at = text;
    struct error local = {0};
    const struct key *k;
    size_t offset;

    *p = (struct plan){0};
    if (n > PLAN_TEXT_MAX)
        return error_set(err, STATUS_LIMIT, "plan: %zu bytes, over the limit of %d", n,
                         PLAN_TEXT_MAX);
    for (size_t i = 0; (k = key_at(&plan_keys_text, i, &offset)) != NULL; i++) {
        size_t left = n - (size_t)(at - text);
        const char *end = left == 0 ? NULL : memchr(at, '\n', left);

        if (end == NULL)
            return error_set(err, STATUS_PROTOCOL,
                             "plan: line %zu: %s: expected, but the text ends", i + 1, k->path);
        if (parse_line(k, (char *)p + offset, at, (size_t)(end - at), &local) != STATUS_OK)
            return error_set(err, local.status, "plan: line %zu: %s", i + 1, local.text);
        at = end + 1;
    }
    if (at != text + n)
        return error_set(err, STATUS_PROTOCOL, "plan: more text after the last key");
    if (plan_check(p, &local) != STATUS_OK)
        return error_set(err, STATUS_PROTOCOL, "plan: %s", local.text);
    return STATUS_OK;
}
