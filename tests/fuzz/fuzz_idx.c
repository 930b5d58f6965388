/* fuzz_idx.c -- any bytes as an IDX file (plain or gzip): a refusal with a text, or a whole table.
 *
 * The first byte chooses between features and labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/idx.h"
#include "tests/fuzz/feed.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct table_want want = {.labels = size > 0 && data[0] % 2 == 1};
    struct error err = {0};
    struct table t;
    char path[FEED_PATH_MAX];
    int fd;

    if (size == 0)
        return 0;
    fd = feed_file(path, data + 1, size - 1);
    if (idx_read(&t, path, &want, &err) == STATUS_OK) {
        CHECK(t.rows > 0 && t.cols > 0 && (!want.labels || t.cols == 1));
        for (size_t i = 0; i < t.rows * t.cols; i++)
            CHECK(t.x[i] >= 0 && t.x[i] <= (want.labels ? 255 : 1));
        CHECK(strcmp(table_id(&t, 0), "0") == 0);
        table_deinit(&t);
    } else {
        CHECK(err.status == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
        CHECK(t.x == NULL && t.id_text == NULL);
    }
    close(fd);
    return 0;
}
