/* test_books.c -- limits in the middle of a run: a block of releases is judged by the record that
 * has most with it, and leaves nothing when it is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "party/counted.h"
#include "party/words.h"
#include "tests/lib/scratch.h"
#include "tests/sim/bookkeeping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static float x[3];

/* One block of these rows on an empty ledger, under this limit. */
static enum status charge(double epsilon, const uint32_t *rows, size_t n)
{
    struct books b;
    enum status s;

    books_forget();
    books_opened(&b, epsilon);
    s = books_pay(&b, rows, n);
    books_close(&b);
    return s;
}

static void test_a_block_counts_as_often_as_its_most_frequent_record_is_in_it(void **state)
{
    static const uint32_t once[] = {0, 1, 2}, turns[] = {0, 1, 0, 1, 0, 1}, two[] = {2, 0, 2};
    double epsilon = 0.01;

    (void)state;
    while (charge(epsilon, once, 1) != STATUS_OK)
        epsilon *= 1.02;
    assert_true(epsilon > 0.011);
    assert_int_equal(charge(epsilon, once, 3), STATUS_OK);
    assert_int_equal(charge(epsilon, turns, 6), STATUS_BUDGET);
    assert_int_equal(charge(epsilon, two, 3), STATUS_BUDGET);
    assert_int_equal(charge(epsilon, turns, 2), STATUS_OK);
    while (charge(epsilon, two, 3) != STATUS_OK) /* a limit of two: three turns are over it */
        epsilon *= 1.02;
    assert_int_equal(charge(epsilon, turns, 4), STATUS_OK);
    assert_int_equal(charge(epsilon, turns, 6), STATUS_BUDGET);
}

static void test_records_of_different_blocks_are_not_taken_for_one(void **state)
{
    static const uint32_t rows[] = {0, 1, 2, 1};
    double epsilon = 0.01;
    struct books b;

    (void)state;
    while (charge(epsilon, rows, 1) != STATUS_OK) /* enough for each of them once */
        epsilon *= 1.02;
    books_forget();
    books_opened(&b, epsilon);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(books_pay(&b, rows + i, 1), STATUS_OK);
        books_expect_held(&b, i + 1, 1);
    }
    books_close(&b);
}

static void test_nothing_of_a_refused_block_remains(void **state)
{
    static const uint32_t rows[] = {0, 1, 2, 1};
    double epsilon = 0.01;
    struct books b;

    (void)state;
    while (charge(epsilon, rows, 1) != STATUS_OK)
        epsilon *= 1.02;
    books_forget();
    books_opened(&b, epsilon);
    assert_int_equal(books_pay(&b, rows, 2), STATUS_OK);
    for (int process = 0; process < 2; process++) {
        assert_int_equal(books_pay(&b, rows + 2, 2),
                         STATUS_BUDGET); /* 1 again, and so not 2 either */
        books_expect_held(&b, 2, 1);
        books_close(&b);
        books_opened(&b, epsilon);
        books_expect_held(&b, 2, 1);
    }
    assert_int_equal(books_pay(&b, rows + 2, 1), STATUS_OK);
    books_close(&b);
}

/* --- statistics --- */

static const struct account_entry drawn = {.kind = ACCOUNT_GAUSSIAN,
                                           .sigma = 1,
                                           .step = 0.25,
                                           .clip = 0.1,
                                           .bottom = ACCOUNT_STATISTICS,
                                           .coordinates = 3,
                                           .parties = 1,
                                           .colluders = 1,
                                           .releases = 3,
                                           .participations_max = 1};

/* As open_books, with statistics of draw number `draw`. */
static void open_with(struct books *b, double epsilon, uint8_t draw)
{
    struct error err = {0};

    books_opened(b, epsilon);
    books_close(b);
    books_in.fitted.drawn.statistics.queries = 1;
    books_in.fitted.drawn.entry = drawn;
    books_in.fitted.drawn.draw[0] = draw;
    assert_int_equal(books_open(b, &books_in, &err), STATUS_OK);
    b->delta = 1e-5;
}

static uint64_t statistics_charged(const struct books *b)
{
    struct ledger_totals t;

    ledger_totals(b->ledger, &t);
    return t.releases[LEDGER_STATISTICS];
}

