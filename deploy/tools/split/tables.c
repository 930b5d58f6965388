/* tables.c -- any source of rows, once through, cell by cell to whom the column belongs.
 *
 * Without a column that is the id, a row's id is made of the digest of its file and its number from
 * 0: two files never share one, and the same file has the same ids again.  Who sees them can try on
 * the digest what the file may hold (docs/tables.md).  Which set a row belongs to hangs on the
 * number alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/tables.h"

#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/csv.h"
#include "common/data/schema.h"
#include "common/data/source.h"
#include "common/data/stream.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "deploy/tools/split/output.h"

#include <string.h>

enum { DIGEST_SHOWN = 8 }; /* bytes of the digest in an id */

struct table_in {
    struct split *split;
    struct source source;
    size_t id, label; /* columns of the source; id: source.cols when there is none */
    size_t *feature;  /* split->features of them */
    uint64_t number;  /* of the present row, from 0 */
    char prefix[2 * DIGEST_SHOWN + 2];
};

static enum status find_roles_without_label(struct table_in *in)
{
    const struct source *s = &in->source;

    if (in->split->o.id != NULL && in->id == s->cols)
        return source_fail(&in->source, &in->split->err, "no column \"%s\"", in->split->o.id);
    if (s->cols < 1 + (size_t)(in->id < s->cols))
        return source_fail(&in->source, &in->split->err, "no columns but ids");
    return STATUS_OK;
}

/* Which column is what: as the options say, or else the first is id and the last label. */
static enum status find_roles(struct table_in *in)
{
    const struct split_options *o = &in->split->o;
    const struct source *s = &in->source;

    in->label = source_column(s, o->label != NULL ? o->label : "label");
    in->id = source_column(s, o->id != NULL ? o->id : "id");
    if (o->predict != NULL && in->label == s->cols)
        return find_roles_without_label(in);
    if (o->label == NULL && (in->label + 1 != s->cols || (o->id == NULL && in->id != 0)))
        return source_fail(&in->source, &in->split->err,
                           "the header must be id, then columns, then label");
    if (in->label == s->cols)
        return source_fail(&in->source, &in->split->err, "no column \"%s\"", o->label);
    if (o->id != NULL && in->id == s->cols)
        return source_fail(&in->source, &in->split->err, "no column \"%s\"", o->id);
    if (in->id == in->label)
        return source_fail(&in->source, &in->split->err,
                           "one column cannot be id and label: \"%s\"", o->id);
    if (s->cols < 2 + (size_t)(in->id < s->cols))
        return source_fail(&in->source, &in->split->err,
                           "the header must be id, then columns, then label");
    return STATUS_OK;
}

/* Whoever reads the parties' files takes these names for something else. */
static enum status check_names(const struct table_in *in)
{
    const struct columns *c = &in->split->columns;

    for (uint32_t i = 0; i < c->first[c->parties]; i++) {
        const char *name = in->source.names + in->feature[c->column[i]] * SOURCE_NAME_MAX;

        if (strcmp(name, "id") == 0 || strcmp(name, "label") == 0)
            return source_fail(&in->source, &in->split->err,
                               "leave out with --columns, or rename, the column \"%s\"", name);
    }
    return STATUS_OK;
}

/* The features of the first file are those of all. */
static enum status open_outputs(struct table_in *in)
{
    struct split *s = in->split;
    const size_t n = in->source.cols - (in->label < in->source.cols) - (in->id < in->source.cols);
    char *names = mem_alloc(n, SOURCE_NAME_MAX);
    enum status status;

    if (names == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        memcpy(names + i * SOURCE_NAME_MAX, in->source.names + in->feature[i] * SOURCE_NAME_MAX,
               SOURCE_NAME_MAX);
    status = output_open(s, &(struct output_shape){.features = (uint32_t)n, .names = names});
    mem_free(names);
    return status == STATUS_OK ? check_names(in) : status;
}

static enum status find_features(struct table_in *in)
{
    size_t n = 0;

    in->feature = mem_alloc(in->source.cols, sizeof *in->feature);
    if (in->feature == NULL)
        return error_set(&in->split->err, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < in->source.cols; i++)
        if (i != in->id && i != in->label)
            in->feature[n++] = i;
    return STATUS_OK;
}

/* --- rows --- */

static void put_header(const struct table_in *in, int set)
{
    const struct columns *c = &in->split->columns;

    for (uint32_t p = 0; p < c->parties; p++) {
        FILE *f = in->split->features_out[set][p];

        fputs("id", f);
        for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++) {
            const char *name = in->source.names + in->feature[c->column[i]] * SOURCE_NAME_MAX;

            fputc(',', f);
            csv_put(f, name, strlen(name));
        }
        fputc('\n', f);
    }
}

static void put_features(const struct table_in *in, int set, const char *id)
{
    const struct columns *c = &in->split->columns;
    char number[SOURCE_NUMBER_MAX];

    for (uint32_t p = 0; p < c->parties; p++) {
        FILE *f = in->split->features_out[set][p];

        fputs(id, f);
        for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++) {
            const struct cell *cell = &in->source.cell[in->feature[c->column[i]]];
            size_t n;
            const char *text = source_text(cell, number, &n);

            fputc(',', f);
            csv_put(f, text, n);
        }
        fputc('\n', f);
    }
}

