/* test_align_random.c -- lists of people as they come: of 2 to 20 parties and a server, in any
 * order, in several spellings, with duplicates under each rule, with much or nothing in common.
 *
 * The law: what every side keeps is the intersection of the lists, as sets have it, in one order.
 * ALIGN_CASES=N in the environment plays so many; ALIGN_FIRST=N begins with another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/roll.h"
#include "tests/lib/scratch.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES_MAX = 20, PEOPLE_MAX = 20, ROWS_MAX = 12, CASES = 200 };
#define HOUR_US UINT64_C(3600000000)

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t drawn;

static uint32_t below(uint32_t n)
{
    uint64_t z = drawn += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

struct people {
    struct config_align rule;
    uint32_t parties, people, common, columns;
};

static struct people draw_people(void)
{
    struct people p = {.parties = below(8) == 0 ? 2 + below(PARTIES_MAX - 1) : 2 + below(4)};

    p.people = 2 + below(PEOPLE_MAX - 1);
    p.common = below(3) == 0 ? 0 : below(p.people < 6 ? p.people : 6);
    p.columns = 1 + below(2);
    p.rule =
        (struct config_align){.trim = true,
                              .fold = below(2) == 0,
                              .unicode = below(2) == 0 ? CONFIG_UNICODE_NFC : CONFIG_UNICODE_NFKC,
                              .duplicates = (enum config_duplicates)below(3)};
    if (p.columns == 2)
        strcpy(p.rule.key, "family,first");
    return p;
}

static struct sim_list *list_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->list : &s->party[who].list;
}

/* One person as a clerk writes it: a row of one or two cells, and a column that is nobody's. */
static size_t write_row(char *out, size_t room, const struct people *p, uint32_t person)
{
    static const char *const around[] = {"", " ", "  ", "\t"};
    const char *family = p->rule.fold && below(2) == 0 ? "NU\xc3\x91"
                                                         "EZ"
                                                       : "nu\xc3\xb1"
                                                         "ez";
    const char *umlaut = below(2) == 0 ? "\xc3\xa4" : "a\xcc\x88"; /* composed, or not */
    const char *before = around[below(4)], *behind = around[below(3)];

    if (p->columns == 1)
        return (size_t)snprintf(out, room, "%u,%s%s%s%u%s\n", below(9), before, family, umlaut,
                                person, behind);
    return (size_t)snprintf(out, room, "%u,%s%s%u%s,\"%s,%u\"\n", below(9), before, family,
                            person % 4, behind, umlaut, person / 4);
}

/* Who is in that table, in its order: the common ones, and others, some of them twice. */
static uint32_t draw_rows(const struct people *p, uint32_t row[ROWS_MAX])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->people && n < ROWS_MAX - 3; i++) {
        if (i < p->common || below(2) == 0)
            row[n++] = i;
    }
    if (n == 0)
        row[n++] = below(p->people);
    for (uint32_t k = p->rule.duplicates == CONFIG_DUPLICATES_REFUSE ? 0 : below(4); k > 0; k--) {
        row[n] = row[below(n)];
        n++;
    }
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = below(i), other = row[j];

        row[j] = row[i - 1];
        row[i - 1] = other;
    }
    return n;
}

/* What the rule makes of it, as sets have it: of each row a name, person and occurrence. */
static uint32_t name_rows(const struct people *p, const uint32_t *row, uint32_t n, uint64_t *name)
{
    uint32_t times[PEOPLE_MAX + 1] = {0}, named = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t before = times[row[i]]++;

        if (before == 0 || p->rule.duplicates == CONFIG_DUPLICATES_ALL)
            name[named++] = (uint64_t)before << 32 | row[i];
    }
    return named;
}

