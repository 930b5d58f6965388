/* test_align_passes.c -- an alignment by several keys, and one that extends another, as messages:
 * what they hang on, who refuses, and what becomes of it when somebody lies in a later pass.
 *
 * The law: a pass tells how many rows its key has found, or that they are none or too few, and
 * nothing else of what was not found; whoever is right keeps all passes or nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "tests/lib/scratch.h"
#include "tests/sim/aligned.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A step is a stage here: in each pass 0 to 3 raise, 4 collects, 5 tells, 6 to 9 return. */
enum { PASS_STEPS = 10, CHUNK = 8 };

#define KEY "no: nr; who: name,born"
#define HEAD "nr,name,born\n"

/* Three rows by number, then two by name; the rest is nobody's. */
static const char *const tables[ALIGNED_LISTS] = {
    HEAD "1,Ann,1\n2,Bo,2\n3,Cy,3\n,Di,4\n7,Ed,5\n8,Fay,6\n",
    HEAD "9,Ed,5\n3,Cyrus,3\n1,Ann,1\n2,Bob,2\n5,Di,4\n6,Gus,7\n",
    HEAD "2,Bo,2\n4,Di,4\n1,An,1\n3,Cy,3\n,Ed,5\n",
    HEAD "3,Cy,3\n2,Bo,2\n10,Di,4\n11,Ed,5\n1,Ann,1\n12,Hal,8\n",
};
/* As many rows, as many of them found by each key: others, without numbers, or without names. */
static const char *const others[ALIGNED_LISTS] = {
    HEAD "21,,\n22,,\n23,,\n,Ida,4\n,Joe,5\n,Kay,6\n",
    HEAD ",Ida,4\n23,Cy,3\n,Joe,5\n22,,\n21,,\n,Lee,5\n",
    HEAD "21,Lee,5\n22,,\n23,,\n99,Joe,5\n,Ida,4\n",
    HEAD "23,Lee,5\n22,,\n21,Kay,6\n,Ida,4\n98,Joe,5\n97,,\n",
};

static void tabulate(struct sim *s, int who, const char *key, const char *text)
{
    struct config_align c = {.trim = true};
    char state[32];

    strcpy(c.key, key);
    strcpy(c.table, scratch_write_text("t.csv", text));
    snprintf(state, sizeof state, "side-%d", who);
    (void)mkdir(scratch_path(state), 0700);
    aligning_table(aligned_list(s, who), &c, scratch_path(state));
    aligned_list(s, who)->result_min = 1;
}

static struct sim *federation(const char *const text[ALIGNED_LISTS], const char *policy)
{
    const struct sim_options o = {.parties = ALIGNED_PARTIES,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .party_sets = {"policy.align.min_result=1",
                                                 "policy.align.rows=[common, labelled]", policy}};
    struct sim *s = sim_new(&o);

    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        tabulate(s, who, KEY, text[who + 1]);
    return s;
}

static void expect_sections(struct sim *s, uint32_t first, uint32_t second)
{
    const uint32_t want[] = {first, second};

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        const struct sim_list *l = aligned_list(s, who);
        struct error err = {0};
        uint32_t k = 0;
        struct aligned a;

        if (aligned_load(&a, l->table.state, s->list.table.name, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(l->transcript, s->list.transcript, sizeof l->transcript);
        for (uint32_t i = 0; i < 2; i++) {
            if (want[i] > 0)
                assert_int_equal(a.section[k++].n, want[i]);
        }
        for (; k < a.sections_n; k++)
            assert_int_equal(a.section[k].n, 0); /* of a key that has found nothing */
        aligned_deinit(&a);
    }
}

static void test_each_key_finds_rows_in_a_pass_of_its_own(void **state)
{
    (void)state;
    for (uint32_t chunk = 1; chunk <= CHUNK; chunk += 3) {
        struct sim *s = federation(tables, NULL);

        aligned_play(s, chunk, false);
        expect_sections(s, 3, 2);
        for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
            assert_int_equal(aligned_list(s, who)->begun, 2);
            assert_int_equal(aligned_list(s, who)->counted, 2);
            assert_int_equal(aligned_list(s, who)->kept, 1);
        }
        sim_free(s);
    }
}