/* The row's id, and what decides its set. */
static enum status row_id(const struct table_in *in, char id[TABLE_ID_MAX + 1],
                          char decides[TABLE_ID_MAX + 1])
{
    char number[SOURCE_NUMBER_MAX];
    const char *text;
    size_t n;

    if (in->id == in->source.cols) {
        snprintf(decides, TABLE_ID_MAX + 1, "%llu", (unsigned long long)in->number);
        snprintf(id, TABLE_ID_MAX + 1, "%s%llu", in->prefix, (unsigned long long)in->number);
        return STATUS_OK;
    }
    text = source_text(&in->source.cell[in->id], number, &n);
    if (!text_is_plain(text, n, TABLE_ID_MAX))
        return source_fault(&in->source, in->id,
                            "an id is 1 to 64 bytes of printable ASCII without quotes, commas or "
                            "outer spaces",
                            &in->split->err);
    snprintf(id, TABLE_ID_MAX + 1, "%s", text);
    snprintf(decides, TABLE_ID_MAX + 1, "%s", text);
    return STATUS_OK;
}

/* set -1: it goes where its id says. */
static enum status put_row(struct table_in *in, int set)
{
    char id[TABLE_ID_MAX + 1], decides[TABLE_ID_MAX + 1], number[SOURCE_NUMBER_MAX];
    const bool labelled = in->label < in->source.cols;
    size_t n = 0;
    const char *label = labelled ? source_text(&in->source.cell[in->label], number, &n) : "";
    struct split *s = in->split;
    enum status status = row_id(in, id, decides);

    if (status != STATUS_OK)
        return status;
    if (set < 0)
        set = output_set_of(decides);
    if (s->o.predict == NULL && schema_is_missing(label, n))
        return source_fault(&in->source, in->label, "a row without a label", &s->err);
    put_features(in, set, id);
    if (!output_label(s, set, id, label))
        return error_set(&s->err, STATUS_DATA, "%s:%llu: label: no class that --label-map can map",
                         in->source.path, (unsigned long long)in->source.row);
    s->rows[set]++;
    in->number++;
    return STATUS_OK;
}

/* --- files --- */

static enum status make_prefix(struct table_in *in, const char *path)
{
    uint8_t digest[DIGEST_BYTES];
    enum status status = stream_digest(digest, path, &in->split->err);

    if (status != STATUS_OK)
        return status;
    digest_hex(in->prefix, digest, DIGEST_SHOWN);
    strcat(in->prefix, "-");
    return STATUS_OK;
}

/* The names of the first file, for comparison with the second's. */
static enum status same_names(const struct table_in *in, char **first)
{
    const size_t bytes = in->source.cols * SOURCE_NAME_MAX;

    if (*first == NULL) {
        *first = mem_alloc(bytes + SOURCE_NAME_MAX, 1); /* the last one empty */
        if (*first == NULL)
            return error_set(&in->split->err, STATUS_MEMORY, "out of memory");
        memcpy(*first, in->source.names, bytes);
        return STATUS_OK;
    }
    for (size_t i = 0; i <= in->source.cols; i++) {
        const char *name = *first + i * SOURCE_NAME_MAX;

        if (strcmp(name, i < in->source.cols ? in->source.names + i * SOURCE_NAME_MAX : "") != 0)
            return source_fail(&in->source, &in->split->err,
                               "another header than the training file's");
    }
    return STATUS_OK;
}

static enum status put_rows(struct table_in *in, int set)
{
    bool more = true;

    for (int to = 0; to < SPLIT_SETS; to++)
        if (set < 0 || to == set)
            put_header(in, to);
    for (;;) {
        enum status status = source_next(&in->source, &more, &in->split->err);

        if (status == STATUS_OK && more)
            status = put_row(in, set);
        if (status != STATUS_OK || !more)
            return status;
    }
}

static enum status one_file(struct split *s, const char *path, int set, char **first)
{
    const struct source_options options = {.delimiter = s->o.delimiter};
    struct table_in in = {.split = s};
    enum status status = source_open(&in.source, path, &options, &s->err);
    const bool is_first = *first == NULL;

    if (status == STATUS_OK)
        status = find_roles(&in);
    if (status == STATUS_OK)
        status = same_names(&in, first);
    if (status == STATUS_OK && in.id == in.source.cols)
        status = make_prefix(&in, path);
    if (status == STATUS_OK)
        status = find_features(&in);
    if (status == STATUS_OK && is_first)
        status = open_outputs(&in);
    if (status == STATUS_OK)
        status = put_rows(&in, set);
    mem_free(in.feature);
    source_close(&in.source);
    return status;
}

enum status tables_split(struct split *s)
{
    const bool predict = s->o.predict != NULL;
    char *first = NULL;
    enum status status = one_file(s, predict ? s->o.predict : s->o.train,
                                  s->o.test == NULL && !predict ? -1 : 0, &first);

    if (status == STATUS_OK && s->o.test != NULL)
        status = one_file(s, s->o.test, 1, &first);
    mem_free(first);
    return status;
}
