/* json_file.c -- read whole by our own hand: jansson's would wait for a pipe.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/json_file.h"

#include "common/base/file.h"

#include <stdio.h>

json_t *json_file_load(const char *path, size_t flags, json_error_t *where)
{
    struct error err = {0};
    struct buf text;
    json_t *root = NULL;

    buf_init(&text, JSON_FILE_MAX);
    if (file_read(path, &text, &err) == STATUS_OK) {
        root = json_loadb(text.len > 0 ? (const char *)text.data : "", text.len, flags, where);
    } else if (where != NULL) {
        where->line = where->column = where->position = -1;
        snprintf(where->text, sizeof where->text, "%.*s", (int)sizeof where->text - 1, err.text);
    }
    buf_deinit(&text);
    return root;
}
