/* prepare.c -- vfl-prepare: looks at a table and writes what its columns seem to be.
 *
 *   vfl-prepare --table FILE|postgres:SERVICE/TABLE|odbc:DSN/TABLE [--label COLUMN] [--id COLUMN]
 * [--delimiter C] [--out schema.yaml]
 *
 * The schema is for a person to read and change; a party reads it by data.schema.  Unlike a party
 * without one, which takes the first cell's word for its column, this looks at every cell before it
 * says what a column is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/data/csv.h"
#include "common/data/decimal.h"
#include "common/data/intake.h"
#include "common/data/schema_fit.h"
#include "common/data/schema_text.h"
#include "common/data/when.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct options {
    const char *table, *label, *id, *out;
    struct source_options source;
};

static const char usage[] = "usage: vfl-prepare --table FILE [--label COLUMN] [--id COLUMN] "
                            "[--delimiter C] [--out schema.yaml]\n";

static enum status read_options(struct options *o, int argc, char **argv, struct error *err)
{
    static const struct option known[] = {
        {"table", required_argument, NULL, 't'},     {"label", required_argument, NULL, 'l'},
        {"id", required_argument, NULL, 'i'},        {"out", required_argument, NULL, 'o'},
        {"delimiter", required_argument, NULL, 'd'}, {0}};

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 't': o->table = optarg; break;
        case 'l': o->label = optarg; break;
        case 'i': o->id = optarg; break;
        case 'o': o->out = optarg; break;
        case 'd':
            o->source.delimiter = strcmp(optarg, "tab") == 0 ? '\t' : optarg[0];
            if (strcmp(optarg, "tab") != 0 && (strlen(optarg) != 1 || !csv_delimiter(optarg[0])))
                return error_set(err, STATUS_CONFIG,
                                 "--delimiter %s: expected a sign of punctuation or tab", optarg);
            break;
        default: return error_set(err, STATUS_CONFIG, "unknown option\n%s", usage);
        }
    }
    if (optind != argc || o->table == NULL)
        return error_set(err, STATUS_CONFIG, "wrong arguments\n%s", usage);
    return STATUS_OK;
}

/* What one more cell leaves of what its column may be. */
static enum schema_kind narrowed(enum schema_kind kind, const struct cell *cell)
{
    enum schema_kind is = SCHEMA_CATEGORY;
    float value;

    if (cell->kind == CELL_NONE ||
        (cell->kind == CELL_TEXT && schema_is_missing(cell->text, cell->n)))
        return kind;
    if (cell->kind == CELL_NUMBER || decimal_read(cell->text, cell->n, &value))
        is = SCHEMA_NUMBER;
    else if (when_scan(cell->text, cell->n, &value))
        is = SCHEMA_TIME;
    return kind == SCHEMA_AUTO || kind == is ? is : SCHEMA_CATEGORY;
}

/* The columns but for the id, each with its kind. */
static enum status make_schema(struct schema *s, const struct source *source, const char *id,
                               const struct options *o, struct error *err)
{
    const size_t at = source_column(source, id);

    if (schema_init(s, source->cols) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "%s: %s", o->table, status_words(STATUS_MEMORY));
    s->n = 0;
    for (size_t i = 0; i < source->cols; i++) {
        struct schema_column *c = &s->column[s->n];
        const char *name = source->names + i * SOURCE_NAME_MAX;

        if (i == at)
            continue;
        memcpy(c->name, name, SOURCE_NAME_MAX);
        c->open = true;
        if (o->label != NULL && strcmp(name, o->label) == 0)
            c->kind = SCHEMA_LABEL;
        s->n++;
    }
    s->written = true;
    if (at < source->cols)
        snprintf(s->id, sizeof s->id, "%s", id);
    return STATUS_OK;
}

static enum status look_at_rows(struct schema *s, struct source *source, struct error *err)
{
    const size_t id = source_column(source, s->id);
    bool more = true;

    for (;;) {
        enum status status = source_next(source, &more, err);

        if (status != STATUS_OK || !more)
            return status;
        for (size_t i = 0, column = 0; i < source->cols; i++)
            if (i != id) {
                struct schema_column *c = &s->column[column++];

                if (c->kind != SCHEMA_LABEL)
                    c->kind = narrowed(c->kind, &source->cell[i]);
            }
    }
}

