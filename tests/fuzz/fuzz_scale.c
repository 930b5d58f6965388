/* fuzz_scale.c -- any bytes as a file of scales for a table of two columns: refused, or numbers
 * that scale, and that are the same when they are written and read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/scale.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"

#include <math.h>

enum { COLS = 2, ROWS = 2 };

static struct table table_of(float x[ROWS * COLS])
{
    static char names[COLS * TABLE_NAME_MAX];

    strcpy(names, "age");
    strcpy(names + TABLE_NAME_MAX, "income");
    return (struct table){.rows = ROWS, .cols = COLS, .x = x, .names = names};
}

static void check_same(const struct scale *a, const struct scale *b)
{
    CHECK(a->cols == COLS && b->cols == COLS);
    CHECK(memcmp(a->mean, b->mean, COLS * sizeof *a->mean) == 0);
    CHECK(memcmp(a->sd, b->sd, COLS * sizeof *a->sd) == 0);
}

static void check_again(const struct scale *s, const struct table *t)
{
    const char *path = scratch_path("scale");
    struct scale again;

    CHECK(scale_save(s, t, path, NULL) == STATUS_OK);
    CHECK(scale_load(&again, path, t, NULL) == STATUS_OK);
    check_same(s, &again);
    scale_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    float x[ROWS * COLS] = {1, -2, 0, 4};
    struct table t = table_of(x);
    char path[FEED_PATH_MAX];
    const int fd = feed_file(path, data, size);
    struct error err = {0};
    struct scale s;

    if (scale_load(&s, path, &t, &err) == STATUS_OK) {
        for (size_t j = 0; j < COLS; j++)
            CHECK(isfinite(s.mean[j]) && isfinite(s.sd[j]) && s.sd[j] > 0);
        scale_apply(&s, &t);
        check_again(&s, &t);
        scale_deinit(&s);
    } else {
        CHECK(err.status == STATUS_DATA && s.mean == NULL && s.sd == NULL);
        feed_check_words(err.text);
    }
    close(fd);
    return 0;
}