static void test_what_is_sent_hangs_on_sizes_and_on_how_many_each_key_finds(void **state)
{
    static struct aligned_said of[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct sim *s = federation(k == 0 ? tables : others, NULL);

        s->ear = aligned_ear(&of[k]);
        aligned_play(s, 3, false);
        expect_sections(s, 3, 2);
        sim_free(s);
    }
    assert_int_equal(of[0].n, of[1].n);
    assert_memory_equal(of[0].at, of[1].at, of[0].n * sizeof of[0].at[0]);
}

/* Neither in another pass, nor in another form. */
static struct {
    uint8_t at[ALIGNED_SAID_MAX][ALIGN_POINT_BYTES];
    size_t n;
} points;

static void hear_points(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    (void)s;
    (void)to;
    (void)owner;
    if (m->kind != WIRE_BATCH || who == SIM_SERVER || m->batch.entries.n % ALIGN_POINT_BYTES != 0)
        return;
    for (size_t at = 0; at < m->batch.entries.n; at += ALIGN_POINT_BYTES) {
        assert_true(points.n < ALIGNED_SAID_MAX);
        memcpy(points.at[points.n++], m->batch.entries.data + at, ALIGN_POINT_BYTES);
    }
}

static const char *const numbers[ALIGNED_LISTS] = {
    "nr\n1\n2\n3\n4\n",
    "nr\n2\n1\n3\n5\n",
    "nr\n1\n2\n6\n3\n7\n",
    "nr\n1\n8\n2\n4\n",
};

static void test_no_point_of_one_pass_is_one_of_another(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    /* Who is not found stands under the same digest in both. */
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        tabulate(s, who, "a: nr; b: nr", numbers[who + 1]);
    s->ear = (struct sim_ear){hear_points, aligned_no_charge, aligned_no_end, NULL};
    aligned_play(s, CHUNK, false);
    expect_sections(s, 2, 0);
    assert_true(points.n > 30);
    for (size_t i = 0; i < points.n; i++) {
        uint32_t times = 0;

        for (size_t j = 0; j < points.n; j++)
            times += memcmp(points.at[i], points.at[j], ALIGN_POINT_BYTES) == 0;
        assert_true(times <= ALIGNED_PARTIES); /* a common one, in the lists that are collected */
    }
    sim_free(s);
}

static void test_too_few_by_one_key_are_none(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    s->list.result_min = 3; /* the two by name are kept back */
    tabulate(s, 1, KEY, HEAD "2,Bo,2\n4,Di,4\n1,An,1\n3,Cy,3\n,Ed,5\n40,Xa,1\n");
    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 0);
    assert_int_equal(aligned_list(s, 0)->counted, 2);
    sim_free(s);
    /* By either: nothing is kept. */
    s = federation(tables, NULL);
    s->list.result_min = 4;
    aligned_play(s, CHUNK, false);
    assert_non_null(strstr(sim_server_end(s)->error.text,
                           "policy.align.min_result: fewer rows in common than 4"));
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        assert_int_equal(aligned_list(s, who)->kept, 0);
    sim_free(s);
    /* Of what is left nothing could be told: there is no second pass. */
    s = federation(tables, NULL);
    s->list.result_min = 3;
    tabulate(s, 1, KEY, HEAD "2,Bo,2\n1,An,1\n3,Cy,3\n,Ed,5\n");
    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 0);
    assert_int_equal(aligned_list(s, 0)->counted, 1);
    sim_free(s);
}

/* --- who refuses --- */

static void expect_refused(struct sim *s, const char *words)
{
    aligned_play(s, CHUNK, false);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    if (strstr(sim_server_end(s)->error.text, words) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        assert_int_equal(aligned_list(s, who)->counted, 0);
    sim_free(s);
}

static void test_a_party_has_columns_for_each_key_by_its_name(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    tabulate(s, 1, "who: name,born; x: nr", tables[2]);
    expect_refused(s, "p2 refuses: align.key: no key \"no\", which the server's alignment goes by");
    s = federation(tables, NULL);
    tabulate(s, 2, "no: nr; who: name", tables[3]);
    expect_refused(s, "p3 refuses: align.key: 1 columns make an id by who, and at the server 2 do");
    /* In whatever order it has them, and more. */
    s = federation(tables, NULL);
    tabulate(s, 0, "all: nr,name; who: name,born; no: nr", tables[1]);
    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 2);
    sim_free(s);
}