static enum status look(struct schema *s, uint8_t digest[SOURCE_DIGEST_BYTES],
                        const struct options *o, struct error *err)
{
    const char *id = o->id != NULL ? o->id : "id";
    struct source source;
    enum status status = source_open(&source, o->table, &o->source, err);

    if (status != STATUS_OK)
        return status;
    if (o->id != NULL && source_column(&source, o->id) == source.cols)
        status = source_fail(&source, err, "no column \"%s\"", o->id);
    else if (o->label != NULL && source_column(&source, o->label) == source.cols)
        status = source_fail(&source, err, "no column \"%s\"", o->label);
    else if (o->label != NULL && strcmp(o->label, id) == 0)
        status = source_fail(&source, err, "one column cannot be id and label");
    if (status == STATUS_OK)
        status = make_schema(s, &source, id, o, err);
    if (status == STATUS_OK)
        status = look_at_rows(s, &source, err);
    if (status == STATUS_OK)
        source_digest(&source, digest);
    source_close(&source);
    return status;
}

/* Levels, and which columns have gaps; what stands in for them is left to the training rows. */
static enum status fit(struct schema *s, const uint8_t digest[SOURCE_DIGEST_BYTES],
                       const struct options *o, size_t *rows, struct error *err)
{
    const struct intake_want want = {
        .source = o->source, .numbered = true, .limits = &INTAKE_LIMITS};
    struct table t;
    enum status status = intake_read(&t, s, o->table, &want, err);

    if (status != STATUS_OK)
        return status;
    if (t.digested && memcmp(t.digest, digest, SOURCE_DIGEST_BYTES) != 0) {
        table_deinit(&t);
        return error_set(err, STATUS_DATA, "%s: it changed between two times that it was read",
                         o->table);
    }
    s->written = false;
    status = schema_fit(s, &t, NULL, err);
    s->written = true;
    *rows = t.rows;
    for (size_t i = 0; i < s->n; i++)
        s->column[i].filled = false;
    table_deinit(&t);
    return status;
}

/* No schema is handed out that a party would refuse for what it is. */
static enum status check_readable(const struct buf *text, const char *table, struct error *err)
{
    struct schema back;
    struct error why = {0};
    const enum status status =
        schema_parse(&back, (const char *)text->data, text->len, "schema", &why);

    schema_deinit(&back);
    if (status == STATUS_OK || status == STATUS_MEMORY)
        return status == STATUS_OK ? status
                                   : error_set(err, status, "%s: %s", table, status_words(status));
    return error_set(err, STATUS_DATA, "%s: no party could read its schema: %s", table, why.text);
}

static enum status print_schema(const struct schema *s, const struct options *o, size_t rows,
                                struct buf *out, struct error *err)
{
    enum status status =
        buf_printf(out,
                   "# What each column is and how it becomes features (docs/tables.md): to be "
                   "read, and changed.\n# Of a table of %zu rows.\n",
                   rows);

    if (status == STATUS_OK)
        status = schema_print(s, out);
    if (status == STATUS_OK)
        return check_readable(out, o->table, err);
    if (status == STATUS_LIMIT)
        return error_set(err, STATUS_DATA,
                         "%s: its schema would be over %d MiB, more than a party reads", o->table,
                         SCHEMA_TEXT_MAX >> 20);
    return error_set(err, status, "%s: %s", o->table, status_words(status));
}

static enum status write_schema(const struct schema *s, const struct options *o, size_t rows,
                                struct error *err)
{
    struct buf out;
    enum status status;

    buf_init(&out, SCHEMA_TEXT_MAX);
    status = print_schema(s, o, rows, &out, err);
    if (status == STATUS_OK && o->out != NULL)
        status = file_write_atomic(o->out, out.data, out.len, 0600, err);
    else if (status == STATUS_OK)
        fwrite(out.data, 1, out.len, stdout);
    buf_deinit(&out);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.source.digested = true};
    uint8_t digest[SOURCE_DIGEST_BYTES];
    struct schema schema = {0};
    struct error err = {0};
    size_t rows = 0;
    enum status status = read_options(&o, argc, argv, &err);

    if (status == STATUS_OK)
        status = look(&schema, digest, &o, &err);
    if (status == STATUS_OK)
        status = fit(&schema, digest, &o, &rows, &err);
    if (status == STATUS_OK)
        status = write_schema(&schema, &o, rows, &err);
    if (status == STATUS_OK && fflush(stdout) != 0)
        status = error_set(&err, STATUS_IO, "standard output cannot be written");
    if (status != STATUS_OK)
        fprintf(stderr, "vfl prepare: %s\n", err.text);
    schema_deinit(&schema);
    return status_exit_code(status);
}
