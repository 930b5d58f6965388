/* alignment.c -- the text of a job of alignment.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/alignment.h"

#include "common/config/key_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)ALIGN_IDS_MAX == (int)WIRE_ALIGN_IDS_MAX &&
                   (int)ALIGN_CHUNK * ALIGN_POINT_BYTES == (int)WIRE_ENTRIES_MAX &&
                   (int)ALIGN_MEMBERS_MAX == (int)WIRE_MEMBERS_MAX + 1,
               "what is aligned fits its messages");

uint32_t alignment_labelled(const struct alignment *a)
{
    return a->rows == CONFIG_ROWS_LABELLED ? a->ids : 0;
}

bool alignment_tells(const struct align_at *at)
{
    return at->part == ALIGN_RAISE && at->stage == 1 && at->last;
}

enum status alignment_print(const struct alignment *a, struct buf *out)
{
    return buf_printf(out,
                      "name=%s\nids=%u\ncolumns=%u\nmin_result=%u\nreplace=%d\ntrim=%d\nfold=%d\n"
                      "unicode=%u\nrows=%u\nchunk=%u\npatience_ms=%u\n",
                      a->name, a->ids, a->columns, a->result_min, a->replace, a->trim, a->fold,
                      (unsigned)a->unicode, (unsigned)a->rows, a->chunk, a->patience_ms);
}

/* What sscanf lets pass and is not canonical shows when it is printed again. */
static bool read_text(struct alignment *a, const char *text)
{
    unsigned replace, trim, fold, unicode, rows;
    const int n =
        sscanf(text,
               "name=%40[a-z0-9-]\nids=%9" SCNu32 "\ncolumns=%3" SCNu32 "\nmin_result=%9" SCNu32
               "\nreplace=%1u\ntrim=%1u\nfold=%1u\nunicode=%1u\nrows=%1u\nchunk=%5" SCNu32
               "\npatience_ms=%9" SCNu32 "\n",
               a->name, &a->ids, &a->columns, &a->result_min, &replace, &trim, &fold, &unicode,
               &rows, &a->chunk, &a->patience_ms);

    if (n != 11 || unicode > CONFIG_UNICODE_NONE || rows > CONFIG_ROWS_LABELLED)
        return false;
    a->replace = replace != 0;
    a->trim = trim != 0;
    a->fold = fold != 0;
    a->unicode = (enum config_unicode)unicode;
    a->rows = (enum config_rows)rows;
    return key_text_is_alignment(a->name) && a->ids >= 1 && a->ids <= ALIGN_IDS_MAX &&
           a->columns >= 1 && a->columns <= CONFIG_ALIGN_COLUMNS_MAX &&
           a->result_min <= ALIGN_IDS_MAX && a->chunk >= 1 && a->chunk <= ALIGN_CHUNK &&
           a->patience_ms >= ALIGNMENT_PATIENCE_LEAST_MS &&
           a->patience_ms <= ALIGNMENT_PATIENCE_MOST_MS;
}

enum status alignment_parse(struct alignment *a, const uint8_t *text, size_t n, struct error *err)
{
    char copy[512];
    struct buf again;
    bool same = false;

    *a = (struct alignment){.ids = 0};
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
        buf_init(&again, sizeof copy);
        same = strlen(copy) == n && read_text(a, copy) && alignment_print(a, &again) == STATUS_OK &&
               again.len == n && memcmp(again.data, copy, n) == 0;
        buf_deinit(&again);
    }
    return same ? STATUS_OK : error_set(err, STATUS_PROTOCOL, "no text of a job of alignment");
}

/* --- what is asked for --- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The value of one line `key: value`, which ends at `end`; NULL: it is another's. */
static const char *value_of(const char *key, const char *at, const char *end)
{
    const size_t n = strlen(key);

    if ((size_t)(end - at) < n || memcmp(at, key, n) != 0)
        return NULL;
    for (at += n; at < end && is_space(*at);)
        at++;
    return at;
}

static bool read_name(struct alignment_order *o, const char *at, size_t n)
{
    if (o->name[0] != 0 || n > CONFIG_ALIGN_NAME_MAX || memchr(at, 0, n) != NULL)
        return false;
    memcpy(o->name, at, n);
    o->name[n] = 0;
    return key_text_is_alignment(o->name);
}

static bool read_rows(struct alignment_order *o, const char *at, size_t n)
{
    static const char *const names[] = {
        [CONFIG_ROWS_COMMON] = "common", [CONFIG_ROWS_LABELLED] = "labelled"};

    for (size_t k = 0; k < sizeof names / sizeof *names && !o->rows_given; k++) {
        if (n != strlen(names[k]) || memcmp(at, names[k], n) != 0)
            continue;
        o->rows = (enum config_rows)k;
        o->rows_given = true;
        return true;
    }
    return false;
}

static bool read_line(struct alignment_order *o, const char *at, const char *end)
{
    const char *value;

    while (at < end && is_space(*at))
        at++;
    while (end > at && is_space(end[-1]))
        end--;
    if (at == end || *at == '#')
        return true;
    if ((value = value_of("rows:", at, end)) != NULL)
        return read_rows(o, value, (size_t)(end - value));
    if ((value = value_of("name:", at, end)) != NULL)
        return read_name(o, value, (size_t)(end - value));
    value = value_of("replace:", at, end);
    if (value == NULL || o->replace || end - value != 4 || memcmp(value, "true", 4) != 0)
        return false;
    o->replace = true;
    return true;
}

enum status alignment_asked(struct alignment_order *o, const uint8_t *text, size_t n,
                            struct error *err)
{
    const char *at = (const char *)text, *last = at + n;
    bool good = true;

    *o = (struct alignment_order){.replace = false};
    while (at < last && good) {
        const char *end = memchr(at, '\n', (size_t)(last - at));

        end = end == NULL ? last : end;
        good = read_line(o, at, end);
        at = end < last ? end + 1 : last;
    }
    if (good && o->name[0] != 0)
        return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "an alignment: one line `name: NAME`, NAME of 1 to %d of a-z, 0-9 and '-', "
                     "and `replace: true` where there is one of that name, `rows: common` or "
                     "`rows: labelled`",
                     CONFIG_ALIGN_NAME_MAX);
}