static void test_lists_too_short_for_a_result_are_not_begun(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    s->list.result_min = 6;
    expect_refused(s,
                   "policy.align.min_result: p2 lists 5 ids, and 6 rows in common are the fewest");
}

/* --- what extends another --- */

static const char *const more[ALIGNED_LISTS] = {
    HEAD "30,Ivo,1\n1,Ann,1\n2,Bo,2\n3,Cy,3\n,Di,4\n7,Ed,5\n31,Jan,6\n",
    HEAD "9,Ed,5\n3,Cyrus,3\n1,Ann,1\n31,Jan,9\n2,Bob,2\n5,Di,4\n30,Ivo,1\n",
    HEAD "2,Bo,2\n4,Di,4\n1,An,1\n3,Cy,3\n,Ed,5\n30,Ivo,1\n31,Jan,6\n",
    HEAD "3,Cy,3\n2,Bo,2\n10,Di,4\n31,Jan,6\n11,Ed,5\n1,Ann,1\n30,Ivo,1\n12,Hal,8\n",
};

/* A server could ask as often as it likes whether somebody has anything new. */
static void test_that_nothing_is_new_is_counted_before_it_is_said(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 2);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        tabulate(s, who, KEY, who == 1 ? HEAD "1,An,1\n" : more[who + 1]);
    strcpy(s->list.table.name, "wider");
    strcpy(s->list.table.extends, "common");
    aligned_play(s, CHUNK, false);
    if (strstr(sim_server_end(s)->error.text, "p2 refuses: no id to be listed") == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    assert_int_equal(aligned_list(s, 1)->begun, 1);
    sim_free(s);
}

static void extend(struct sim *s, const char *const text[ALIGNED_LISTS])
{
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        tabulate(s, who, KEY, text[who + 1]);
    strcpy(s->list.table.name, "wider");
    strcpy(s->list.table.extends, "common");
}

static struct sim *extended(void)
{
    struct sim *s = federation(tables, NULL);

    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 2);
    extend(s, more);
    return s;
}

static void test_rows_are_added_and_the_old_ones_stay(void **state)
{
    static struct aligned_said said;
    struct sim *s = extended();

    (void)state;
    s->ear = aligned_ear(&said);
    aligned_play(s, CHUNK, false);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        const struct sim_list *l = aligned_list(s, who);
        struct aligned a, b;
        struct error err = {0};

        assert_int_equal(aligned_load(&a, l->table.state, "common", &err), STATUS_OK);
        assert_int_equal(aligned_load(&b, l->table.state, "wider", &err), STATUS_OK);
        assert_int_equal(b.n, 7);
        assert_memory_equal(b.text.data + b.lines, a.text.data + a.lines, a.text.len - a.lines - 1);
        assert_memory_not_equal(a.transcript, b.transcript, sizeof a.transcript);
        aligned_deinit(&a);
        aligned_deinit(&b);
    }
    /* Lists have what is new alone: two rows here, three at most there. */
    for (size_t i = 0; i < said.n; i++)
        assert_true(said.at[i].entries <= 3 * ALIGN_POINT_BYTES);
    sim_free(s);
}

static void read_kept(struct sim *s, int who, struct buf *out)
{
    char path[CONFIG_PATH_MAX + 32];
    struct error err = {0};

    snprintf(path, sizeof path, "%s/alignments/common", aligned_list(s, who)->table.state);
    buf_init(out, 4096);
    assert_int_equal(file_read_own(path, out, &err), STATUS_OK);
}

