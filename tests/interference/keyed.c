/* keyed.c -- tables of ids, an alignment of them, and tables by its files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/keyed.h"

#include "common/base/check.h"
#include "common/daemon/placed.h"
#include "common/data/intake.h"
#include "common/data/schema_fit.h"
#include "tests/lib/scratch.h"
#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS_MAX = 7, MORE_MAX = 3, LISTED_MAX = ROWS_MAX + MORE_MAX, TEXT_MAX = 8192, PATH = 256 };
#define KEYS "no: nr; who: name,born"

static const uint64_t JOB_US = 600000000;

/* The same in both runs. */
struct keyed {
    uint32_t rows;      /* in common, of which the first key finds */
    uint32_t by_number; /* so many, and the second one the others */
    uint32_t more;      /* rows of the victim that nobody else has */
    uint32_t chunk;
    bool first; /* align.duplicates: some of these may be second rows of an id */
};

static struct keyed of_pair(const struct pair *p)
{
    struct dice d = dice_of(p->seed, DRAW_KEYED, 0);
    struct keyed k = {.rows = p->options.train_rows};

    CHECK(k.rows <= ROWS_MAX);
    k.by_number = (uint32_t)dice_between(&d, 1, k.rows - 1);
    k.more = (uint32_t)dice_between(&d, 0, MORE_MAX);
    k.chunk = (uint32_t)dice_between(&d, 1, 8);
    k.first = dice_percent(&d, 50);
    return k;
}

void keyed_draw(struct pair *p)
{
    size_t n = 0;

    p->options.stands = true;
    p->placed = true;
    p->lacks = p->evaluated = false;
    p->persons = p->more = 0;
    p->rules_n = 0;
    p->stopped = SIM_ANY;
    while (p->party_set[n][0] != 0)
        n++;
    CHECK(n + 1 < PAIR_PARTY_SETS_MAX);
    snprintf(p->party_set[n], sizeof p->party_set[n], "policy.align.min_result=1");
    p->options.party_sets[n] = p->party_set[n];
}

/* --- tables --- */

struct text {
    char is[TEXT_MAX];
    size_t n;
};

PRINTF_LIKE(2, 3) static void add(struct text *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    t->n += (size_t)vsnprintf(t->is + t->n, sizeof t->is - t->n, fmt, args);
    va_end(args);
    CHECK(t->n < sizeof t->is);
}

/* A cell of that person, of nobody else, or none. */
enum cell_of { OF_PERSON, OF_NOBODY, EMPTY };

struct row {
    uint32_t person;
    enum cell_of number, name;
};

static void add_row(struct text *t, const struct row *r, const char *called,
                    const struct table *values)
{
    add(t, "%s,", called);
    if (r->number != EMPTY)
        add(t, r->number == OF_PERSON ? "%u" : "%u-%s", r->person, called);
    add(t, ",");
    if (r->name != EMPTY)
        add(t, r->name == OF_PERSON ? "Person %u,1960" : "Person %u %s,1970", r->person, called);
    else
        add(t, ",");
    for (size_t c = 0; c < values->cols; c++)
        add(t, ",%.9g", (double)values->x[r->person * values->cols + c]);
    add(t, "\n");
}

static void write_table(struct text *t, const struct row *row, uint32_t n, const char *whose,
                        const struct table *values, struct dice *d)
{
    uint32_t order[LISTED_MAX];

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t k = (uint32_t)dice_between(d, 0, i - 1), was = order[i - 1];

        order[i - 1] = order[k];
        order[k] = was;
    }
    t->n = 0;
    add(t, "id,nr,name,born");
    for (size_t c = 0; c < values->cols; c++)
        add(t, ",v%zu", c);
    add(t, "\n");
    for (uint32_t i = 0; i < n; i++) {
        char called[32];

        snprintf(called, sizeof called, "%s-%u", whose, order[i]);
        add_row(t, &row[order[i]], called, values);
    }
}

/* Everybody in common by all keys, and somebody whom nobody else has. */
static uint32_t draw_others(struct row *row, const struct keyed *k)
{
    for (uint32_t i = 0; i < k->rows; i++)
        row[i] = (struct row){i, OF_PERSON, OF_PERSON};
    row[k->rows] = (struct row){0, OF_NOBODY, OF_NOBODY};
    return k->rows + 1;
}

/* Who is found by number may have any name, who is found by name no number that others have. */
static uint32_t draw_victims(struct row *row, const struct keyed *k, struct dice *d)
{
    static const enum cell_of any[] = {OF_PERSON, OF_NOBODY, EMPTY}, none[] = {OF_NOBODY, EMPTY};
    uint32_t person[ROWS_MAX];

    for (uint32_t i = 0; i < k->rows; i++) {
        const uint32_t j = (uint32_t)dice_between(d, 0, i);

        person[i] = person[j];
        person[j] = i;
    }
    for (uint32_t i = 0; i < k->rows; i++) {
        row[i] = i < k->by_number ? (struct row){person[i], OF_PERSON, DICE_PICK(d, any)}
                                  : (struct row){person[i], DICE_PICK(d, none), OF_PERSON};
    }
    for (uint32_t i = 0; i < k->more; i++) {
        const uint32_t of = (uint32_t)dice_between(d, 0, k->rows - 1);
        const bool second = k->first && dice_percent(d, 50), numbered = of < k->by_number;
        struct row *r = &row[k->rows + i];

        *r = (struct row){person[of], OF_NOBODY, DICE_PICK(d, none)};
        if (second && numbered)
            r->number = OF_PERSON;
        else if (second)
            *r = (struct row){person[of], DICE_PICK(d, none), OF_PERSON};
    }
    return k->rows + k->more;
}

