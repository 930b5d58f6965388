/* bench_rows.c -- CSV of plain numbers into a table, beside fgets and strtof over the same file.
 *
 * Absolute figures belong to the machine; the ratios of one run are what travels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/data/intake.h"
#include "tests/lib/median.h"
#include "tests/lib/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, COLS = 200, REPETITIONS = 5, LINE_MAX_BYTES = COLS * 24 };

struct shape {
    const char *name;
    int decimals;
    double largest;
};

static const struct shape SHAPES[] = {
    {"whole numbers", 0, 1000.0},
    {"3 decimals", 3, 10.0},
    {"9 decimals", 9, 1.0},
};

static size_t write_file(const char *path, const struct shape *shape)
{
    FILE *f = fopen(path, "w");
    size_t bytes;

    CHECK(f != NULL);
    fputs("id", f);
    for (int c = 0; c < COLS; c++)
        fprintf(f, ",c%d", c);
    srand(1);
    for (int r = 0; r < ROWS; r++) {
        fprintf(f, "\n%d", r);
        for (int c = 0; c < COLS; c++) {
            const double x = shape->largest * (2.0 * rand() / RAND_MAX - 1.0);

            fprintf(f, ",%.*f", shape->decimals, x);
        }
    }
    fputc('\n', f);
    bytes = (size_t)ftell(f);
    CHECK(fclose(f) == 0);
    return bytes;
}

static void by_strtof(const char *path, float *x)
{
    static char line[LINE_MAX_BYTES];
    FILE *f = fopen(path, "r");

    CHECK(f != NULL && fgets(line, sizeof line, f) != NULL);
    while (fgets(line, sizeof line, f) != NULL) {
        char *at = strchr(line, ',');

        for (int c = 0; c < COLS; c++)
            *x++ = strtof(at + 1, &at);
    }
    CHECK(fclose(f) == 0);
}

static void by_intake(const char *path, const float *expected)
{
    const struct intake_want want = {.numbered = true, .limits = &INTAKE_LIMITS};
    struct schema schema = {0};
    struct table t;
    struct error err;

    CHECK(intake_read(&t, &schema, path, &want, &err) == STATUS_OK);
    for (size_t r = 0; expected != NULL && r < t.rows; r++)
        CHECK(memcmp(t.x + r * COLS, expected + strtoul(table_id(&t, r), NULL, 10) * COLS,
                     COLS * sizeof *t.x) == 0);
    table_deinit(&t);
    schema_deinit(&schema);
}

static void compare(const char *path, const struct shape *shape)
{
    const size_t bytes = write_file(path, shape);
    float *x = calloc((size_t)ROWS * COLS, sizeof *x);
    double naive[REPETITIONS], ours[REPETITIONS], n, o;

    CHECK(x != NULL);
    for (int k = 0; k < REPETITIONS; k++) {
        double start = clock_cpu_s();

        by_strtof(path, x);
        naive[k] = clock_cpu_s() - start;
        start = clock_cpu_s();
        by_intake(path, NULL);
        ours[k] = clock_cpu_s() - start;
    }
    by_intake(path, x);
    n = 1e-6 * (double)bytes / median(naive, REPETITIONS);
    o = 1e-6 * (double)bytes / median(ours, REPETITIONS);
    printf("%-14s strtof %6.1f MB/s   intake %6.1f MB/s = %.1f x\n", shape->name, n, o, o / n);
    free(x);
}

int main(void)
{
    const char *path = scratch_path("rows.csv");

    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        compare(path, &SHAPES[i]);
    return 0;
}
