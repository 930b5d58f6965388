/* test_align_keys.c -- several keys tried in order, and alignments that add rows to others: random
 * tables beside the plain matching by keys in order, which this file has of its own.
 *
 * The law: what all sides keep is what somebody who saw all tables would match by the first key,
 * then of the rest by the second, and so on; a row is in common once; an alignment that extends
 * another has its rows, byte by byte, and behind them what is matched of the others; and each side
 * finds every row again in its table.
 *
 * KEYS_FIRST and KEYS_CASES in the environment: which cases, and how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/placed.h"
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIDES_MAX = 5, KEYS_MAX = 3, ROWS_MAX = 16, SECTIONS_MAX = 2 * KEYS_MAX, CASES = 300 };
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

/* --- tables --- */

struct row {
    uint32_t value[KEYS_MAX]; /* 0: it has none by that key */
    bool gone;                /* in common, or left out for good */
};

struct side {
    struct row row[ROWS_MAX];
    uint32_t n;
};

struct people {
    struct config_align rule;
    uint32_t sides, keys, values, least;
    struct side side[SIDES_MAX];
};

static bool has_value(const struct side *s, uint32_t key, uint32_t value)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->row[i].value[key] == value)
            return true;
    }
    return false;
}

/* Where duplicates are refused, none. */
static void draw_row(const struct people *p, struct side *s)
{
    struct row r = {.gone = false};
    const uint32_t person = 1 + below(p->values);
    bool any = false;

    for (uint32_t k = 0; k < p->keys; k++) {
        r.value[k] = below(5) == 0 ? 0 : below(6) == 0 ? 1 + below(p->values) : person;
        if (p->rule.duplicates == CONFIG_DUPLICATES_REFUSE && has_value(s, k, r.value[k]))
            r.value[k] = 0;
        any = any || r.value[k] > 0;
    }
    if (any)
        s->row[s->n++] = r;
}

static void shuffle(struct side *s)
{
    for (uint32_t i = s->n; i > 1; i--) {
        const uint32_t j = below(i);
        const struct row other = s->row[j];

        s->row[j] = s->row[i - 1];
        s->row[i - 1] = other;
    }
}

static void draw_more(struct people *p, uint32_t rows)
{
    for (uint32_t i = 0; i < p->sides; i++) {
        struct side *s = &p->side[i];

        for (uint32_t left = 20, end = s->n + rows; left > 0 && s->n < end; left--)
            draw_row(p, s);
        if (s->n == 0)
            s->row[s->n++] = (struct row){.value = {1 + i}};
        shuffle(s);
    }
}

static struct people draw_people(void)
{
    static const char *const keys[] = {"no: nr", "no: nr; who: name,born",
                                       "no: nr; who: name,born; mail: mail"};
    struct people p = {.sides = 3 + below(SIDES_MAX - 2),
                       .keys = 1 + below(KEYS_MAX),
                       .values = 4 + below(8),
                       .least = below(3)};

    p.rule = (struct config_align){.trim = true, .duplicates = (enum config_duplicates)below(3)};
    strcpy(p.rule.key, keys[p.keys - 1]);
    draw_more(&p, 3 + below(6));
    return p;
}

static void write_table(struct sim_list *l, struct people *p, uint32_t i)
{
    const struct side *s = &p->side[i];
    char text[4096], cell[KEYS_MAX][40], state[32];
    size_t at = (size_t)snprintf(text, sizeof text, "nr,name,born,mail\n");
    const uint32_t least = p->least;

    for (uint32_t r = 0; r < s->n; r++) {
        const uint32_t *v = s->row[r].value;

        for (uint32_t k = 0; k < KEYS_MAX; k++)
            snprintf(cell[k], sizeof cell[k], k == 1 ? "%s%u,%u" : "%s%u", below(2) ? " " : "",
                     k == 1 ? v[k] / 4 : v[k], v[k] % 4);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s,%s,%s\n", v[0] > 0 ? cell[0] : "",
                               v[1] > 0   ? cell[1]
                               : below(2) ? ","
                                          : "7,",
                               v[2] > 0 ? cell[2] : "");
    }
    strcpy(p->rule.table, scratch_write("t.csv", text, at));
    snprintf(state, sizeof state, "side-%u", i);
    (void)mkdir(scratch_path(state), 0700);
    aligning_table(l, &p->rule, scratch_path(state));
    l->result_min = least;
}

/* --- what somebody who saw everything would do --- */

/* A name in a section: the value, and the how manieth it is of it. */
struct section {
    uint32_t key, n;
    uint32_t value[ROWS_MAX], times[ROWS_MAX];
};

struct matched {
    struct section section[SECTIONS_MAX];
    uint32_t n, added; /* added: rows by the last job */
    bool fails;        /* there were too few */
};