static const char *state_of(int who)
{
    char name[32];

    snprintf(name, sizeof name, "side-%d", who);
    (void)mkdir(scratch_path(name), 0700);
    return scratch_path(name);
}

static const char *table_of(int who)
{
    char name[32];

    snprintf(name, sizeof name, "table-%d.csv", who);
    return scratch_path(name);
}

static void list_ids(const struct pair *p, struct sim *s, int who, int side)
{
    static const struct table none = {.cols = 0};
    static struct text text;
    const struct keyed k = of_pair(p);
    const bool victim = who == (int)p->victim;
    struct sim_list *l = who == SIM_SERVER ? &s->list : &s->party[who].list;
    struct config_align c = {
        .trim = true, .duplicates = k.first ? CONFIG_DUPLICATES_FIRST : CONFIG_DUPLICATES_REFUSE};
    struct dice d = dice_of(p->seed, DRAW_KEYED, victim ? 1 + (uint64_t)side : 10 + (uint64_t)who);
    struct row row[LISTED_MAX];
    const uint32_t n = victim ? draw_victims(row, &k, &d) : draw_others(row, &k);
    char whose[16];
    FILE *f;

    snprintf(whose, sizeof whose, "%d%c", who, victim ? 'a' + side : 'o');
    write_table(&text, row, n, whose, who == SIM_SERVER ? &none : &s->party[who].train, &d);
    snprintf(c.table, sizeof c.table, "%s", table_of(who));
    strcpy(c.key, KEYS);
    f = fopen(c.table, "w");
    CHECK(f != NULL && fwrite(text.is, 1, text.n, f) == text.n && fclose(f) == 0);
    aligning_table(l, &c, state_of(who));
    l->result_min = 1;
}

/* --- files --- */

static bool is_as_it_should_be(const struct pair *p, struct sim *s, int who)
{
    const struct keyed k = of_pair(p);
    const struct sim_list *l = who == SIM_SERVER ? &s->list : &s->party[who].list;
    struct error err = {0};
    struct aligned a;
    const bool there = aligned_load(&a, l->table.state, "common", &err) == STATUS_OK;
    const bool good = there && a.n == k.rows && a.sections_n == 2 &&
                      a.section[0].n == k.by_number &&
                      memcmp(a.transcript, s->list.transcript, sizeof a.transcript) == 0;

    if (there)
        aligned_deinit(&a);
    return good;
}

/* The party's table by its file, as it would be read; but for the alignment's digest, which is of
 * the points that were played with. */
static void read_table(const struct pair *p, struct sim *s, uint32_t i)
{
    struct sim_party *to = &s->party[i];
    struct intake_want want = {.kind = SCHEMA_NUMBER, .limits = &INTAKE_LIMITS};
    struct error err = {0};
    struct schema schema = {0};
    size_t unseen = 0, filled = 0;
    struct placed by = {.there = 0};
    struct table t;

    CHECK(placed_open(&by, to->list.table.state, "common", &err) == STATUS_OK);
    placed_by_id(&by, KEYS);
    want.places = placed_places(&by);
    /* Columns of keys are no features. */
    if (intake_read(&t, &schema, table_of((int)i), &want, &err) != STATUS_OK ||
        schema_fit(&schema, &t, NULL, &err) != STATUS_OK ||
        schema_apply(&schema, &t, &unseen, &filled, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        CHECK(!"a table that can be read");
    }
    CHECK(t.rows == p->options.train_rows && t.cols == to->train.cols && t.own.any);
    memcpy(t.own.alignment, to->train.own.alignment, sizeof t.own.alignment);
    schema_deinit(&schema);
    placed_close(&by);
    table_deinit(&to->train);
    to->train = t;
}

bool keyed_play(const struct pair *p, struct sim *s, int side)
{
    const struct keyed k = of_pair(p);
    const struct standing_job align = {.kind = STANDING_ALIGN, .chunk = k.chunk},
                              train = {.kind = STANDING_TRAIN, .plan = s->plan};

    for (int who = SIM_SERVER; who < (int)p->options.parties; who++)
        list_ids(p, s, who, side);
    standing_play(s, &align);
    sim_run(s, JOB_US);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        return false;
    for (int who = SIM_SERVER; who < (int)p->options.parties; who++) {
        if (!is_as_it_should_be(p, s, who))
            return false;
    }
    for (uint32_t i = 0; i < p->options.parties; i++)
        read_table(p, s, i);
    standing_play(s, &train);
    sim_run(s, sim_now_us(s) + 2 * JOB_US);
    return true;
}

void keyed_print(const struct pair *p, FILE *to)
{
    const struct keyed k = of_pair(p);

    fprintf(to,
            "  an alignment finds %u rows by number and %u by name, %u of the victim's by none%s, "
            "in chunks of %u\n",
            k.by_number, k.rows - k.by_number, k.more, k.first ? " (or they are second ones)" : "",
            k.chunk);
}
