/* key.c -- walking a table and saying what it knows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key.h"

#include "common/base/check.h"
#include "common/config/number.h"

#include <stdio.h>
#include <string.h>

/* A key this many edits away is close enough to be offered, unless they are a third of what was
 * written. */
enum { NEAR_EDITS = 2 };

const struct key *key_at(const struct key_table *t, size_t i, size_t *offset)
{
    for (size_t p = 0; p < t->parts; p++) {
        const struct key_part *part = &t->part[p];

        if (i < part->n) {
            CHECK(part->keys[i].path != NULL);
            *offset = part->offset + part->keys[i].offset;
            return &part->keys[i];
        }
        i -= part->n;
    }
    return NULL;
}

int key_find(const struct key_table *t, const char *path)
{
    const struct key *k;
    size_t offset;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        if (strcmp(k->path, path) == 0)
            return (int)i;
    }
    return -1;
}

/* Whether `path` lies inside the section `prefix` of n bytes. */
static bool inside(const char *path, const char *prefix, size_t n)
{
    return n == 0 || (strncmp(path, prefix, n) == 0 && path[n] == '.');
}

bool key_is_section(const struct key_table *t, const char *path)
{
    const struct key *k;
    size_t offset, n = strlen(path);

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        if (inside(k->path, path, n))
            return true;
    }
    return false;
}

/* Levenshtein distance of two texts of la and lb bytes; anything long is far away. */
static size_t edits(const char *a, size_t la, const char *b, size_t lb)
{
    size_t row[KEY_PATH_MAX + 1];

    if (la > KEY_PATH_MAX || lb > KEY_PATH_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[lb];
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot == NULL ? path : dot + 1;
}

/* The key or section meant by `path`, of *len bytes: the right name in a wrong section, or a few
 * edits away. */
static const char *nearest(const struct key_table *t, const char *path, size_t *len)
{
    const char *found = NULL;
    size_t offset, best = NEAR_EDITS + 1, n = strlen(path);
    const struct key *k;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        size_t end = 0;

        do {
            size_t far;

            end += strcspn(k->path + end, ".");
            far = edits(k->path, end, path, n);
            if (k->path[end] == 0 && far > 1 && strcmp(last_name(k->path), last_name(path)) == 0)
                far = 1;
            if (far < best && 3 * far <= n) {
                best = far;
                found = k->path;
                *len = end;
            }
        } while (k->path[end++] != 0);
    }
    return found;
}

/* Appends the names that may stand directly in the section of `path`. */
static void list_beside(const struct key_table *t, const char *path, char *out, size_t size)
{
    const char *dot = strrchr(path, '.'), *before = "";
    size_t offset, n = dot == NULL ? 0 : (size_t)(dot - path), used = 0, before_len = 0;
    const struct key *k;

    for (size_t i = 0; (k = key_at(t, i, &offset)) != NULL; i++) {
        const char *name = k->path + (n == 0 ? 0 : n + 1);
        size_t len;

        if (!inside(k->path, path, n))
            continue;
        len = strcspn(name, ".");
        if (len == before_len && strncmp(name, before, len) == 0)
            continue;
        if (used + len + 3 > size)
            return;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", used > 0 ? ", " : "", (int)len,
                                 name);
        before = name;
        before_len = len;
    }
}

void key_unknown(const struct key_table *t, const char *path, char *out, size_t size)
{
    char beside[256] = "", hint[KEY_PATH_MAX + 16] = "";
    size_t len = 0;
    const char *near = nearest(t, path, &len);

    list_beside(t, path, beside, sizeof beside);
    if (near != NULL)
        snprintf(hint, sizeof hint, ", is it %.*s?", (int)len, near);
    if (beside[0] == 0)
        snprintf(out, size, "unknown key%s", hint);
    else
        snprintf(out, size, "unknown key%s (known here: %s)", hint, beside);
}

void key_range(const struct key *k, char *out, size_t size)
{
    char lo[NUMBER_TEXT_MAX], hi[NUMBER_TEXT_MAX];

    number_print(lo, k->lo);
    number_print(hi, k->hi);
    snprintf(out, size, "in %c%s, %s]", k->lo_open ? '(' : '[', lo, hi);
}
