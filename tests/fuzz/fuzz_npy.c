/* fuzz_npy.c -- any bytes as an array of NumPy: a refusal with a text, or a whole table, and a
 * header that is written back says the same.
 *
 * The first byte chooses between features and labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/npy.h"
#include "tests/fuzz/feed.h"

#include <math.h>
#include <string.h>

static void check_header(const char *bytes, size_t n)
{
    char text[NPY_TEXT_MAX];
    struct npy a, back;
    const char *reason;

    if (!npy_parse(&a, bytes, n, &reason))
        return;
    CHECK(a.dim[0] > 0 && a.dim[0] <= TABLE_ROWS_MAX && a.dim[0] <= TABLE_VALUES_MAX / a.dim[1]);
    if (a.dims == 2) {
        n = npy_header(text, &a);
        CHECK(n % 64 == 0 && npy_parse(&back, text + 10, n - 10, &reason));
        CHECK(back.kind == a.kind && back.element == a.element && back.dim[1] == a.dim[1]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct table_want want = {.labels = size > 0 && data[0] % 2 == 1};
    struct error err = {0};
    struct table t;
    char path[FEED_PATH_MAX];
    int fd;

    if (size == 0)
        return 0;
    check_header((const char *)data + 1, size - 1);
    fd = feed_file(path, data + 1, size - 1);
    if (npy_read(&t, path, &want, &err) == STATUS_OK) {
        CHECK(t.rows > 0 && t.cols > 0 && (!want.labels || t.cols == 1));
        for (size_t i = 0; i < t.rows * t.cols; i++)
            CHECK(isfinite(t.x[i]));
        CHECK(strcmp(table_id(&t, 0), "0") == 0);
        table_deinit(&t);
    } else {
        CHECK(err.status == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
        CHECK(t.x == NULL && t.id_text == NULL);
    }
    close(fd);
    return 0;
}
