/* table_feed.h -- any bytes as a file of counted rows: a refusal with a text, or a whole table.
 *
 * The first byte of an input chooses between features and labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FUZZ_TABLE_FEED_H
#define COLONNADE_TESTS_FUZZ_TABLE_FEED_H

#include "common/data/array.h"
#include "tests/fuzz/feed.h"

struct table_reader {
    const struct array_format *format;
    float least, most, most_label; /* of a value that is good */
};

static inline int table_feed(const struct table_reader *r, const uint8_t *data, size_t size)
{
    const struct table_want want = {.labels = size > 0 && data[0] % 2 == 1};
    struct error err = {0};
    struct table t;
    char path[FEED_PATH_MAX];
    int fd;

    if (size == 0)
        return 0;
    fd = feed_file(path, data + 1, size - 1);
    if (array_read(&t, path, r->format, &want, &err) == STATUS_OK) {
        CHECK(t.rows > 0 && t.cols > 0 && (!want.labels || t.cols == 1));
        for (size_t i = 0; i < t.rows * t.cols; i++)
            CHECK(t.x[i] >= r->least && t.x[i] <= (want.labels ? r->most_label : r->most));
        CHECK(strcmp(table_id(&t, 0), "0") == 0);
        table_deinit(&t);
    } else {
        CHECK(err.status == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
        CHECK(t.x == NULL && t.id_text == NULL);
    }
    close(fd);
    return 0;
}

#endif