/* And they take no number, by which others would see that there are new ones. */
static void test_statistics_are_charged_once_before_the_first_release(void **state)
{
    static const uint32_t rows[] = {0, 1, 1};
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    struct books b;

    (void)state;
    books_forget();
    for (int process = 0; process < 3; process++) {
        const bool new = process != 1;

        open_with(&b, 1000, process == 2 ? 9 : 8); /* the third has drawn anew */
        assert_int_equal(statistics_charged(&b), process == 2 ? 3 : process * 3);
        assert_int_equal(books_expected(&b, entries), books_entries(&b, entries) + new);
        assert_int_equal(books_pay(&b, rows, 3), STATUS_OK); /* which looks at the number, too */
        assert_int_equal(books_pay(&b, rows, 1), STATUS_OK);
        assert_int_equal(statistics_charged(&b), process == 2 ? 6 : 3);
        assert_int_equal(books_expected(&b, entries), books_entries(&b, entries));
        books_close(&b);
    }
}

/* A person's rows are one slot, charged once. */
static void test_statistics_count_a_person_once(void **state)
{
    static const uint32_t rows[] = {0};
    struct books b;

    (void)state;
    books_forget();
    open_with(&b, 1000, 1);
    b.train_slots[2] = b.train_slots[0];
    assert_int_equal(books_pay(&b, rows, 1), STATUS_OK);
    assert_int_equal(statistics_charged(&b), 2);
    books_close(&b);
}

static void test_statistics_beyond_the_limit_are_not_charged_and_nothing_is_released(void **state)
{
    static const uint32_t rows[] = {0};
    struct books b;
    double epsilon = 0.01;

    (void)state;
    while (charge(epsilon, rows, 1) != STATUS_OK) /* enough for a release without them */
        epsilon *= 1.02;
    books_forget();
    open_with(&b, epsilon, 1);
    books_in.fitted.drawn.entry.clip = 10; /* and far too little for these */
    assert_int_equal(books_pay(&b, rows, 1), STATUS_BUDGET);
    assert_int_equal(books_pay(&b, rows, 1), STATUS_BUDGET);
    assert_true(b.due);
    books_expect_held(&b, 0, 0);
    books_close(&b);
}

/* --- what predictions ask for --- */

static const struct account_entry predicted = {.kind = ACCOUNT_PBM,
                                               .trials = 4,
                                               .beta = 0.1,
                                               .bottom = ACCOUNT_FROZEN,
                                               .coordinates = 2,
                                               .parties = 3,
                                               .colluders = 1};

/* Of so many releases of one record, and a little more. */
static double epsilon_of(uint64_t releases)
{
    struct account_entry e = predicted;
    const struct account_claim which = {.adversary = ACCOUNT_SERVER,
                                        .adjacency = ACCOUNT_RECORD_FROZEN};

    e.releases = e.participations_max = releases;
    return account_claim(&e, 1, &which, 1e-5).epsilon * 1.001;
}

/* So many more ids that are nobody's, under this limit, by another process each time. */
static enum status ask(uint32_t most, uint32_t unknown, struct error *err)
{
    const struct action_charge c = {.mechanism = predicted,
                                    .purpose = PURPOSE_EVALUATE_TEST,
                                    .predicts = true,
                                    .unknown = unknown,
                                    .places = unknown,
                                    .plan = books_plan,
                                    .rounds = 1};
    struct books b;
    enum status s;

    *err = (struct error){0};
    books_in = (struct party_inputs){.config.policy.unknown_ids = most};
    snprintf(books_in.config.state, sizeof books_in.config.state, "%s", scratch_dir());
    assert_int_equal(books_open(&b, &books_in, err), STATUS_OK);
    s = books_charge(&b, &c, err);
    assert_int_equal(books_may_answer(&b, 1, &(struct error){0}), s);
    books_close(&b);
    return s;
}