static void test_another_alignment_of_that_name_is_refused_before_anything_is_said(void **state)
{
    struct sim *s = extended();
    struct buf another;
    char path[CONFIG_PATH_MAX + 32];

    (void)state;
    read_kept(s, 1, &another);
    sim_free(s);
    s = extended();
    (void)scratch_write("side-1/alignments/common", another.data, another.len);
    buf_deinit(&another);
    expect_refused(s, "p2 refuses: alignment common is another one here than at the server");
    s = extended();
    snprintf(path, sizeof path, "%s/alignments/common", s->party[2].list.table.state);
    assert_int_equal(remove(path), 0);
    expect_refused(s, "p3 refuses: alignment common is not there, or cannot be read");
}

static void play_by_name(struct sim *s, const char *const text[ALIGNED_LISTS], bool labelled,
                         const char *name, const char *extends)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = CHUNK, .labelled = labelled};

    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        tabulate(s, who, "who: name,born", text[who + 1]);
    strcpy(s->list.table.name, name);
    strcpy(s->list.table.extends, extends);
    s->list.table.mixes = true;
    standing_play(s, &job);
    sim_run(s, sim_now_us(s) + UINT64_C(3600000000));
}

/* The server would not even offer it: here it does not look, and each party does. */
static void test_labelled_and_common_rows_do_not_mix(void **state)
{
    (void)state;
    for (int labelled = 0; labelled < 2; labelled++) {
        struct sim *s = federation(tables, NULL);

        play_by_name(s, tables, labelled, "common", "");
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        play_by_name(s, more, !labelled, "wider", "common");
        assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        if (strstr(sim_server_end(s)->error.text,
                   labelled
                       ? "alignment common is of labelled rows, and extended by common ones"
                       : "alignment common is of common rows, and extended by labelled ones") ==
            NULL)
            fail_msg("%s", sim_server_end(s)->error.text);
        sim_free(s);
    }
}

static void test_labelled_rows_are_added_to_labelled_ones(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    play_by_name(s, tables, true, "common", "");
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", sim_server_end(s)->error.text);
    play_by_name(s, more, true, "wider", "common"); /* two to the six, whoever has them */
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        struct error err = {0};
        struct aligned a;

        assert_int_equal(aligned_load(&a, aligned_list(s, who)->table.state, "wider", &err),
                         STATUS_OK);
        assert_true(a.labelled);
        assert_int_equal(a.n, 8);
        assert_true(a.size[6] + a.size[7] > 0);
        aligned_deinit(&a);
    }
    sim_free(s);
}

/* --- who lies in the second pass --- */

struct lie {
    enum { BIT, NO_ENTRIES, STEP_OF_PASS_BEFORE, COMMON, PASS_BEFORE } what;
    uint32_t done;
    uint8_t copy[4096], before[4096];
    size_t before_n;
};

static void tell_lie(struct wire_msg *m, void *owner)
{
    struct lie *l = owner;
    struct wire_batch *b = &m->batch;

    l->done++;
    if (l->what == NO_ENTRIES)
        b->entries.n = 0;
    if (l->what == STEP_OF_PASS_BEFORE)
        b->step -= PASS_STEPS;
    if (l->what == COMMON)
        b->common = b->common == 0 ? 1 : 0;
    if (l->what == BIT && b->entries.n > 0) {
        memcpy(l->copy, b->entries.data, b->entries.n);
        l->copy[b->entries.n / 2] ^= 4;
        b->entries.data = l->copy;
    }
    if (l->what == PASS_BEFORE) {
        assert_true(l->before_n >= b->entries.n);
        b->entries.data = l->before;
    }
}

/* What the server gave that party with the same step of the first pass. */
static uint32_t wanted_step;
static int wanted_party;

static void hear_before(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct lie *l = owner;

    (void)s;
    if (who != SIM_SERVER || m->kind != WIRE_BATCH || (int)to != wanted_party ||
        m->batch.step != wanted_step)
        return;
    assert_true(m->batch.entries.n <= sizeof l->before);
    memcpy(l->before, m->batch.entries.data, m->batch.entries.n);
    l->before_n = m->batch.entries.n;
}

