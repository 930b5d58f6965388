/* report_json.c -- figures to JSON values.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_json.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 15, TEXT_MAX = 1024 };

/* Takes `value` over, also when it is NULL. */
static void put(struct report_json *j, json_t *parent, const char *key, json_t *value)
{
    if (parent == NULL || value == NULL) {
        json_decref(value);
        j->bad = true;
        return;
    }
    if (json_object_set_new(parent, key, value) != 0)
        j->bad = true;
}

json_t *report_json_object(struct report_json *j, json_t *parent, const char *key)
{
    json_t *made = json_object();

    put(j, parent, key, made);
    return j->bad ? NULL : made;
}

json_t *report_json_array(struct report_json *j, json_t *parent, const char *key)
{
    json_t *made = json_array();

    put(j, parent, key, made);
    return j->bad ? NULL : made;
}

void report_json_append(struct report_json *j, json_t *array, json_t *value)
{
    if (array == NULL || value == NULL) {
        json_decref(value);
        j->bad = true;
        return;
    }
    if (json_array_append_new(array, value) != 0)
        j->bad = true;
}

void report_json_count(struct report_json *j, json_t *parent, const char *key, uint64_t value)
{
    put(j, parent, key, json_integer((json_int_t)value));
}

void report_json_some(struct report_json *j, json_t *parent, const char *key, uint64_t value)
{
    if (value > 0)
        report_json_count(j, parent, key, value);
}

void report_json_real(struct report_json *j, json_t *parent, const char *key, double value)
{
    if (isfinite(value))
        put(j, parent, key, json_real(value));
}

void report_json_flag(struct report_json *j, json_t *parent, const char *key, bool value)
{
    put(j, parent, key, json_boolean(value));
}

void report_json_text(struct report_json *j, json_t *parent, const char *key, const char *value)
{
    char plain[TEXT_MAX];
    json_t *made;

    if (value == NULL || value[0] == 0)
        return;
    made = json_string(value);
    if (made == NULL) {
        /* A peer's words are not always UTF-8. */
        size_t n = strnlen(value, sizeof plain - 1);

        for (size_t i = 0; i < n; i++)
            plain[i] = (unsigned char)value[i] < 0x80 ? value[i] : '?';
        plain[n] = 0;
        made = json_string(plain);
    }
    put(j, parent, key, made);
}

void report_json_score(struct report_json *j, json_t *parent, const char *key,
                       const struct score *score)
{
    json_t *o = NULL;

    for (int m = 0; m < SCORE_METRICS; m++) {
        if (!score->has[m])
            continue;
        if (o == NULL)
            o = report_json_object(j, parent, key);
        report_json_real(j, o, score_names[m], score->value[m]);
    }
}

char *report_json_dump(struct report_json *j, const json_t *root, bool lines)
{
    size_t flags = JSON_REAL_PRECISION(DIGITS) | (lines ? JSON_INDENT(1) : JSON_COMPACT);

    return j->bad || root == NULL ? NULL : json_dumps(root, flags);
}

void report_json_free(char *text)
{
    json_malloc_t take;
    json_free_t give;

    json_get_alloc_funcs(&take, &give);
    if (text != NULL)
        give(text);
}
