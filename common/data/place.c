/* place.c -- cut at slashes; what a name may be is narrow.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/place.h"

#include "common/data/text.h"

#include <string.h>

static bool put_name(char out[PLACE_TABLE_MAX], const char *text, size_t n)
{
    if (!text_is_name(text, n, PLACE_TABLE_MAX - 1))
        return false;
    memcpy(out, text, n);
    out[n] = 0;
    return true;
}

enum status place_parse(struct place *p, const char *path, const char *kind, const char *table,
                        struct error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *at = path + strlen(kind), *slash;
    const size_t n = strspn(at, plain);
    bool good = n > 0 && n < sizeof p->name && (at[n] == 0 || at[n] == '/');

    *p = (struct place){0};
    if (good)
        memcpy(p->name, at, n);
    if (good && at[n] == '/') {
        at += n + 1;
        slash = strchr(at, '/');
        if (slash != NULL) {
            good = put_name(p->schema, at, (size_t)(slash - at));
            at = slash + 1;
        }
        good = good && strchr(at, '/') == NULL && put_name(p->table, at, strlen(at));
    } else if (good && table != NULL && table[0] != 0) {
        good = put_name(p->table, table, strlen(table));
    } else if (good) {
        return error_set(err, STATUS_CONFIG, "%.200s: which table? %sNAME/TABLE, or data.table",
                         path, kind);
    }
    if (good)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG,
                     "%.200s: must be %sNAME, %sNAME/TABLE or %sNAME/SCHEMA/TABLE, NAME being 1 to "
                     "63 letters, digits or _ . -",
                     path, kind, kind, kind);
}
