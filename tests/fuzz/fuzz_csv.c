/* fuzz_csv.c -- any bytes as a CSV file (plain or gzip): a refusal with a text, or a table that
 * keeps its promises.
 *
 * The first byte chooses between features and labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/csv.h"
#include "common/data/group.h"
#include "common/data/order.h"
#include "common/data/text.h"
#include "tests/fuzz/feed.h"

#include <math.h>
#include <string.h>

static void check_table(const struct table *t, const struct table_want *want)
{
    CHECK(t->rows > 0 && t->cols > 0 && (!want->labels || t->cols == 1));
    for (size_t i = 0; i < t->rows * t->cols; i++)
        CHECK(isfinite(t->x[i]));
    for (size_t i = 0; i < t->rows; i++) {
        const char *id = table_id(t, i), *before = i > 0 ? table_id(t, i - 1) : NULL;

        CHECK(text_is_plain(id, strlen(id), TABLE_ID_MAX));
        CHECK(i == 0 || id == before + strlen(before) + 1);
        CHECK(i == 0 || order_compare(before, strlen(before), id, strlen(id)) < 0);
    }
    for (size_t i = 0; i < t->cols; i++) {
        const char *name = t->names + i * TABLE_NAME_MAX;

        CHECK(text_is_plain(name, strlen(name), TABLE_NAME_MAX - 1));
        CHECK((strcmp(name, "label") == 0) == want->labels);
    }
}

/* Each row has a name of its own, or all are refused. */
static void check_group(const struct table *t, const char *path, const char *name)
{
    struct error err = {0};
    struct group g = {0};

    for (size_t i = 0; i < t->cols; i++)
        CHECK(strcmp(t->names + i * TABLE_NAME_MAX, name) != 0);
    if (group_read(&g, path, name, t, &err) == STATUS_OK) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct csv_limits limits = {.line_max = 4096, .rows_max = 1000, .values_max = 100000};
    struct table_want want = {.labels = size > 0 && data[0] % 2 == 1,
                              .group = size > 0 && data[0] % 4 == 2 ? "g" : NULL};
    struct error err = {0};
    struct table t;
    char path[FEED_PATH_MAX];
    int fd;

    if (size == 0)
        return 0;
    fd = feed_file(path, data + 1, size - 1);
    if (csv_read(&t, path, &want, &limits, &err) == STATUS_OK) {
        check_table(&t, &want);
        if (want.group != NULL)
            check_group(&t, path, want.group);
        table_deinit(&t);
    } else {
        CHECK(err.status == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
        feed_check_words(err.text);
        CHECK(t.x == NULL && t.id_text == NULL && t.names == NULL);
    }
    close(fd);
    return 0;
}
