/* test_placed_keys.c -- rows found by several keys: what they are called, and counted as, whichever
 * key has found them; and what no key has found.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/placed.h"

#include "common/base/mem.h"
#include "common/data/intake.h"
#include "common/data/validate.h"
#include "common/privacy/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/unit/daemon/kept.h"

enum { PEOPLE = 3 };
#define HEAD "id,nr,name,born,v\n"
#define KEYS "no: nr; who: name,born"

static const char people[] = HEAD "a1,7,Ann,1960,1\na2,8,Bo,1970,2\na3,9,Cy,1980,3\n";

/* By all keys of `key`: what the first one finds of the rows, and the next of what is left. */
static void keep(const char *name, const char *key, const char *text, const uint32_t *const *places)
{
    struct config_align c = {.trim = true, .fold = true};
    struct kept k;

    strcpy(c.key, key);
    strcpy(c.table, scratch_write_text("aligned.csv", text));
    kept_open(&k, &c, name, "", 0);
    for (uint32_t pass = 0; pass < k.ids.keys_n; pass++) {
        uint32_t common = 0;

        for (uint32_t e = 0; e < k.roll.n; e++)
            common += places[pass][e] != ALIGN_NOWHERE;
        kept_pass(&k, pass, places[pass], common);
    }
    kept_close(&k, (uint8_t)name[0]);
}

/* Some are found by number and the others by name. */
static void keep_both(const char *name)
{
    static const uint32_t by_number[PEOPLE] = {ALIGN_NOWHERE, 0, ALIGN_NOWHERE}, by_name[] = {1, 0};

    keep(name, KEYS, people, (const uint32_t *const[]){by_number, by_name});
}

struct read {
    struct placed p;
    struct schema schema;
    struct table table;
};

/* As a party whose align.key is that. */
static enum status read_by(struct read *r, const char *name, const char *key, const char *text,
                           struct error *err)
{
    struct intake_want want = {.kind = SCHEMA_AUTO, .limits = &INTAKE_LIMITS};

    *r = (struct read){.p.there = 0};
    kept_well(placed_open(&r->p, scratch_dir(), name, err), err);
    placed_by_id(&r->p, key);
    want.places = placed_places(&r->p);
    return intake_read(&r->table, &r->schema, scratch_write_text("t.csv", text), &want, err);
}

static void read_free(struct read *r)
{
    table_deinit(&r->table);
    schema_deinit(&r->schema);
    placed_close(&r->p);
}

static void refuse(const char *name, const char *key, const char *text, const char *words)
{
    struct error err = {0};
    struct read r;

    assert_int_equal(read_by(&r, name, key, text, &err), STATUS_DATA);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    schema_deinit(&r.schema);
    placed_close(&r.p);
}

static void bind(struct ledger *l, const char *name, const char *key, const char *text,
                 uint32_t slot[PEOPLE])
{
    struct error err = {0};
    const char *ids[PEOPLE];
    uint32_t *slots;
    struct read r;

    kept_well(read_by(&r, name, key, text, &err), &err);
    assert_int_equal(r.table.rows, PEOPLE);
    for (size_t i = 0; i < PEOPLE; i++)
        ids[i] = validate_own_id(&r.table, i);
    kept_well(ledger_bind(l, &slots, NULL, ids, PEOPLE, &err), &err);
    for (size_t i = 0; i < PEOPLE; i++) /* v is the last feature, and says who it is */
        slot[(int)r.table.x[i * r.table.cols + r.table.cols - 1] - 1] = slots[i];
    mem_free(slots);
    read_free(&r);
}

/* Whoever has a limit for each record must not get it once more by another key.  The column of ids
 * may be a key itself. */
static void test_a_record_is_the_same_one_whichever_key_has_found_it(void **state)
{
    static const uint32_t all[PEOPLE] = {2, 0, 1},
                          none[PEOPLE] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE};
    static const uint8_t secret[LEDGER_KEY_BYTES] = {1};
    struct {
        const char *name, *by, *key;
    } ways[] = {{"n", "no: nr", KEYS},
                {"w", "who: name,born", KEYS},
                {"b", NULL, KEYS},
                {"i", "own: id; no: nr", "own: id; " KEYS},
                {"j", "no: nr; own: id", "own: id; " KEYS}};
    struct error err = {0};
    uint32_t want[PEOPLE];
    struct ledger *l;

    (void)state;
    kept_well(ledger_open(&l, ":memory:", secret, &err), &err);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        uint32_t slot[PEOPLE];

        if (ways[i].by == NULL)
            keep_both(ways[i].name);
        else
            keep(ways[i].name, ways[i].by, people, (const uint32_t *const[]){all, none});
        bind(l, ways[i].name, ways[i].key, people, i == 0 ? want : slot);
        assert_true(want[0] != want[1] && want[1] != want[2] && want[0] != want[2]);
        if (i > 0)
            assert_memory_equal(slot, want, sizeof want);
    }
    ledger_close(l);
}