static void make_list(struct sim_list *l, struct people *p)
{
    uint32_t row[ROWS_MAX];
    const uint32_t n = draw_rows(p, row);
    uint64_t name[ROWS_MAX];
    char text[4096];
    size_t at =
        (size_t)snprintf(text, sizeof text, "%s\n", p->columns == 1 ? "x,id" : "x,family,first");
    struct error err = {0};
    const struct alignment about = {.name = "a", .keys_n = 1, .key = {{"id", p->columns}}};
    struct idlist ids;
    struct roll roll;

    for (uint32_t i = 0; i < n; i++)
        at += write_row(text + at, sizeof text - at, p, row[i]);
    assert_true(at < sizeof text);
    strcpy(p->rule.table, scratch_write("people.csv", text, at));
    if (idlist_read(&ids, &p->rule, &err) != STATUS_OK)
        fail_msg("%s\n%s", err.text, text);
    aligning_list(l, name, name_rows(p, row, n, name));
    if (roll_open(&roll, &ids, scratch_dir(), &about, false, &err) != STATUS_OK ||
        roll_pass(&roll, 0, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(roll.n, l->n);
    memcpy(l->rows, roll.rows, (size_t)roll.n * ALIGN_ROW_BYTES);
    roll_close(&roll);
    idlist_deinit(&ids);
}

static bool has(const struct sim_list *l, uint64_t name)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->id[i] == name)
            return true;
    }
    return false;
}

static uint32_t intersection(struct sim *s, uint32_t parties, uint64_t name[ROWS_MAX])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->list.n; i++) {
        bool all = true;

        for (uint32_t p = 0; p < parties; p++)
            all = all && has(&s->party[p].list, s->list.id[i]);
        if (all)
            name[n++] = s->list.id[i];
    }
    return n;
}

/* Every side: each common name at one place, the place that all others have it at. */
static void expect_side(const struct sim_list *l, const uint64_t *name, uint32_t n,
                        uint64_t order[ROWS_MAX], bool first)
{
    uint32_t found = 0;

    assert_int_equal(l->kept, 1);
    for (uint32_t i = 0; i < l->n; i++) {
        bool common = false;

        for (uint32_t k = 0; k < n; k++)
            common = common || name[k] == l->id[i];
        assert_int_equal(l->places[i] != ALIGN_NOWHERE, common);
        if (!common)
            continue;
        assert_true(l->places[i] < n);
        if (first)
            order[l->places[i]] = l->id[i];
        assert_true(order[l->places[i]] == l->id[i]);
        found++;
    }
    assert_int_equal(found, n);
}

static void play_one(uint32_t *common)
{
    struct people p = draw_people();
    const struct sim_options o = {.parties = p.parties,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .quiet = true,
                                  .party_sets = {"policy.align.min_result=0"},
                                  .jitter_us = below(2) * 3000,
                                  .jitter_seed = below(1000)};
    struct sim *s = sim_new(&o);
    const struct standing_job job = {.kind = STANDING_ALIGN,
                                     .chunk = (p.parties > 6 ? 4 : 1) + below(9)};
    uint64_t name[ROWS_MAX], order[ROWS_MAX] = {0};

    for (int who = SIM_SERVER; who < (int)p.parties; who++)
        make_list(list_of(s, who), &p);
    s->list.result_min = 0;
    standing_play(s, &job);
    sim_run(s, HOUR_US);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", sim_server_end(s)->error.text);
    *common = intersection(s, p.parties, name);
    for (int who = SIM_SERVER; who < (int)p.parties; who++)
        expect_side(list_of(s, who), name, *common, order, who == SIM_SERVER);
    sim_free(s);
}

static unsigned long number_in(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);

    return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

static unsigned long playing;

static int say_where(void **state)
{
    (void)state;
    print_message("case %lu was the last\n", playing);
    return 0;
}

static void test_what_all_sides_keep_is_the_intersection(void **state)
{
    const unsigned long first = number_in("ALIGN_FIRST", 0),
                        cases = number_in("ALIGN_CASES", CASES);
    unsigned long none = 0, some = 0;

    (void)state;
    for (unsigned long k = first; k < first + cases; k++) {
        uint32_t common = 0;

        drawn = k * UINT64_C(0x632be59bd9b4e019);
        playing = k;
        play_one(&common);
        *(common == 0 ? &none : &some) += 1;
    }
    print_message("%lu cases, %lu of them with nothing in common\n", none + some, none);
    assert_true(cases < 100 || (none >= cases / 10 && some >= cases / 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_all_sides_keep_is_the_intersection, say_where),
    };

    sim_keep_pages();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