/* Whoever asks for sets in turn learns one bit from the first that is refused, and no more. */
static void test_ids_that_are_refused_are_counted_and_no_job_is_answered_after(void **state)
{
    static const uint32_t limits[] = {0, 3};
    char said[WIRE_TEXT_MAX + 1];
    struct error err;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t most = limits[i];

        books_forget();
        assert_int_equal(ask(most, 0, &err), STATUS_OK);
        if (most > 0)
            assert_int_equal(ask(most, most, &err), STATUS_OK); /* all of them, and none too many */
        assert_int_equal(ask(most, 0, &err), STATUS_OK);
        assert_int_equal(ask(most, 17, &err), STATUS_BUDGET);
        words_for_server(said, &err, scratch_dir());
        assert_string_equal(said, "policy.predict.max_unknown: over its limit");
        assert_int_equal(ask(most, 1, &err), STATUS_BUDGET); /* whatever is asked for now */
        assert_int_equal(ask(most + 1, 0, &err), STATUS_OK); /* but for an operator's word */
    }
}

/* A record over its limit refuses the round, and unknown ids beside it count all the same. */
static void test_ids_beside_a_record_over_its_limit_are_counted(void **state)
{
    static const uint32_t rows[] = {0};
    struct action_charge c = {.mechanism = predicted,
                              .purpose = PURPOSE_EVALUATE_TEST,
                              .predicts = true,
                              .asked = 2,
                              .unknown = 1,
                              .places = 2,
                              .plan = books_plan,
                              .rounds = 1,
                              .rows = rows,
                              .n = 1};
    uint32_t place = 0;
    char id[] = "a";
    struct error err = {0};
    struct books b;

    (void)state;
    books_forget();
    books_in = (struct party_inputs){
        .test = {.rows = 1, .cols = 1, .x = x, .id_text = id, .id_at = &place},
        .config.policy = {.unknown_ids = 9, .releases_record = 1}};
    snprintf(books_in.config.state, sizeof books_in.config.state, "%s", scratch_dir());
    assert_int_equal(books_open(&b, &books_in, &err), STATUS_OK);
    assert_int_equal(books_charge(&b, &c, &err), STATUS_OK);
    assert_int_equal(books_charge(&b, &c, &err), STATUS_BUDGET);
    assert_non_null(strstr(err.text, "policy.max_releases.record"));
    assert_int_equal(ledger_spent(b.ledger, 0), 1);
    assert_int_equal(ledger_asked(b.ledger).unknown, 2);
    assert_int_equal(ledger_asked(b.ledger).rows, 4);
    books_close(&b);
}

/* --- labelled rows, of which this party has some --- */

enum { ALIGNMENTS = 3, ASKED = 40 };

/* What others may see of three alignments that list one person, place 0 of each, and another one in
 * place 1: how each question ends, and what it costs. */
struct seen {
    enum status end[ALIGNMENTS * ASKED];
    uint64_t sequence[ALIGNMENTS * ASKED], releases[ALIGNMENTS * ASKED];
    uint32_t spared, most;
};

static void ask_for_one(struct seen *out, struct books *b, size_t i)
{
    static const uint32_t rows[] = {0, 1};
    uint8_t spared[2];
    struct action_charge c = {.mechanism = predicted,
                              .purpose = PURPOSE_EVALUATE_TEST,
                              .predicts = true,
                              .asked = 1,
                              .places = 2,
                              .plan = books_plan,
                              .place = i,
                              .rounds = 1,
                              .rows = rows,
                              .spared = spared,
                              .n = i % 5 == 0 ? 2 : 1};
    struct ledger_totals totals;
    struct error err = {0};

    c.mechanism.parties -= i % 7 == 0; /* among fewer: another mechanism */
    out->end[i] = books_charge(b, &c, &err);
    if (out->end[i] != STATUS_OK)
        assert_non_null(strstr(err.text, "max_releases.total"));
    else
        out->spared += spared[0];
    ledger_totals(b->ledger, &totals);
    out->sequence[i] = ledger_sequence(b->ledger);
    out->releases[i] = totals.releases[LEDGER_PREDICT];
    out->most = (uint32_t)totals.participations_max;
}

