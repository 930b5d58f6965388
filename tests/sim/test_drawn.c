/* test_drawn.c -- statistics with noise are drawn once for a table and a schema, whatever is
 * started how often.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/data/schema_text.h"
#include "party/drawn.h"
#include "tests/lib/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { ROWS = 20, NUMBERS = STATISTICS_MOMENTS };

static struct config_party config;
static struct error err;
static float values[ROWS];
static char ids[ROWS * 4];
static uint32_t at[ROWS], own_at[ROWS], own_order[ROWS];
static struct table_own own;

static void lay_out(const char *state)
{
    memset(&config, 0, sizeof config);
    own = (struct table_own){.any = false};
    snprintf(config.state, sizeof config.state, "%s", scratch_path(state));
    snprintf(config.schema, sizeof config.schema, "own.yaml");
    snprintf(config.scale, sizeof config.scale, "dp");
    for (uint32_t i = 0; i < ROWS; i++) {
        values[i] = (float)i;
        at[i] = 4 * i;
        snprintf(ids + at[i], 4, "r%u", (unsigned)i % 100);
    }
}

struct outcome {
    enum status status;
    int64_t number[NUMBERS];
    uint8_t draw[DIGEST_BYTES];
    struct account_entry entry;
    double sigma;
    float fill;
};

/* As a process of its own. */
static struct outcome start(const char *budget, const struct persons *persons, bool looks)
{
    struct outcome o = {.status = STATUS_OK};
    struct table t = {
        .rows = ROWS, .cols = 1, .x = values, .id_text = ids, .id_at = at, .own = own};
    struct drawn d = {0};
    struct schema s;
    char text[512];

    snprintf(text, sizeof text,
             "statistics: dp\nbudget: %s\ncolumns:\n"
             "  - {name: \"a\", kind: number, missing: mean, clip: [0, 20]}\n",
             budget);
    err = (struct error){0};
    if (schema_parse(&s, text, strlen(text), "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    o.status = drawn_begin(&d, &config, &s, &err);
    if (o.status == STATUS_OK)
        o.status = drawn_make(&d, &s, &t, persons, looks, &err);
    if (o.status == STATUS_OK) {
        memcpy(o.number, d.statistics.number, sizeof o.number);
        memcpy(o.draw, d.draw, sizeof o.draw);
        o.entry = d.entry;
        o.sigma = d.statistics.sigma[STATISTICS_OF_MOMENTS];
        o.fill = s.column[0].fill;
    }
    drawn_deinit(&d);
    schema_deinit(&s);
    return o;
}

#define BUDGET "{epsilon: 1, delta: 1e-3}"

static struct outcome drawn(void)
{
    struct outcome o = start(BUDGET, NULL, false);

    if (o.status != STATUS_OK)
        fail_msg("%s", err.text);
    return o;
}

static bool same(const struct outcome *a, const struct outcome *b)
{
    const bool draw = memcmp(a->draw, b->draw, sizeof a->draw) == 0;
    const bool numbers = memcmp(a->number, b->number, sizeof a->number) == 0;

    assert_true(draw == numbers); /* a draw of one number is one draw */
    return draw;
}

/* The names of what is kept; how many. */
static size_t kept(char first[256])
{
    char folder[CONFIG_PATH_MAX + 16];
    size_t n = 0;
    DIR *d;

    snprintf(folder, sizeof folder, "%s/statistics", config.state);
    d = opendir(folder);
    for (struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d))
        if (e->d_name[0] != '.' && n++ == 0)
            snprintf(first, 256, "%s", e->d_name);
    if (d != NULL)
        closedir(d);
    return n;
}

static int clear(void **state)
{
    char name[256], path[2 * CONFIG_PATH_MAX];

    (void)state;
    for (; kept(name) > 0; remove(path))
        snprintf(path, sizeof path, "%s/statistics/%s", config.state, name);
    snprintf(path, sizeof path, "%s/statistics", config.state);
    (void)remove(path);
    snprintf(path, sizeof path, "%s/ledger.key", config.state);
    (void)remove(path);
    snprintf(path, sizeof path, "%s/lock", config.state);
    (void)remove(path);
    return remove(config.state) == 0 || errno == ENOENT ? 0 : -1;
}

static void test_a_restart_does_not_draw_again(void **state)
{
    struct outcome a, b;
    char name[256];

    (void)state;
    lay_out("again");
    a = drawn();
    b = drawn();
    assert_true(same(&a, &b) && a.fill == b.fill);
    assert_int_equal(kept(name), 1);
    b = start(BUDGET, NULL, true);
    assert_true(same(&a, &b));
}

static void
test_other_rows_or_another_schema_have_a_draw_of_their_own_and_the_first_stays(void **state)
{
    struct outcome a, b, c;
    char name[256];

    (void)state;
    lay_out("other");
    a = drawn();
    values[7] += 1;
    b = drawn();
    assert_false(same(&a, &b));
    values[7] -= 1;
    ids[at[7]] = 'q'; /* another record */
    b = drawn();
    assert_false(same(&a, &b));
    ids[at[7]] = 'r';
    c = start("{epsilon: 1.5, delta: 1e-3}", NULL, false);
    assert_int_equal(c.status, STATUS_OK);
    assert_false(same(&a, &c));
    assert_true(c.sigma < a.sigma);
    b = drawn();
    assert_true(same(&a, &b));
    assert_int_equal(kept(name), 4);
}

/* Who removes it draws anew, under a number that the ledger has not seen paid. */
/* Rows of an alignment, in one order of places or the other. */
static void place(bool turned)
{
    own = (struct table_own){.any = true, .text = ids, .at = own_at, .order = own_order};
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t row = turned ? ROWS - 1 - i : i;

        values[i] = (float)row;
        own_at[i] = at[row];
        own_order[row] = i;
    }
}

