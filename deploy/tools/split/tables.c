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
#include "common/config/key_text.h"
#include "common/crypto/digest.h"
#include "common/data/csv.h"
#include "common/data/schema.h"
#include "common/data/source.h"
#include "common/data/stream.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "deploy/tools/split/output.h"
#include "deploy/tools/split/schemas.h"
#include "deploy/tools/split/sets.h"

#include <string.h>

enum { DIGEST_SHOWN = 8 }; /* bytes of the digest in an id */

struct table_in {
    struct split *split;
    struct source source;
    size_t id;        /* column of the source; source.cols when there is none */
    size_t shared[2]; /* whose a row is, and when it was: what there is of these, for everybody */
    size_t shares;
    size_t decides; /* whose or when, where that says which set a row belongs to */
    struct sets sets;
    size_t *label; /* split->labels of them; of rows to be predicted those that are there */
    size_t *feature, features;
    bool *taken;     /* by column of the source: it is none of these */
    uint64_t number; /* of the present row, from 0 */
    char prefix[2 * DIGEST_SHOWN + 2];
};

static enum status no_column(struct table_in *in, const char *name)
{
    return source_fail(&in->source, &in->split->err, "no column \"%s\"", name);
}

/* One role for each column. */
static enum status take_column(struct table_in *in, size_t column, const char *name)
{
    if (in->taken[column])
        return source_fail(
            &in->source, &in->split->err,
            "one column cannot be id, label, group and time, or one of them twice: \"%s\"", name);
    in->taken[column] = true;
    return STATUS_OK;
}

/* The next name of "a+b+c", one that has a + in "quotes", or NULL where it is none. */
static const char *next_label(char out[SOURCE_NAME_MAX], const char *at)
{
    const bool quoted = *at == '"';
    const size_t n = strcspn(at + quoted, quoted ? "\"" : "+");
    const char *end = at + quoted + n;

    if (n == 0 || n >= SOURCE_NAME_MAX || (quoted && *end++ != '"') || (*end != '+' && *end != 0))
        return NULL;
    memcpy(out, at + quoted, n);
    out[n] = 0;
    return *end == '+' ? end + 1 : end;
}

static enum status find_labels(struct table_in *in)
{
    const struct split_options *o = &in->split->o;
    const struct source *s = &in->source;
    const char *at = o->label != NULL ? o->label : "label";
    const bool one = source_column(s, at) < s->cols;
    uint32_t n = 0;

    for (bool more = true; more;) {
        char name[SOURCE_NAME_MAX];
        size_t column;

        if (one)
            snprintf(name, sizeof name, "%s", at);
        else if ((at = next_label(name, at)) == NULL)
            return error_set(&in->split->err, STATUS_CONFIG,
                             "--label %s: one column, or several like a+b+\"c+d\"", o->label);
        more = !one && *at != 0;
        column = source_column(s, name);
        if (column == s->cols && split_bare(o))
            continue;
        if (column == s->cols)
            return no_column(in, name);
        if (take_column(in, column, name) != STATUS_OK)
            return in->split->err.status;
        in->label[n++] = column;
    }
    in->split->labels = n;
    if (n > 1 && in->split->map != MAP_NONE)
        return error_set(&in->split->err, STATUS_CONFIG, "--label-map: is for one label");
    return STATUS_OK;
}

/* A column that every side gets; NULL: there is none. */
static enum status find_shared(struct table_in *in, const char *name)
{
    const size_t column = name != NULL ? source_column(&in->source, name) : 0;

    if (name == NULL)
        return STATUS_OK;
    if (column == in->source.cols)
        return no_column(in, name);
    in->shared[in->shares++] = column;
    return take_column(in, column, name);
}

/* Which column is what: as the options say, or else the first is id and the last label. */
static enum status find_roles(struct table_in *in)
{
    const struct split_options *o = &in->split->o;
    const struct source *s = &in->source;
    const size_t label = source_column(s, "label");

