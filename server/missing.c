/* missing.c -- what missing.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/missing.h"

#include "common/base/file.h"
#include "common/data/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- by round --- */

static const uint64_t *set_of(const struct predict_scored *p, uint32_t row)
{
    return p->missing + (size_t)(row / p->batch) * PREDICT_SET_WORDS;
}

/* Behind `from`: the first row that another set has answered. */
static uint32_t until(const struct predict_scored *p, uint32_t from)
{
    uint32_t at = from;

    while (at < p->rows &&
           memcmp(set_of(p, at), set_of(p, from), PREDICT_SET_WORDS * sizeof *p->missing) == 0)
        at += p->rows - at < p->batch ? p->rows - at : p->batch;
    return at;
}

enum status missing_keep(const struct server_inputs *in, const struct predict_scored *p,
                         struct error *err)
{
    char absent[ANSWERS_ABSENT_MAX];
    bool missing[WIRE_MEMBERS_MAX];
    enum status s = STATUS_OK;

    for (uint32_t from = 0, to; from < p->rows && s == STATUS_OK; from = to) {
        const struct answers_rows rows = {.ids = p->asked->ids,
                                          .at = p->asked->at + from,
                                          .rows = (to = until(p, from)) - from,
                                          .scores = p->scores + (size_t)from * p->outputs,
                                          .absent = absent};

        for (uint32_t i = 0; i < in->roster.n; i++)
            missing[i] = server_missing_from(set_of(p, from), i);
        answers_missing(absent, missing, in->roster.n);
        s = answers_keep_rows(in->answers, &rows, err);
    }
    return s;
}

/* --- by answer --- */

/* Numbers with + between, as kept answers have them. */
static void add_numbers(bool out[WIRE_MEMBERS_MAX], const char *absent, size_t len, size_t roster_n)
{
    for (const char *at = absent, *end = absent + len; at < end;) {
        char *behind;
        const unsigned long i = strtoul(at, &behind, 10);

        if (behind == at)
            break;
        if (i < roster_n)
            out[i] = true;
        at = behind + 1;
    }
}

static const char *without(const struct server_inputs *in, uint32_t row, size_t *len)
{
    size_t n;
    const char *id = ids_get(&in->wanted, row, &n);

    return answers_without(in->answers, id, n, len);
}

void missing_from(bool out[WIRE_MEMBERS_MAX], const struct server_inputs *in)
{
    const char *before = "";
    size_t before_n = 0;

    memcpy(out, in->asked.absent, WIRE_MEMBERS_MAX * sizeof *out);
    for (uint32_t row = 0; row < in->wanted.n; row++) {
        size_t n;
        const char *absent = without(in, row, &n);

        if (n != before_n || memcmp(absent, before, n) != 0) /* as a rule all are the same */
            add_numbers(out, absent, n, in->roster.n);
        before = absent;
        before_n = n;
    }
}

void missing_names(char *out, size_t n, const struct server_inputs *in)
{
    bool missing[WIRE_MEMBERS_MAX];
    size_t used = 0;

    missing_from(missing, in);
    out[0] = 0;
    for (size_t i = 0; i < in->roster.n && used < n; i++)
        if (missing[i])
            used += (size_t)snprintf(out + used, n - used, "%s%s", used > 0 ? "," : "",
                                     in->roster.party[i].name);
}

static void put_row(FILE *f, const struct server_inputs *in, uint32_t row, const char *absent,
                    size_t len)
{
    bool missing[WIRE_MEMBERS_MAX] = {false}, any = false;
    size_t n;
    const char *id = ids_name(&in->wanted, row, in->asked.placed, &n);

    add_numbers(missing, absent, len, in->roster.n);
    csv_put(f, id, n);
    for (size_t i = 0; i < in->roster.n; i++) {
        if (missing[i])
            fprintf(f, "%c%s", any ? '+' : ',', in->roster.party[i].name);
        any |= missing[i];
    }
    fputc('\n', f);
}

static enum status put_rows(FILE **f, const struct server_inputs *in, const char *path,
                            struct error *err)
{
    char asked[ANSWERS_ABSENT_MAX];
    enum status s = STATUS_OK;

    answers_missing(asked, in->asked.absent, in->roster.n);
    for (uint32_t row = 0; row < in->wanted.n && s == STATUS_OK; row++) {
        size_t n;
        const char *absent = without(in, row, &n);

        if (n == strlen(asked) && memcmp(absent, asked, n) == 0)
            continue;
        if (*f == NULL) {
            s = file_begin(f, path, 0600, err);
            if (s != STATUS_OK)
                break;
            fputs("id,without\n", *f);
        }
        put_row(*f, in, row, absent, n);
    }
    return s;
}

enum status missing_write(const struct server_inputs *in, const char *scores, struct error *err)
{
    char path[CONFIG_PATH_MAX + 16];
    FILE *f = NULL;
    enum status s;

    snprintf(path, sizeof path, "%s.without", scores);
    (void)unlink(path); /* of another job */
    s = put_rows(&f, in, path, err);
    return f == NULL ? s : file_end(f, path, err);
}