/* Whether a row has been found shows in no refusal: each has to have an id. */
static void test_a_table_of_several_keys_has_a_column_of_ids(void **state)
{
    (void)state;
    keep_both("b");
    refuse("b", KEYS, "nr,name,born,v\n7,Ann,1960,1\n8,Bo,1970,2\n9,Cy,1980,3\n",
           "no column \"id\", which rows are called by where align.key has names");
    refuse("b", "nr", "nr,name,born,v\n7,Ann,1960,1\n8,Bo,1970,2\n9,Cy,1980,3\n",
           "no column \"id\""); /* the alignment has several */
    refuse("b", KEYS, HEAD "a1,7,Ann,1960,1\n,8,Bo,1970,2\na3,9,Cy,1980,3\n", "t.csv:3: column 1");
    refuse("b", KEYS, HEAD "a1,7,Ann,1960,1\na2,8,Bo,1970,2\na3,9,Cy,1980,3\n,5,Di,1990,4\n",
           "t.csv:5: column 1 \"id\": an id is 1 to 64 bytes");
}

/* Its columns are no features, and need not even be there; nor does each row have an id by it. */
static void test_a_key_that_has_found_nothing_is_no_feature(void **state)
{
    static const uint32_t none[PEOPLE] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE},
                          all[PEOPLE] = {0, 1, 2};
    struct error err = {0};
    struct read r;

    (void)state;
    for (int first = 0; first < 2; first++) { /* it was tried; or was not, since nothing was left */
        keep("z", first ? KEYS : "who: name,born; no: nr", people,
             (const uint32_t *const[]){first ? none : all, first ? all : none});
        kept_well(read_by(&r, "z", KEYS, people, &err), &err);
        assert_int_equal(r.p.file.sections_n, 2);
        assert_int_equal(r.table.rows, PEOPLE);
        assert_string_equal(r.schema.column[0].name, "nr");
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(r.schema.column[i].kind, SCHEMA_IGNORED);
        assert_int_equal(r.schema.column[3].kind, SCHEMA_NUMBER);
        read_free(&r);
        kept_well(read_by(&r, "z", KEYS,
                          "id,name,born,v\na1,Ann,1960,1\na2,Bo,1970,2\na3,Cy,1980,3\na4,,,4\n",
                          &err),
                  &err);
        assert_int_equal(r.table.rows, PEOPLE);
        read_free(&r);
    }
}

/* Who asks by a spelling gets all that are spelled so, in whatever form. */
static void test_a_spelling_is_found_in_each_section_by_its_form(void **state)
{
    static const uint32_t first[] = {0, ALIGN_NOWHERE, 1}, then[] = {0}, added[] = {0};
    struct config_align c = {.trim = true, .key = "no: nr; who: name", .fold = true};
    struct placed_at at = {0};
    struct placed p = {0};
    struct error err = {0};
    struct kept k;

    (void)state;
    strcpy(c.table, scratch_write_text("aligned.csv", "nr,name\nAnn,x\n,ANN\nCy,y\n"));
    kept_open(&k, &c, "s", "", 0);
    kept_pass(&k, 0, first, 2);
    kept_pass(&k, 1, then, 1);
    kept_close(&k, 's');
    c.fold = false;
    strcpy(c.table, scratch_write_text("aligned.csv", "nr,name\nAnn,x\n,ANN\nCy,y\nBen ,z\n"));
    kept_open(&k, &c, "t", "s", 0);
    assert_int_equal(k.roll.n, 1);
    kept_pass(&k, 0, added, 1);
    kept_close(&k, 't');
    kept_well(placed_open(&p, scratch_dir(), "t", &err), &err);
    assert_int_equal(placed_next(&p, "aNN", 3, &at), 0);
    assert_int_equal(placed_next(&p, "aNN", 3, &at), 2);
    assert_int_equal(placed_next(&p, "aNN", 3, &at), PLACES_NONE);
    assert_int_equal(placed_next(&p, "aNN", 3, &at), PLACES_NONE);
    assert_true(placed_spells(&p, 0, "aNN", 3));
    assert_false(placed_spells(&p, 1, "aNN", 3));
    assert_true(placed_spells(&p, 2, "aNN", 3));
    assert_false(placed_spells(&p, 3, "aNN", 3));
    assert_false(placed_spells(&p, 3, "ben", 3)); /* capitals count in that section */
    assert_true(placed_spells(&p, 3, " Ben", 4));
    assert_false(placed_spells(&p, 4, "Ben", 3));
    placed_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_is_the_same_one_whichever_key_has_found_it),
        cmocka_unit_test(test_a_table_of_several_keys_has_a_column_of_ids),
        cmocka_unit_test(test_a_key_that_has_found_nothing_is_no_feature),
        cmocka_unit_test(test_a_spelling_is_found_in_each_section_by_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