    in->id = source_column(s, o->id != NULL ? o->id : "id");
    if (o->label == NULL && (!split_bare(o) || label < s->cols) &&
        (label + 1 != s->cols || (o->id == NULL && in->id != 0)))
        return source_fail(&in->source, &in->split->err,
                           "the header must be id, then columns, then label");
    if (find_labels(in) != STATUS_OK)
        return in->split->err.status;
    if (o->id != NULL && in->id == s->cols)
        return no_column(in, o->id);
    if (in->id < s->cols && take_column(in, in->id, o->id != NULL ? o->id : "id") != STATUS_OK)
        return in->split->err.status;
    if (find_shared(in, o->group) != STATUS_OK || find_shared(in, o->time) != STATUS_OK)
        return in->split->err.status;
    in->decides =
        in->shares > 0 && o->test_by == VALIDATE_TIME ? in->shared[in->shares - 1] : in->shared[0];
    if (memchr(in->taken, false, s->cols) == NULL)
        return source_fail(&in->source, &in->split->err,
                           o->predict != NULL ? "no columns but ids"
                                              : "the header must be id, then columns, then label");
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
    const size_t n = in->features;
    char *names = mem_alloc(n, SOURCE_NAME_MAX);
    enum status status;

    if (names == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        memcpy(names + i * SOURCE_NAME_MAX, in->source.names + in->feature[i] * SOURCE_NAME_MAX,
               SOURCE_NAME_MAX);
    status = output_open(s, &(struct output_shape){.features = (uint32_t)n, .names = names});
    mem_free(names);
    if (status == STATUS_OK)
        status = check_names(in);
    return status == STATUS_OK && s->o.schema != NULL
               ? schemas_cut(s, &in->source, in->feature, in->id)
               : status;
}

static enum status find_features(struct table_in *in)
{
    enum status status;

    in->feature = mem_alloc(in->source.cols, sizeof *in->feature);
    in->label = mem_alloc(in->source.cols, sizeof *in->label);
    in->taken = mem_alloc(in->source.cols, sizeof *in->taken);
    if (in->feature == NULL || in->label == NULL || in->taken == NULL)
        return error_set(&in->split->err, STATUS_MEMORY, "out of memory");
    status = find_roles(in);
    for (size_t i = 0; i < in->source.cols && status == STATUS_OK; i++)
        if (!in->taken[i])
            in->feature[in->features++] = i;
    return status;
}

/* --- rows --- */

static void put_name(const struct table_in *in, FILE *f, size_t column)
{
    const char *name = in->source.names + column * SOURCE_NAME_MAX;

    fputc(',', f);
    csv_put(f, name, strlen(name));
}

/* Of the labels: one is called label, several by their own names. */
static void put_labels_header(const struct table_in *in, int set)
{
    const struct split *s = in->split;
    FILE *f = s->labels_out[set];

    if (split_bare(&s->o))
        return;
    fputs(s->labels == 1 ? "id,label" : "id", f);
    for (uint32_t i = 0; s->labels > 1 && i < s->labels; i++)
        put_name(in, f, in->label[i]);
    for (size_t i = 0; i < in->shares; i++)
        put_name(in, f, in->shared[i]);
    fputc('\n', f);
}

static void put_header(const struct table_in *in, int set)
{
    const struct columns *c = &in->split->columns;

    put_labels_header(in, set);

    for (uint32_t p = 0; p < c->parties; p++) {
        FILE *f = in->split->features_out[set][p];

        fputs("id", f);
        for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++)
            put_name(in, f, in->feature[c->column[i]]);
        for (size_t i = 0; i < in->shares; i++)
            put_name(in, f, in->shared[i]);
        fputc('\n', f);
    }
}

static void put_cell(const struct table_in *in, FILE *f, size_t column)
{
    char number[SOURCE_NUMBER_MAX];
    size_t n;
    const char *text = source_text(&in->source.cell[column], number, &n);

    fputc(',', f);
    csv_put(f, text, n);
}

