/* fuzz_csv.c -- any bytes as a CSV file (plain or gzip): a refusal with a text, or a table that
 * keeps its promises, and becomes features that do.
 *
 * The first byte chooses between features and labels, and between numbers alone and anything.
 * SQLite opens files by their names, and these have none: what begins like one of its files is left
 * to tests/unit/data/test_sqlite.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/group.h"
#include "common/data/intake.h"
#include "common/data/order.h"
#include "common/data/schema_fit.h"
#include "common/data/text.h"
#include "tests/fuzz/feed.h"

#include <math.h>
#include <string.h>

static void check_values(const struct table *t)
{
    CHECK(t->rows > 0 && t->cols > 0);
    for (size_t i = 0; i < t->rows * t->cols; i++)
        CHECK(isfinite(t->x[i]));
    for (size_t i = 0; i < t->cols; i++)
        CHECK(memchr(t->names + i * TABLE_NAME_MAX, 0, TABLE_NAME_MAX) != NULL);
}

static void check_ids(const struct table *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        const char *id = table_id(t, i), *before = i > 0 ? table_id(t, i - 1) : NULL;

        CHECK(text_is_plain(id, strlen(id), TABLE_ID_MAX));
        CHECK(i == 0 || id == before + strlen(before) + 1);
        CHECK(i == 0 || order_compare(before, strlen(before), id, strlen(id)) < 0);
    }
}

/* Each row has a name of its own, or all are refused. */
static void check_group(const struct table *t, const char *path, const char *name)
{
    struct error err = {0};
    struct group g = {0};

    if (group_read(&g, &(struct group_from){.path = path, .column = name}, t, &err) == STATUS_OK) {
        CHECK(group_number(&g, &err) == STATUS_OK && g.rows == t->rows && g.n <= g.rows);
        for (size_t i = 0; i < g.rows; i++) {
            const char *who = group_name(&g, i);

            CHECK(g.of[i] < g.n && text_is_plain(who, strlen(who), TABLE_ID_MAX));
        }
    } else {
        CHECK(err.status == STATUS_DATA && strstr(err.text, "data.group") != NULL);
    }
    group_deinit(&g);
}

/* Each row has a place of its own, or all are refused. */
static void check_places(const struct table *t, const char *path, const char *name)
{
    const struct group_from from = {.path = path, .column = name};
    struct error err = {0};
    uint32_t *place;
    uint64_t sum = 0;

    if (group_places(&place, &from, t, &err) == STATUS_OK) {
        for (size_t i = 0; i < t->rows; i++) {
            CHECK(place[i] < t->rows);
            sum += place[i];
        }
        CHECK(sum == (uint64_t)t->rows * (t->rows - 1) / 2);
    } else {
        CHECK(err.status == STATUS_DATA && place == NULL);
    }
    mem_free(place);
}

/* What was read, and read again by the schema that came of it, becomes the same features. */
static void prepare(struct table *t, struct schema *schema, const struct intake_want *want,
                    const char *path)
{
    struct table again;
    struct error err = {0};
    size_t unseen, filled;

    check_ids(t);
    if (schema->n == 0) /* IDX */
        return;
    CHECK(schema_fit(schema, t, NULL, &err) == STATUS_OK);
    CHECK(intake_read(&again, schema, path, want, &err) == STATUS_OK);
    if (schema_apply(schema, t, &unseen, &filled, &err) == STATUS_OK) {
        CHECK(unseen == 0 && filled == 0);
        check_values(t);
        CHECK(schema_apply(schema, &again, &unseen, &filled, &err) == STATUS_OK);
        CHECK(again.rows == t->rows && again.cols == t->cols);
        CHECK(memcmp(again.x, t->x, t->rows * t->cols * sizeof *t->x) == 0);
    }
    table_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char sqlite[] = "SQLite format 3"; /* and its final 0 */
    const struct intake_limits limits = {.rows_max = 1000, .values_max = 100000};
    const uint8_t how = size > 0 ? data[0] : 0;
    const struct intake_want want = {.source.line_max = 4096,
                                     .labels = how % 2 == 1,
                                     .group = how % 4 == 2 ? "g" : NULL,
                                     .time = (how & 0xf0) == 0x90 ? "t" : NULL,
                                     .kind = how & 8 ? SCHEMA_NUMBER : SCHEMA_AUTO,
                                     .complete = (how & 8) != 0,
                                     .limits = &limits};
    struct schema schema = {0};
    struct error err = {0};
    struct table t;
    char path[FEED_PATH_MAX];
    int fd;

    if (size == 0 || (size > sizeof sqlite && memcmp(data + 1, sqlite, sizeof sqlite) == 0))
        return 0;
    fd = feed_file(path, data + 1, size - 1);
    if (intake_read(&t, &schema, path, &want, &err) == STATUS_OK) {
        prepare(&t, &schema, &want, path);
        if (want.group != NULL)
            check_group(&t, path, want.group);
        if (want.time != NULL)
            check_places(&t, path, want.time);
        table_deinit(&t);
        schema_deinit(&schema);
    } else {
        CHECK(err.status == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
        feed_check_words(err.text);
        CHECK(t.x == NULL && t.id_text == NULL && t.names == NULL && schema.n == 0);
    }
    close(fd);
    return 0;
}