/* One that is here is called the same in all of them, and one that is not otherwise in each. */
static void play_alignments(struct seen *out, const struct config_policy *policy, bool here)
{
    struct error err = {0};
    uint8_t lacks[] = {!here, 1};

    books_forget();
    *out = (struct seen){0};
    for (uint32_t k = 0; k < ALIGNMENTS; k++) {
        char names[] = "0\0"
                       "1",
             own[] = "n0\0a0";
        uint32_t places[] = {0, 2}, called[] = {0, 3};
        struct books b;

        own[1] = own[4] = (char)('0' + k);
        if (here)
            own[1] = 'x';
        books_in = (struct party_inputs){.test = {.rows = 2,
                                                  .cols = 1,
                                                  .x = x,
                                                  .id_text = names,
                                                  .id_at = places,
                                                  .own = {.any = true, .text = own, .at = called},
                                                  .lacks = lacks},
                                         .config.policy = *policy};
        snprintf(books_in.config.state, sizeof books_in.config.state, "%s", scratch_dir());
        assert_int_equal(books_open(&b, &books_in, &err), STATUS_OK);
        b.delta = 1e-5;
        for (size_t i = 0; i < ASKED; i++)
            ask_for_one(out, &b, k * ASKED + i);
        books_close(&b);
    }
}

static void test_that_a_labelled_row_has_no_more_to_spend_shows_nowhere(void **state)
{
    struct config_policy policies[] = {
        {.releases_record = 50},
        {.releases_record = 7, .releases_total = 111},
        {.epsilon_adversary = ADVERSARY_SERVER,
         .epsilon_adjacency = ADJACENCY_RECORD_FROZEN,
         .epsilon_value = 0},
        {.releases_record = 30, .epsilon_max[ADVERSARY_SERVER][LIMITED_RECORD] = 0},
    };
    static struct seen here, gone;

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct config_policy *p = &policies[i];
        const uint32_t record_max = (uint32_t)p->releases_record;

        if (i == 2)
            p->epsilon_value = epsilon_of(60);
        if (i == 3)
            p->epsilon_max[ADVERSARY_SERVER][LIMITED_RECORD] = epsilon_of(25);
        play_alignments(&here, p, true);
        play_alignments(&gone, p, false);
        assert_memory_equal(here.end, gone.end, sizeof here.end);
        assert_memory_equal(here.sequence, gone.sequence, sizeof here.sequence);
        assert_memory_equal(here.releases, gone.releases, sizeof here.releases);
        assert_true(here.spared > gone.spared); /* over all three, and not in each alone */
        assert_true(here.most > 0 && (record_max == 0 || here.most <= record_max));
        for (size_t k = 0; k < ALIGNMENTS * ASKED; k++)
            assert_true(p->releases_total != 0 || here.end[k] == STATUS_OK);
    }
}

static const int64_t noon = 20000 * 86400LL + 43200, hour = 3600, day = 86400;

static void test_rows_of_a_day_are_counted_whatever_the_clock_says(void **state)
{
    struct config_policy p = {.unknown_ids = 10, .predict_rows_day = 100};
    struct ledger_asked a = {0};
    char said[WIRE_TEXT_MAX + 1];
    struct error err = {0};

    (void)state;
    assert_int_equal(counted_may(&a, &p, 100, noon, &err), STATUS_OK);
    assert_int_equal(counted_may(&a, &p, 101, noon, &err), STATUS_BUDGET);
    assert_int_equal(counted_add(&a, &p, 70, 0, noon, &err), COUNTED);
    assert_int_equal(counted_may(&a, &p, 31, noon + hour, &err), STATUS_BUDGET);
    assert_int_equal(counted_add(&a, &p, 31, 0, noon + hour, &err), COUNTED_NOTHING);
    words_for_server(said, &err, scratch_dir());
    assert_string_equal(said, "policy.predict.max_rows_per_day: over its limit");
    assert_int_equal(counted_add(&a, &p, 30, 0, noon + hour, &err), COUNTED); /* all of them */
    assert_int_equal(counted_may(&a, &p, 1, noon - 9 * day, &err),
                     STATUS_BUDGET); /* it went back */
    assert_int_equal(counted_add(&a, &p, 1, 0, noon - 9 * day, &err), COUNTED_NOTHING);
    assert_int_equal(counted_add(&a, &p, 100, 0, noon + day, &err), COUNTED);
    assert_int_equal(counted_may(&a, &p, 1, noon, &err), STATUS_BUDGET);
    p.predict_rows_day = 0;
    assert_int_equal(counted_may(&a, &p, 1, noon, &err), STATUS_OK);
}