static void put_features(const struct table_in *in, int set, const char *id)
{
    const struct columns *c = &in->split->columns;

    for (uint32_t p = 0; p < c->parties; p++) {
        FILE *f = in->split->features_out[set][p];

        fputs(id, f);
        for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++)
            put_cell(in, f, in->feature[c->column[i]]);
        for (size_t i = 0; i < in->shares; i++)
            put_cell(in, f, in->shared[i]);
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

/* The one label, which is not missing, or several, each of which may be. */
static enum status put_labels(const struct table_in *in, int set, const char *id)
{
    struct split *s = in->split;
    FILE *f = s->labels_out[set];
    char number[SOURCE_NUMBER_MAX];
    const char *label = "";
    size_t n = 0;

    if (s->labels > 1) {
        fputs(id, f);
        for (uint32_t i = 0; i < s->labels && !split_bare(&s->o); i++)
            put_cell(in, f, in->label[i]);
    } else {
        if (s->labels == 1)
            label = source_text(&in->source.cell[in->label[0]], number, &n);
        if (!split_bare(&s->o) && schema_is_missing(label, n))
            return source_fault(&in->source, in->label[0], "a row without a label", &s->err);
        if (!output_label(s, set, id, label))
            return error_set(&s->err, STATUS_DATA,
                             "%s:%llu: label: no class that --label-map can map", in->source.path,
                             (unsigned long long)in->source.row);
    }
    for (size_t i = 0; i < in->shares && !split_bare(&s->o); i++)
        put_cell(in, f, in->shared[i]);
    fputc('\n', f);
    return STATUS_OK;
}

/* set -1: it goes where its id says. */
static enum status put_row(struct table_in *in, int set)
{
    char id[TABLE_ID_MAX + 1], decides[TABLE_ID_MAX + 1];
    enum status status = row_id(in, id, decides);

    if (status != STATUS_OK)
        return status;
    if (set < 0)
        status = sets_of_row(&set, &in->sets, in->split, &in->source, in->decides, decides);
    if (status == STATUS_OK)
        status = put_labels(in, set, id);
    if (status != STATUS_OK)
        return status;
    put_features(in, set, id);
    in->split->rows[set]++;
    in->number++;
    return STATUS_OK;
}

/* --- files --- */

static enum status make_prefix(struct table_in *in, const char *path)
{
    uint8_t digest[SOURCE_DIGEST_BYTES];
    enum status status;

    if (key_text_is_server(path))
        return source_fail(&in->source, &in->split->err,
                           "rows of a server have no numbers that stay: name the ids by --id");
    status = source_file_digest(&in->source, digest, &in->split->err);
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

/* Of a table that is read twice: every cell was what it was the first time. */
static enum status same_rows(struct table_in *in)
{
    uint8_t digest[SOURCE_DIGEST_BYTES];

    source_digest(&in->source, digest);
    if (memcmp(digest, in->sets.digest, sizeof digest) == 0)
        return STATUS_OK;
    return source_fail(&in->source, &in->split->err,
                       "it changed between two times that it was read");
}

static enum status one_file(struct split *s, const char *path, int set, char **first)
{
    const bool twice = set < 0 && s->o.test_by == VALIDATE_TIME, is_first = *first == NULL;
    const struct source_options options = {.delimiter = s->o.delimiter, .digested = twice};
    struct table_in in = {.split = s};
    enum status status = twice ? sets_read_times(&in.sets, s, path) : STATUS_OK;

    if (status == STATUS_OK)
        status = source_open(&in.source, path, &options, &s->err);
    if (status == STATUS_OK)
        status = find_features(&in);
    if (status == STATUS_OK)
        status = same_names(&in, first);
    if (status == STATUS_OK && in.id == in.source.cols)
        status = make_prefix(&in, path);
    if (status == STATUS_OK && is_first)
        status = open_outputs(&in);
    if (status == STATUS_OK)
        status = put_rows(&in, set);
    if (status == STATUS_OK && twice)
        status = same_rows(&in);
    mem_free(in.feature);
    mem_free(in.label);
    mem_free(in.taken);
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