/* At step `step` of the second pass: message step + PASS_STEPS + 1 of its sender. */
static void lie_once(int what, int from, int to, uint32_t step, const char *words)
{
    struct lie l = {.what = what};
    struct sim *s = federation(tables, NULL);

    wanted_step = step;
    wanted_party = to;
    s->ear = (struct sim_ear){hear_before, aligned_no_charge, aligned_no_end, &l};
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = from,
                                  .party = to,
                                  .kind = WIRE_BATCH,
                                  .nth = PASS_STEPS + step + 1,
                                  .alter = tell_lie,
                                  .owner = &l});
    aligned_play(s, CHUNK, false);
    assert_int_equal(l.done, 1);
    if (sim_server_end(s)->outcome == OUTCOME_COMPLETED)
        fail_msg("%d of %d at %u passed unseen", what, from, step);
    if (strstr(sim_server_end(s)->error.text, words) == NULL)
        fail_msg("%d of %d at %u: %s", what, from, step, sim_server_end(s)->error.text);
    assert_false(sim_server_end(s)->over);
    sim_free(s);
}

static void test_lies_in_a_later_pass_are_found(void **state)
{
    (void)state;
    for (uint32_t step = 2; step <= 3; step++) {
        lie_once(BIT, SIM_SERVER, 1, step, "does not open");
        lie_once(PASS_BEFORE, SIM_SERVER, 2, step, "does not open");
        lie_once(NO_ENTRIES, SIM_SERVER, 2, step, "bytes of entries");
    }
    lie_once(STEP_OF_PASS_BEFORE, SIM_SERVER, 0, 0, "step 0 of an alignment where 10 is next");
    lie_once(STEP_OF_PASS_BEFORE, 1, SIM_ANY, 4, "no answer to step 14");
    lie_once(PASS_BEFORE, SIM_SERVER, 0, 5, ""); /* other prefixes than the others are told */
    lie_once(COMMON, SIM_SERVER, 1, 5, "");
    for (int to = 0; to < ALIGNED_PARTIES; to++)
        lie_once(BIT, SIM_SERVER, to, 5, "does not open");
}

/* Of the first pass: that there are none, told to one party alone. */
static void test_a_pass_that_ends_in_two_ways_is_found(void **state)
{
    struct lie l = {.what = COMMON};
    struct sim *s = federation(tables, NULL);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BATCH,
                                  .nth = 6,
                                  .alter = tell_lie,
                                  .owner = &l});
    aligned_play(s, CHUNK, false);
    assert_int_equal(l.done, 1);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        assert_int_equal(aligned_list(s, who)->kept, 0);
    sim_free(s);
}

/* A connection breaks in the second pass: all passes are played again, and counted. */
static void test_a_loss_in_a_later_pass_costs_the_playing(void **state)
{
    struct sim *s = federation(tables, NULL);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE,
                                  .from = 1,
                                  .party = SIM_ANY,
                                  .kind = WIRE_BATCH,
                                  .nth = PASS_STEPS + 4});
    aligned_play(s, CHUNK, false);
    expect_sections(s, 3, 2);
    assert_true(sim_server_report(s)->presence.generation > 1);
    assert_int_equal(aligned_list(s, 0)->counted, 4);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_key_finds_rows_in_a_pass_of_its_own),
        cmocka_unit_test(test_what_is_sent_hangs_on_sizes_and_on_how_many_each_key_finds),
        cmocka_unit_test(test_no_point_of_one_pass_is_one_of_another),
        cmocka_unit_test(test_too_few_by_one_key_are_none),
        cmocka_unit_test(test_a_party_has_columns_for_each_key_by_its_name),
        cmocka_unit_test(test_lists_too_short_for_a_result_are_not_begun),
        cmocka_unit_test(test_that_nothing_is_new_is_counted_before_it_is_said),
        cmocka_unit_test(test_rows_are_added_and_the_old_ones_stay),
        cmocka_unit_test(test_another_alignment_of_that_name_is_refused_before_anything_is_said),
        cmocka_unit_test(test_labelled_and_common_rows_do_not_mix),
        cmocka_unit_test(test_labelled_rows_are_added_to_labelled_ones),
        cmocka_unit_test(test_lies_in_a_later_pass_are_found),
        cmocka_unit_test(test_a_pass_that_ends_in_two_ways_is_found),
        cmocka_unit_test(test_a_loss_in_a_later_pass_costs_the_playing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
