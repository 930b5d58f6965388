/* schemas.c -- columns of one schema dealt out as those of the table are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/schemas.h"

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/data/schema_text.h"
#include "common/data/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const struct source *from, size_t column)
{
    return from->names + column * SOURCE_NAME_MAX;
}

/* A column that the table lacks, or another one for ids. */
static enum status check(struct split *s, const struct schema *all, const struct source *from,
                         size_t id)
{
    char shown[TEXT_EXCERPT_MAX];

    for (size_t i = 0; i < all->n; i++) {
        const char *name = all->column[i].name;

        text_excerpt(shown, name, strlen(name));
        if (source_column(from, name) == from->cols)
            return error_set(&s->err, STATUS_CONFIG, "%s: %s has no column \"%s\"", s->o.schema,
                             from->path, shown);
    }
    if (all->id[0] == 0 || (id < from->cols && strcmp(all->id, name_of(from, id)) == 0))
        return STATUS_OK;
    text_excerpt(shown, all->id, strlen(all->id));
    return error_set(&s->err, STATUS_CONFIG, "%s: its ids are in \"%s\": say --id", s->o.schema,
                     shown);
}

/* Those of the columns of party p that it has, into room for all. */
static size_t pick(struct schema_column *out, const struct schema *all, const struct split *s,
                   uint32_t p, const char *const *name)
{
    const struct columns *c = &s->columns;
    size_t n = 0;

    for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++)
        for (size_t k = 0; k < all->n; k++)
            if (strcmp(all->column[k].name, name[c->column[i]]) == 0)
                out[n++] = all->column[k];
    return n;
}

static enum status cut(struct split *s, const struct schema *all, const char *const *name)
{
    struct schema own = {.written = true, .given = all->given};
    enum status status = STATUS_OK;

    own.column = mem_alloc(all->n, sizeof *own.column);
    s->schema = mem_alloc(s->columns.parties, sizeof *s->schema);
    if (own.column == NULL || s->schema == NULL)
        status = STATUS_MEMORY;
    for (uint32_t p = 0; p < s->columns.parties && status == STATUS_OK; p++) {
        buf_init(&s->schema[p], SCHEMA_TEXT_MAX);
        own.n = pick(own.column, all, s, p, name);
        status = schema_print(&own, &s->schema[p]);
    }
    mem_free(own.column); /* what its columns point to is that of `all` */
    return status == STATUS_OK
               ? status
               : error_set(&s->err, status, "%s: %s", s->o.schema, status_words(status));
}

enum status schemas_cut(struct split *s, const struct source *from, const size_t *feature,
                        size_t id)
{
    const char **name = mem_alloc(s->features, sizeof *name);
    struct schema all = {0};
    enum status status = name != NULL ? schema_load(&all, s->o.schema, &s->err)
                                      : error_set(&s->err, STATUS_MEMORY, "out of memory");

    for (uint32_t i = 0; i < s->features && status == STATUS_OK; i++)
        name[i] = name_of(from, feature[i]);
    if (status == STATUS_OK)
        status = check(s, &all, from, id);
    if (status == STATUS_OK)
        status = cut(s, &all, name);
    schema_deinit(&all);
    mem_free(name);
    return status;
}

enum status schemas_write(struct split *s)
{
    char path[PATH_MAX];
    enum status status = STATUS_OK;

    for (uint32_t p = 0; p < s->columns.parties && status == STATUS_OK; p++) {
        snprintf(path, sizeof path, "%.*s/party-%u-schema.yaml", SPLIT_FOLDER_MAX, s->o.out, p + 1);
        if (s->schema != NULL)
            status = file_write_atomic(path, s->schema[p].data, s->schema[p].len, 0600, &s->err);
        else if (unlink(path) != 0 && errno != ENOENT)
            status = error_set(&s->err, STATUS_IO, "%s: %s", path, strerror(errno));
    }
    return status;
}

void schemas_deinit(struct split *s)
{
    for (uint32_t p = 0; s->schema != NULL && p < s->columns.parties; p++)
        buf_deinit(&s->schema[p]);
    mem_free(s->schema);
    s->schema = NULL;
}
