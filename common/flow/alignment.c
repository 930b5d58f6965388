/* alignment.c -- the text of a job of alignment.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/alignment.h"

#include "common/config/key_text.h"
#include "common/crypto/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)ALIGN_IDS_MAX == (int)WIRE_ALIGN_IDS_MAX &&
                   (int)ALIGN_CHUNK * ALIGN_POINT_BYTES == (int)WIRE_ENTRIES_MAX &&
                   (int)ALIGN_MEMBERS_MAX == (int)WIRE_MEMBERS_MAX + 1,
               "what is aligned fits its messages");

/* Of what is no name, and no digest. */
#define NO_NAME "."
#define NO_DIGEST "0"
enum { KEYS_TEXT_MAX = 200 };

uint32_t alignment_labelled(const struct alignment *a)
{
    return a->rows == CONFIG_ROWS_LABELLED ? a->ids : 0;
}

bool alignment_tells(const struct align_at *at)
{
    return at->part == ALIGN_RAISE && at->stage == 1 && at->last;
}

/* NAME:COLUMNS, with commas between. */
static enum status print_keys(const struct alignment *a, struct buf *out)
{
    enum status s = STATUS_OK;

    for (uint32_t k = 0; k < a->keys_n && s == STATUS_OK; k++)
        s = buf_printf(out, "%s%s:%u", k > 0 ? "," : "", a->key[k].name, a->key[k].columns);
    return s;
}

enum status alignment_print(const struct alignment *a, struct buf *out)
{
    char hex[DIGEST_HEX_CHARS + 1] = NO_DIGEST;
    enum status s;

    if (a->extends[0] != 0)
        digest_hex(hex, a->extended, sizeof a->extended);
    s = buf_printf(out, "name=%s\nextends=%s\nextended=%s\nids=%u\nkeys=", a->name,
                   a->extends[0] != 0 ? a->extends : NO_NAME, hex, a->ids);
    if (s == STATUS_OK)
        s = print_keys(a, out);
    if (s != STATUS_OK)
        return s;
    return buf_printf(out,
                      "\nmin_result=%u\nreplace=%d\ntrim=%d\nfold=%d\nunicode=%u\nrows=%u\n"
                      "chunk=%u\npatience_ms=%u\n",
                      a->result_min, a->replace, a->trim, a->fold, (unsigned)a->unicode,
                      (unsigned)a->rows, a->chunk, a->patience_ms);
}

static bool has_key(const struct alignment *a, const char *name)
{
    uint32_t k = 0;

    while (k < a->keys_n && strcmp(a->key[k].name, name) != 0)
        k++;
    return k < a->keys_n;
}

static bool read_keys(struct alignment *a, const char *text)
{
    for (int n = 0; *text != 0; text += n + (text[n] == ',')) {
        struct alignment_key *key = &a->key[a->keys_n], one;

        n = 0;
        if (a->keys_n == ALIGNMENT_KEYS_MAX ||
            sscanf(text, "%16[a-z0-9-]:%3" SCNu32 "%n", one.name, &one.columns, &n) != 2 ||
            n == 0 || (text[n] != 0 && text[n] != ',') || one.columns < 1 ||
            one.columns > CONFIG_ALIGN_COLUMNS_MAX || has_key(a, one.name))
            return false;
        *key = one;
        a->keys_n++;
    }
    return a->keys_n >= 1;
}

static bool read_extended(struct alignment *a, const char *extends, const char *digest)
{
    if (strcmp(extends, NO_NAME) == 0)
        return true;
    snprintf(a->extends, sizeof a->extends, "%s", extends);
    return key_text_is_alignment(extends) && strcmp(extends, a->name) != 0 &&
           digest_from_hex(a->extended, sizeof a->extended, digest);
}

/* What sscanf lets pass and is not canonical shows when it is printed again. */
static bool read_text(struct alignment *a, const char *text)
{
    char extends[CONFIG_ALIGN_NAME_MAX + 1], digest[DIGEST_HEX_CHARS + 1], keys[KEYS_TEXT_MAX + 1];
    unsigned replace, trim, fold, unicode, rows;
    const int n =
        sscanf(text,
               "name=%40[a-z0-9-]\nextends=%40[a-z0-9.-]\nextended=%64[0-9a-f]\nids=%9" SCNu32
               "\nkeys=%200[a-z0-9:,-]\nmin_result=%9" SCNu32 "\nreplace=%1u\ntrim=%1u\nfold=%1u"
               "\nunicode=%1u\nrows=%1u\nchunk=%5" SCNu32 "\npatience_ms=%9" SCNu32 "\n",
               a->name, extends, digest, &a->ids, keys, &a->result_min, &replace, &trim, &fold,
               &unicode, &rows, &a->chunk, &a->patience_ms);

    if (n != 13 || unicode > CONFIG_UNICODE_NONE || rows > CONFIG_ROWS_LABELLED ||
        !read_keys(a, keys) || !read_extended(a, extends, digest) ||
        (rows == CONFIG_ROWS_LABELLED && a->keys_n > 1))
        return false;
    a->replace = replace != 0;
    a->trim = trim != 0;
    a->fold = fold != 0;
    a->unicode = (enum config_unicode)unicode;
    a->rows = (enum config_rows)rows;
    return key_text_is_alignment(a->name) && a->ids >= 1 && a->ids <= ALIGN_IDS_MAX &&
           a->result_min <= ALIGN_IDS_MAX && a->chunk >= 1 && a->chunk <= ALIGN_CHUNK &&
           a->patience_ms >= ALIGNMENT_PATIENCE_LEAST_MS &&
           a->patience_ms <= ALIGNMENT_PATIENCE_MOST_MS;
}

enum status alignment_parse(struct alignment *a, const uint8_t *text, size_t n, struct error *err)
{
    char copy[1024];
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

static bool read_name(char name[CONFIG_ALIGN_NAME_MAX + 1], const char *at, size_t n)
{
    if (name[0] != 0 || n > CONFIG_ALIGN_NAME_MAX || memchr(at, 0, n) != NULL)
        return false;
    memcpy(name, at, n);
    name[n] = 0;
    return key_text_is_alignment(name);
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
        return read_name(o->name, value, (size_t)(end - value));
    if ((value = value_of("extends:", at, end)) != NULL)
        return read_name(o->extends, value, (size_t)(end - value));
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
    if (good && o->name[0] != 0 && strcmp(o->name, o->extends) != 0)
        return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "an alignment: one line `name: NAME`, NAME of 1 to %d of a-z, 0-9 and '-', "
                     "and `replace: true` where there is one of that name, `rows: common` or "
                     "`rows: labelled`, and `extends: NAME` of another one",
                     CONFIG_ALIGN_NAME_MAX);
}
