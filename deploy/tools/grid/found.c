/* found.c -- the files of one run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/found.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/metrics/json_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { METRICS_BYTES_MAX = 1 << 28, LOG_BYTES_MAX = 1 << 20 };

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text == NULL ? "" : text;
}

/* As `vfl cluster` sees it: a budget ends a run with an error, the others end it without one. */
static bool is_done(const json_t *summary)
{
    const char *status = text_of(summary, "status");

    if (strcmp(status, "budget") == 0)
        return true;
    return (strcmp(status, "completed") == 0 || strcmp(status, "target") == 0) &&
           json_object_get(summary, "error") == NULL;
}

static json_t *load_summary(const char *dir, const char *id)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/runs/%s/summary.json", dir, id);
    return json_file_load(path, 0, NULL);
}

bool found_is_done(const char *dir, const char *id)
{
    json_t *summary = load_summary(dir, id);
    bool done = is_done(summary);

    json_decref(summary);
    return done;
}

/* A file of the script's, as it stands; empty when it is not there. */
static void read_script(struct buf *text, const char *dir, const char *id, const char *ending)
{
    char path[PATH_MAX];

    buf_init(text, LOG_BYTES_MAX);
    snprintf(path, sizeof path, "%s/logs/%s.%s", dir, id, ending);
    if (file_read(path, text, NULL) != STATUS_OK || buf_append(text, "", 1) != STATUS_OK) {
        buf_deinit(text);
        buf_init(text, LOG_BYTES_MAX);
    }
}

static int read_code(const char *dir, const char *id)
{
    struct buf text;
    int code = -1;

    read_script(&text, dir, id, "code");
    if (text.len > 1)
        code = atoi((const char *)text.data);
    buf_deinit(&text);
    return code;
}

/* The last line of the log that says something. */
static void read_last_line(char out[FOUND_WORDS_MAX], const char *dir, const char *id)
{
    struct buf text;
    const char *line;
    size_t n;

    read_script(&text, dir, id, "log");
    n = text.len > 0 ? text.len - 1 : 0;
    while (n > 0 && strchr("\r\n \t", text.data[n - 1]) != NULL)
        n--;
    if (n > 0) {
        text.data[n] = 0;
        line = strrchr((const char *)text.data, '\n');
        snprintf(out, FOUND_WORDS_MAX, "%s", line == NULL ? (const char *)text.data : line + 1);
    }
    buf_deinit(&text);
    for (; *out != 0; out++)
        *out = (unsigned char)*out < ' ' ? ' ' : *out;
}

/* Half a line at the end is not there. */
static enum status read_metrics(json_t *list, const char *path)
{
    struct buf text;
    enum status s = STATUS_OK;
    size_t at = 0;

    buf_init(&text, METRICS_BYTES_MAX);
    if (access(path, R_OK) == 0)
        s = file_read(path, &text, NULL);
    while (s == STATUS_OK && at < text.len) {
        const char *line = (const char *)text.data + at;
        const char *end = memchr(line, '\n', text.len - at);
        json_t *o;

        if (end == NULL)
            break;
        o = json_loadb(line, (size_t)(end - line), 0, NULL);
        if (json_is_object(o))
            s = json_array_append(list, o) == 0 ? STATUS_OK : STATUS_MEMORY;
        json_decref(o);
        at += (size_t)(end - line) + 1;
    }
    buf_deinit(&text);
    return s;
}

static void judge(struct found *f, const char *dir, const char *id)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/runs/%s", dir, id);
    if (is_done(f->summary)) {
        f->status = text_of(f->summary, "status");
        f->code = f->code < 0 ? 0 : f->code;
        return;
    }
    if (f->code > 0) {
        f->status = "failed";
        read_last_line(f->words, dir, id);
        return;
    }
    f->status = access(path, F_OK) == 0 ? "stopped" : "missing";
}

enum status found_open(struct found *f, const char *dir, const char *id, struct error *err)
{
    char path[PATH_MAX];
    enum status s = STATUS_MEMORY;

    *f = (struct found){
        .summary = load_summary(dir, id), .metrics = json_array(), .code = read_code(dir, id)};
    judge(f, dir, id);
    snprintf(path, sizeof path, "%s/logs/%s.continued", dir, id);
    f->continued = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s/runs/%s/server/metrics.jsonl", dir, id);
    if (f->metrics != NULL)
        s = read_metrics(f->metrics, path);
    return s == STATUS_OK ? s : error_set(err, s, "%s: %s", path, status_words(s));
}

void found_close(struct found *f)
{
    json_decref(f->summary);
    json_decref(f->metrics);
    *f = (struct found){0};
}