/* Whoever asks for ids that nobody has stops predictions for as many days as that takes off. */
static void test_a_day_takes_unknown_ids_off(void **state)
{
    struct config_policy p = {.unknown_ids = 10, .unknown_ids_day = 4};
    struct ledger_asked a = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(counted_add(&a, &p, 4000, 4000, noon, &err), COUNTED_REFUSED);
    assert_int_equal(counted_may(&a, &p, 1, noon + 11 * hour, &err), STATUS_BUDGET);
    assert_int_equal(counted_may(&a, &p, 1, noon - day, &err), STATUS_BUDGET);
    assert_int_equal(counted_add(&a, &p, 3, 3, noon + 12 * hour, &err), COUNTED); /* 11 - 4 + 3 */
    assert_int_equal(counted_add(&a, &p, 1, 1, noon + 13 * hour, &err), COUNTED_REFUSED);
    assert_int_equal(counted_may(&a, &p, 1, noon + 13 * hour, &err), STATUS_BUDGET);
    assert_int_equal(counted_add(&a, &p, 10, 10, noon + 4 * day, &err), COUNTED); /* 11 - 12: 0 */
    p.unknown_ids_day = 0;
    assert_int_equal(counted_add(&a, &p, 1, 1, noon + 5 * day, &err), COUNTED_REFUSED);
    assert_int_equal(counted_may(&a, &p, 1, noon + 5000 * day, &err), STATUS_BUDGET);
}

static void write_file(const char *name, const char *text)
{
    struct error err = {0};

    assert_int_equal(file_write_atomic(scratch_path(name), text, strlen(text), 0600, &err),
                     STATUS_OK);
}

/* Of a version that kept them in files of their own. */
static void test_counts_of_an_earlier_version_are_gone_on_with(void **state)
{
    struct error err = {0};
    struct books b;

    (void)state;
    books_forget();
    write_file("unknown", "7\n");
    write_file("asked", "20001 12\n");
    books_opened(&b, 0);
    for (int i = 0; i < 2; i++) {
        const struct ledger_asked a = ledger_asked(b.ledger);

        assert_int_equal(a.unknown, 7);
        assert_int_equal(a.day, 20001);
        assert_int_equal(a.rows, 12);
        assert_int_equal(access(scratch_path("unknown"), F_OK), -1);
        assert_int_equal(access(scratch_path("asked"), F_OK), -1);
        if (i == 0)
            write_file("unknown", "7\n"); /* the process died before it was away */
        books_close(&b);
        books_opened(&b, 0);
    }
    books_close(&b);
    write_file("asked", "20001 1x\n");
    assert_int_equal(books_open(&b, &books_in, &err), STATUS_IO);
    books_close(&b);
    unlink(scratch_path("asked"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_counts_as_often_as_its_most_frequent_record_is_in_it),
        cmocka_unit_test(test_records_of_different_blocks_are_not_taken_for_one),
        cmocka_unit_test(test_nothing_of_a_refused_block_remains),
        cmocka_unit_test(test_rows_of_a_day_are_counted_whatever_the_clock_says),
        cmocka_unit_test(test_ids_that_are_refused_are_counted_and_no_job_is_answered_after),
        cmocka_unit_test(test_ids_beside_a_record_over_its_limit_are_counted),
        cmocka_unit_test(test_a_day_takes_unknown_ids_off),
        cmocka_unit_test(test_counts_of_an_earlier_version_are_gone_on_with),
        cmocka_unit_test(test_statistics_beyond_the_limit_are_not_charged_and_nothing_is_released),
        cmocka_unit_test(test_statistics_count_a_person_once),
        cmocka_unit_test(test_statistics_are_charged_once_before_the_first_release),
        cmocka_unit_test(test_that_a_labelled_row_has_no_more_to_spend_shows_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