static bool in_section(const struct section *s, uint32_t value, uint32_t times)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->value[i] == value && s->times[i] == times)
            return true;
    }
    return false;
}

/* Of row r, in table s: rows before it of that value which are still there. */
static uint32_t before(const struct side *s, uint32_t r, uint32_t key)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r; i++)
        n += !s->row[i].gone && s->row[i].value[key] == s->row[r].value[key];
    return n;
}

static bool plays(const struct people *p, const struct side *s, uint32_t r, uint32_t key,
                  uint32_t *times)
{
    *times = before(s, r, key);
    return !s->row[r].gone && s->row[r].value[key] > 0 &&
           (*times == 0 || p->rule.duplicates == CONFIG_DUPLICATES_ALL);
}

static bool in_side(const struct people *p, uint32_t i, uint32_t key, uint32_t value,
                    uint32_t times)
{
    for (uint32_t r = 0; r < p->side[i].n; r++) {
        uint32_t t;

        if (plays(p, &p->side[i], r, key, &t) && p->side[i].row[r].value[key] == value &&
            t == times)
            return true;
    }
    return false;
}

static struct section match(const struct people *p, uint32_t key)
{
    struct section s = {.key = key};

    for (uint32_t r = 0; r < p->side[0].n; r++) {
        uint32_t times, i = 1;

        if (!plays(p, &p->side[0], r, key, &times))
            continue;
        while (i < p->sides && in_side(p, i, key, p->side[0].row[r].value[key], times))
            i++;
        if (i < p->sides)
            continue;
        s.value[s.n] = p->side[0].row[r].value[key];
        s.times[s.n++] = times;
    }
    return s;
}

/* Rows of it are gone, and with them others of one id, but under `all`. */
static void strike(struct people *p, const struct section *s)
{
    for (uint32_t i = 0; i < p->sides; i++) {
        bool gone[ROWS_MAX];

        for (uint32_t r = 0; r < p->side[i].n; r++) {
            const uint32_t value = p->side[i].row[r].value[s->key];

            gone[r] = p->side[i].row[r].gone ||
                      (value > 0 && (p->rule.duplicates == CONFIG_DUPLICATES_ALL
                                         ? in_section(s, value, before(&p->side[i], r, s->key))
                                         : in_section(s, value, 0)));
        }
        for (uint32_t r = 0; r < p->side[i].n; r++)
            p->side[i].row[r].gone = gone[r];
    }
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Entries of the first pass: by one key a second row is none. */
static uint32_t listed(const struct people *p, uint32_t i)
{
    uint32_t n = 0, times;

    for (uint32_t r = 0; r < p->side[i].n; r++)
        n += !p->side[i].row[r].gone &&
             (p->keys > 1 || p->rule.duplicates != CONFIG_DUPLICATES_FIRST ||
              plays(p, &p->side[i], r, 0, &times) || p->side[i].row[r].value[0] == 0);
    return n;
}

static void match_all(struct people *p, struct matched *m)
{
    uint32_t left = UINT32_MAX;

    for (uint32_t i = 0; i < p->sides; i++)
        left = left < listed(p, i) ? left : listed(p, i);
    m->added = 0;
    m->fails = left < most(p->least, 1);
    for (uint32_t k = 0; k < p->keys && left >= most(p->least, 1); k++) {
        struct section s = match(p, k);

        if (s.n < p->least)
            s.n = 0;
        if (s.n > 0) {
            strike(p, &s);
            m->section[m->n++] = s;
        }
        m->added += s.n;
        left -= s.n;
    }
    m->fails = m->fails || m->added < p->least;
}

/* --- what the sides have kept --- */

static struct sim_list *list_of(struct sim *s, uint32_t i)
{
    return i == 0 ? &s->list : &s->party[i - 1].list;
}

/* The value that a cell was written from. */
static uint32_t value_of(const char *text, size_t n, uint32_t key)
{
    char copy[64];
    uint32_t a = 0, b = 0;

    assert_true(n < sizeof copy);
    memcpy(copy, text, n);
    copy[n] = 0;
    assert_int_equal(sscanf(copy, key == 1 ? " %u,%u" : " %u", &a, &b), key == 1 ? 2 : 1);
    return key == 1 ? 4 * a + b : a;
}

static void expect_section(const struct aligned *a, const struct section *s, uint32_t k,
                           uint64_t *order, bool first)
{
    const struct aligned_section *got = &a->section[k];

    assert_int_equal(got->n, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t place = got->from + i,
                       value = value_of((const char *)a->text.data + a->at[place], a->size[place],
                                        s->key);
        const uint64_t name = (uint64_t)value << 32 | a->occurrence[place];

        assert_true(in_section(s, value, a->occurrence[place]));
        if (first)
            order[place] = name;
        assert_true(order[place] == name);
        for (uint32_t j = got->from; j < place; j++)
            assert_true(order[j] != name);
    }
}

/* As training finds rows: each place once. */
static void expect_found(const struct sim_list *l, const char *name)
{
    struct placed p = {0};
    struct error err = {0};
    uint8_t in[ROWS_MAX * 4];

    if (placed_open(&p, l->table.state, name, &err) != STATUS_OK ||
        placed_mark(&p, &l->table.ids, in, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < p.file.n; i++)
        assert_true(p.times[i] > 0);
    placed_close(&p);
}

static void expect_kept(struct sim *s, const struct people *p, const struct matched *m,
                        const char *name)
{
    uint64_t order[SECTIONS_MAX * ROWS_MAX];
    struct error err = {0};

    for (uint32_t i = 0; i < p->sides; i++) {
        const struct sim_list *l = list_of(s, i);
        struct aligned a;
        const enum status st = aligned_load(&a, l->table.state, name, &err);

        if (m->n == 0) { /* a file without rows */
            assert_int_equal(st, STATUS_DATA);
            assert_non_null(strstr(err.text, "it has no rows"));
            aligned_deinit(&a);
            continue;
        }
        if (st != STATUS_OK)
            fail_msg("%s", err.text);
        for (uint32_t k = m->n; k < a.sections_n; k++)
            assert_int_equal(a.section[k].n, 0);
        assert_memory_equal(a.transcript, s->list.transcript, sizeof a.transcript);
        for (uint32_t k = 0; k < m->n; k++)
            expect_section(&a, &m->section[k], k, order, i == 0);
        aligned_deinit(&a);
        expect_found(l, name);
    }
}

/* --- a case --- */

static bool play(struct sim *s, struct people *p, struct matched *m, const char *name,
                 const char *extends)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = 1 + below(9)};

    for (uint32_t i = 0; i < p->sides; i++)
        write_table(list_of(s, i), p, i);
    strcpy(s->list.table.name, name);
    strcpy(s->list.table.extends, extends);
    match_all(p, m);
    standing_play(s, &job);
    sim_run(s, HOUR_US);
    if (m->fails) {
        assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_non_null(strstr(sim_server_end(s)->error.text, "policy.align.min_result"));
        for (uint32_t i = 0; i < p->sides; i++)
            assert_int_equal(list_of(s, i)->kept, 0);
        return false;
    }
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", sim_server_end(s)->error.text);
    expect_kept(s, p, m, name);
    return m->n > 0;
}

