/* transcript.c -- lines of JSON, straight to the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/transcript.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/wire/purpose.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct transcript {
    FILE *to;
    char *path;
};

static enum status failed(const char *path, struct error *err)
{
    return error_set(err, STATUS_IO, "%s: transcript: %s", path, strerror(errno));
}

enum status transcript_open(struct transcript **out, const char *path, struct error *err)
{
    struct transcript *t = mem_alloc(1, sizeof *t);
    int fd;
    enum status s;

    *out = NULL;
    if (t == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a transcript");
    t->path = mem_alloc(strlen(path) + 1, 1);
    s = file_open_output(&fd, path, O_WRONLY | O_CREAT | O_APPEND, 0600, err);
    if (s == STATUS_OK) {
        (void)!fchmod(fd, 0600); /* one that was there */
        t->to = fdopen(fd, "a");
        if (t->to == NULL)
            close(fd);
        if (t->to == NULL || t->path == NULL)
            s = error_set(err, STATUS_MEMORY, "no memory for a transcript");
    }
    if (s != STATUS_OK) {
        transcript_close(t);
        return s;
    }
    strcpy(t->path, path);
    *out = t;
    return STATUS_OK;
}

void transcript_close(struct transcript *t)
{
    if (t == NULL)
        return;
    if (t->to != NULL)
        fclose(t->to);
    mem_free(t->path);
    mem_free(t);
}

static void put_floats(FILE *to, const char *key, const float *x, size_t n)
{
    fprintf(to, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s%.9g", i > 0 ? "," : "", (double)x[i]);
    fputc(']', to);
}

/* A line is whole in the file before the run goes on. */
static enum status end_line(struct transcript *t, struct error *err)
{
    fputs("}\n", t->to);
    return fflush(t->to) == 0 && !ferror(t->to) ? STATUS_OK : failed(t->path, err);
}

enum status transcript_plan(struct transcript *t, const void *text, size_t n, struct error *err)
{
    const char *c = text;

    fputs("{\"kind\":\"plan\",\"text\":\"", t->to);
    for (size_t i = 0; i < n; i++) { /* a plan is printable ASCII in lines, without quotes */
        if (c[i] == '\n')
            fputs("\\n", t->to);
        else
            fputc(c[i], t->to);
    }
    fputc('"', t->to);
    return end_line(t, err);
}

enum status transcript_ask(struct transcript *t, const struct transcript_ask *a, struct error *err)
{
    fprintf(t->to, "{\"kind\":\"ask\",\"round\":%" PRIu64 ",\"generation\":%" PRIu64, a->round,
            a->generation);
    if (a->party >= 0)
        fprintf(t->to, ",\"party\":%d", a->party + 1);
    fprintf(t->to, ",\"purpose\":\"%s\",\"place\":%" PRIu64 ",\"sweep\":%" PRIu64 ",\"rows\":[",
            purpose_of(a->purpose)->name, a->place, a->sweep);
    for (uint32_t i = 0; i < a->rows; i++)
        fprintf(t->to, "%s%" PRIu64, i > 0 ? "," : "",
                a->row != NULL ? (uint64_t)a->row[i] : a->place + i);
    fputc(']', t->to);
    return end_line(t, err);
}

enum status transcript_upload(struct transcript *t, const struct transcript_upload *u,
                              struct error *err)
{
    fprintf(t->to, "{\"kind\":\"upload\",\"round\":%" PRIu64 ",\"party\":%u,\"late\":%s", u->round,
            u->party + 1, u->late ? "true" : "false");
    put_floats(t->to, "values", u->values, u->n);
    return end_line(t, err);
}

enum status transcript_sum(struct transcript *t, const struct transcript_sum *m, struct error *err)
{
    fprintf(t->to, "{\"kind\":\"sum\",\"round\":%" PRIu64, m->round);
    put_floats(t->to, "sum", m->sum, m->sum_n);
    if (m->gradient_n > 0)
        put_floats(t->to, "gradient", m->gradient, m->gradient_n);
    return end_line(t, err);
}

enum status transcript_again(struct transcript *t, const struct transcript_again *g,
                             struct error *err)
{
    fprintf(t->to, "{\"kind\":\"again\",\"party\":%u,\"step\":%" PRIu64 ",\"steps\":%" PRIu64,
            g->party + 1, g->step, g->steps);
    return end_line(t, err);
}

enum status transcript_arrival(struct transcript *t, const struct transcript_arrival *r,
                               struct error *err)
{
    fprintf(t->to,
            "{\"kind\":\"arrival\",\"round\":%" PRIu64
            ",\"party\":%u,\"bytes\":%zu,\"us\":%" PRIu64,
            r->round, r->party + 1, r->bytes, r->us);
    return end_line(t, err);
}

enum status transcript_end(struct transcript *t, const struct transcript_end *e, struct error *err)
{
    fprintf(t->to, "{\"kind\":\"end\",\"outcome\":\"%s\",\"exit\":%d",
            wire_outcome_name(e->outcome), e->exit_code);
    return end_line(t, err);
}