/* Or each alignment would cost a budget. */
static void test_the_same_rows_at_other_places_have_one_draw(void **state)
{
    struct outcome a, b;

    (void)state;
    lay_out("places");
    place(false);
    a = drawn();
    place(true);
    b = drawn();
    assert_true(same(&a, &b));
    values[0]++;
    b = drawn();
    assert_false(same(&a, &b));
}

static void test_a_draw_that_is_gone_is_another_one(void **state)
{
    struct outcome a, b;
    char name[256], path[2 * CONFIG_PATH_MAX];

    (void)state;
    lay_out("gone");
    a = drawn();
    assert_int_equal(kept(name), 1);
    snprintf(path, sizeof path, "%s/statistics/%s", config.state, name);
    assert_int_equal(remove(path), 0);
    b = drawn();
    assert_false(same(&a, &b));
    assert_int_equal(kept(name), 1); /* of the same name */
}

/* Nor does its name: whoever has the folder alone can try no values on it. */
static void test_a_changed_file_is_refused_and_tells_nothing(void **state)
{
    char name[256], path[2 * CONFIG_PATH_MAX];
    struct outcome a, b;
    struct stat is;
    FILE *f;

    (void)state;
    lay_out("changed");
    a = drawn();
    assert_int_equal(kept(name), 1);
    snprintf(path, sizeof path, "%s/statistics/%s", config.state, name);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fputc(fgetc(f) ^ 1, f) == EOF, 0);
    fclose(f);
    b = start(BUDGET, NULL, false);
    assert_int_equal(b.status, STATUS_CONFIG);
    assert_non_null(strstr(err.text, "statistics: dp"));
    assert_int_equal(clear(NULL), 0);
    lay_out("changed2");
    b = drawn(); /* the same rows elsewhere, under another key */
    assert_false(same(&a, &b));
    assert_int_equal(kept(path), 1);
    assert_string_not_equal(path, name);
}

static void test_a_look_draws_and_writes_nothing(void **state)
{
    struct outcome a, b;
    struct stat is;

    (void)state;
    lay_out("look");
    a = start(BUDGET, NULL, true);
    assert_int_equal(a.status, STATUS_OK);
    assert_true(stat(config.state, &is) != 0);
    values[3] = 19;
    b = start(BUDGET, NULL, true);
    assert_true(same(&a, &b) && a.fill == 10); /* the middle of the range, of no row */
    assert_true(a.entry.clip > 0 && a.entry.releases == ROWS);
}

/* A person's rows change together: as many times the noise, the same charge, once a person. */
static void test_persons_have_the_noise_of_their_rows(void **state)
{
    static uint32_t rows[4] = {8, 6, 6, 0};
    const struct persons persons = {.group.n = 4, .train = rows, .most = 8, .train_rows = ROWS};
    struct outcome a, b;

    (void)state;
    lay_out("persons");
    a = drawn();
    b = start(BUDGET, &persons, false);
    assert_int_equal(b.status, STATUS_OK);
    assert_true(b.sigma > 7.999999 * a.sigma && b.sigma < 8.000001 * a.sigma);
    assert_true(b.entry.persons && !a.entry.persons && b.entry.clip == a.entry.clip);
    assert_int_equal(a.entry.releases, ROWS);
    assert_int_equal(b.entry.releases, 3);
    assert_false(same(&a, &b));
}

static void test_a_delta_of_one_in_the_rows_is_refused(void **state)
{
    float more[1000] = {0};
    char text[] = "x";
    uint32_t zero[1000] = {0};
    struct table t = {.rows = 1000, .cols = 1, .x = more, .id_text = text, .id_at = zero};
    struct schema s;
    struct drawn d;
    static const char schema[] = "statistics: dp\nbudget: " BUDGET "\ncolumns:\n"
                                 "  - {name: \"a\", kind: number, missing: mean, clip: [0, 20]}\n";

    (void)state;
    lay_out("delta");
    assert_int_equal(schema_parse(&s, schema, strlen(schema), "s", &err), STATUS_OK);
    assert_int_equal(drawn_begin(&d, &config, &s, &err), STATUS_OK);
    assert_int_equal(drawn_make(&d, &s, &t, NULL, false, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "own.yaml: budget.delta 0.001 is not below one over 1000"));
    drawn_deinit(&d);
    schema_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_restart_does_not_draw_again, clear),
        cmocka_unit_test_teardown(
            test_other_rows_or_another_schema_have_a_draw_of_their_own_and_the_first_stays, clear),
        cmocka_unit_test_teardown(test_the_same_rows_at_other_places_have_one_draw, clear),
        cmocka_unit_test_teardown(test_a_draw_that_is_gone_is_another_one, clear),
        cmocka_unit_test_teardown(test_a_changed_file_is_refused_and_tells_nothing, clear),
        cmocka_unit_test_teardown(test_a_look_draws_and_writes_nothing, clear),
        cmocka_unit_test_teardown(test_persons_have_the_noise_of_their_rows, clear),
        cmocka_unit_test_teardown(test_a_delta_of_one_in_the_rows_is_refused, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