/* Which rows of changed tables an alignment has: looked for section by section. */
static void find_again(struct people *p, const struct matched *m)
{
    for (uint32_t i = 0; i < p->sides; i++) {
        for (uint32_t r = 0; r < p->side[i].n; r++)
            p->side[i].row[r].gone = false;
    }
    for (uint32_t k = 0; k < m->n; k++)
        strike(p, &m->section[k]);
}

static bool can_be_listed(const struct people *p)
{
    for (uint32_t i = 0; i < p->sides; i++) {
        if (listed(p, i) == 0)
            return false;
    }
    return true;
}

static void play_one(uint32_t *sections, bool *extended)
{
    struct people p = draw_people();
    const struct sim_options o = {.parties = p.sides - 1,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .quiet = true,
                                  .party_sets = {"policy.align.min_result=0"}};
    struct matched m = {.n = 0};
    struct sim *s = sim_new(&o);

    if (play(s, &p, &m, "first", "")) {
        draw_more(&p, below(6));
        find_again(&p, &m);
        *extended = can_be_listed(&p) && play(s, &p, &m, "second", "first") && m.added > 0;
    }
    *sections = m.n;
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

static void test_what_all_sides_keep_is_the_plain_matching_by_keys_in_order(void **state)
{
    const unsigned long first = number_in("KEYS_FIRST", 0), cases = number_in("KEYS_CASES", CASES);
    unsigned long several = 0, added = 0;

    (void)state;
    for (unsigned long k = first; k < first + cases; k++) {
        uint32_t sections = 0;
        bool extended = false;

        drawn = k * UINT64_C(0x632be59bd9b4e019);
        playing = k;
        play_one(&sections, &extended);
        several += sections > 1;
        added += extended;
    }
    print_message("%lu cases, %lu with several sections, %lu to which rows were added\n", cases,
                  several, added);
    assert_true(cases < 100 || (several >= cases / 10 && added >= cases / 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_all_sides_keep_is_the_plain_matching_by_keys_in_order,
                                  say_where),
    };

    sim_keep_pages();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
