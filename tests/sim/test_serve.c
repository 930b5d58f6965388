/* test_serve.c -- predictions on request without a federation: whose scores an answer has, and what
 * becomes of kept answers whose file somebody has, or is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/serve.h"
#include "common/base/folder.h"
#include "common/base/mem.h"
#include "server/serve/words.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN "0123456789abcdef"

static const struct waiting_kind of_two = {NN_LOSS_SIGMOID, 1}, of_three = {NN_LOSS_SOFTMAX, 3};

/* --- calls --- */

static struct asks {
    struct waiting waiting;
    struct roster roster;
    char said[8][256];
    unsigned over, scored;
} asks;

/* Of the first row alone. */
static const float *kept(void *owner, const char *id, size_t n)
{
    static const float scores[3] = {0.25F, 0.5F, 0.25F};

    (void)owner;
    return n == 1 && id[0] == '1' ? scores : NULL;
}

static void scored(void *owner, const char *id, size_t n, const float *scores, const bool *missing)
{
    (void)owner, (void)id, (void)n, (void)scores, (void)missing;
    asks.scored++;
}

static void over(void *owner, struct waiting_call *c)
{
    struct buf b;

    (void)owner;
    buf_init(&b, sizeof asks.said[0] - 1);
    assert_int_equal(words_print(&b, c, &asks.roster), STATUS_OK);
    snprintf(asks.said[asks.over++], sizeof asks.said[0], "%.*s", (int)b.len, (char *)b.data);
    buf_deinit(&b);
}

static int begin(void **state)
{
    const struct waiting_calls calls = {&asks, kept, scored, over};

    (void)state;
    memset(&asks, 0, sizeof asks);
    return waiting_init(&asks.waiting, &calls, 100) == STATUS_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    waiting_fail(&asks.waiting, NULL, FAULT_STOPPED);
    waiting_deinit(&asks.waiting);
    return 0;
}

/* kind NULL: its rows are not looked at yet. */
static void ask_at(struct waiting *w, const char *run, const char *ids, uint64_t until_us,
                   const struct waiting_kind *kind)
{
    const size_t n = strlen(ids); /* of one character each */
    struct waiting_call *c = waiting_call_new((uint32_t)n, n);

    memcpy(waiting_call_text(c), ids, n);
    for (size_t i = 0; i < n; i++) {
        c->row[i].id = waiting_call_text(c) + i;
        c->row[i].n = 1;
    }
    snprintf(c->run, sizeof c->run, "%s", run);
    c->until_us = until_us;
    assert_false(waiting_add(w, c, kind != NULL,
                             kind != NULL ? *kind : (struct waiting_kind){.outputs = 0}));
}

static void ask(const char *run, const char *ids, struct waiting_kind kind, uint64_t until_us)
{
    ask_at(&asks.waiting, run, ids, until_us, &kind);
}

static void test_a_call_that_is_late_in_anothers_turn_has_the_scores_of_its_own_model(void **state)
{
    (void)state;
    ask("a", "12", of_two, 5);
    waiting_turn(&asks.waiting);
    ask("b", "3", of_three, 9);
    waiting_expire(&asks.waiting, 5, FAULT_LATE);
    assert_int_equal(asks.over, 1);
    assert_non_null(strstr(asks.said[0], "{\"id\": \"1\", \"scores\": [0.75, 0.25]}"));
    assert_non_null(strstr(asks.said[0], "{\"id\": \"2\", \"error\": \"no answer in time\"}"));
}

static void test_those_who_wait_for_one_row_leave_in_any_order_and_the_rest_have_it(void **state)
{
    static const uint64_t until[] = {3, 1, 9, 2, 9};
    static const float scores[3] = {0.5F, 0.25F, 0.25F};
    static const bool missing[WIRE_MEMBERS_MAX];
    struct wire_bytes ids;

    (void)state;
    for (size_t i = 0; i < sizeof until / sizeof *until; i++)
        ask("b", i % 2 == 0 ? "22" : "2", of_three, until[i]);
    for (uint64_t now = 1; now <= 3; now++) {
        waiting_expire(&asks.waiting, now, FAULT_LATE);
        assert_int_equal(asks.over, now);
    }
    assert_int_equal(waiting_take(&asks.waiting, 10, &ids), 1);
    waiting_scored(&asks.waiting, scores, missing);
    assert_true(asks.over == 5 && asks.scored == 1);
    assert_non_null(strstr(asks.said[4], "{\"id\": \"2\", \"scores\": [0.5, 0.25, 0.25]}"));
    assert_false(waiting_any(&asks.waiting));
}

/* --- kept answers --- */

static struct serving {
    struct server_inputs whole;
    struct serve serve;
    uint64_t now_us;
} * serving;

static uint64_t clock_now(void)
{
    return serving->now_us;
}

static void wake(void *owner)
{
    (void)owner;
}

static bool others(void *owner)
{
    (void)owner;
    return false;
}

static int begin_serving(void **state)
{
    const struct serve_calls calls = {NULL, wake, others, clock_now};
    struct error err = {0};

    (void)state;
    serving = mem_alloc(1, sizeof *serving);
    if (serving == NULL || folder_make(scratch_path("models/" RUN), &err) != STATUS_OK)
        return -1;
    serving->now_us = 1;
    serving->whole.config.serve.waiting = 100;
    snprintf(serving->whole.home, sizeof serving->whole.home, "%s", scratch_dir());
    if (serve_open(&serving->serve, &serving->whole, &calls, &err) != STATUS_OK)
        return -1;
    snprintf(serving->serve.run, sizeof serving->serve.run, "%s", RUN);
    kept_turn(&serving->serve.kept, RUN, 1);
    return 0;
}

static int end_serving(void **state)
{
    static const char *const files[] = {"models/" RUN "/answers", "models/" RUN "/answers.lock",
                                        "token", "token.predict"};

    (void)state;
    serve_stop(&serving->serve);
    serve_close(&serving->serve);
    mem_free(serving);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlink(scratch_path(files[i]));
    (void)rmdir(scratch_path("models/" RUN));
    (void)rmdir(scratch_path("models"));
    return 0;
}

static void write_answers(const char *text)
{
    FILE *f = fopen(scratch_path("models/" RUN "/answers"), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void sync_all(void)
{
    serve_sync_begin(&serving->serve);
    serve_sync_work(&serving->serve);
    serve_sync_end(&serving->serve);
}

static void test_a_file_that_is_none_is_not_read_again_at_once(void **state)
{
    struct serve *s = &serving->serve;

    (void)state;
    write_answers("0,,1,no number\n");
    assert_true(serve_due(s));
    sync_all();
    assert_true(kept_changed(&s->kept));
    assert_false(serve_due(s)); /* and jobs may be begun meanwhile */
    serve_tick(s, true);
    assert_true(serve_next(s) > serving->now_us);
    write_answers("0,,1,0.5\n");
    assert_false(serve_due(s));
    serving->now_us = serve_next(s);
    assert_true(serve_due(s));
    sync_all();
    assert_non_null(kept_find(&s->kept, "1", 1));
    assert_false(serve_due(s));
    serve_tick(s, true);
    assert_true(serve_next(s) > serving->now_us); /* nothing is to be done that it would be for */
}

static void test_a_file_that_is_none_leaves_the_turn_to_another_model(void **state)
{
    struct serve *s = &serving->serve;

    (void)state;
    memset(&asks, 0, sizeof asks);
    s->waiting.calls.over = over; /* there is nobody to be answered */
    write_answers("0,,1,no number\n");
    ask_at(&s->waiting, RUN, "1", UINT64_MAX, NULL);
    ask_at(&s->waiting, "another", "1", UINT64_MAX, NULL);
    sync_all();
    assert_int_equal(asks.over, 1);
    assert_non_null(strstr(asks.said[0], "{\"id\": \"1\", \"error\": "));
    assert_string_equal(waiting_for(&s->waiting), "another");
}

static void test_what_somebody_keeps_from_being_written_is_written_later(void **state)
{
    static const bool missing[WIRE_MEMBERS_MAX];
    static const float score = 0.5F;
    const struct answers_key key = {.outputs = 1};
    struct serve *s = &serving->serve;
    struct answers a = {.path = NULL};
    struct error err = {0};
    size_t n = 0;

    (void)state;
    assert_int_equal(answers_open(&a, scratch_dir(), RUN, &key, &err), STATUS_OK);
    kept_add(&s->kept, "1", 1, &score, missing);
    serve_sync_begin(s);
    kept_add(&s->kept, "2", 1, &score, missing); /* while the thread waits for the file */
    serve_sync_work(s);
    serve_sync_end(s);
    answers_close(&a);
    assert_false(serve_due(s));
    serving->now_us += SERVE_PAUSE_MS * 1000;
    assert_true(serve_due(s));
    sync_all();
    assert_int_equal(answers_count(scratch_dir(), RUN, &n, &err), STATUS_OK);
    assert_int_equal(n, 2);
    assert_false(serve_due(s));
}

static void test_who_is_taken_out_does_not_come_back_with_lines_that_waited(void **state)
{
    static const bool missing[WIRE_MEMBERS_MAX];
    static const float score = 0.5F;
    static const char *const whom[] = {"1", "2"}; /* of the file, and not yet of it */
    struct serve *s = &serving->serve;
    struct error err = {0};
    size_t n = 0;

    (void)state;
    write_answers("0,,1,0.5\n0,,3,0.5\n");
    sync_all();
    for (size_t i = 0; i < 2; i++) {
        kept_add(&s->kept, whom[i], 1, &score, missing);
        assert_int_equal(answers_forget(scratch_dir(), RUN, whom[i], &n, &err), STATUS_OK);
        assert_int_equal(n, 1 - i);
        while (serve_due(s))
            sync_all();
        assert_null(kept_find(&s->kept, whom[i], 1));
        assert_non_null(kept_find(&s->kept, "3", 1));
        assert_int_equal(answers_count(scratch_dir(), RUN, &n, &err), STATUS_OK);
        assert_int_equal(n, 1);
    }
    kept_add(&s->kept, "4", 1, &score, missing);
    sync_all();
    assert_int_equal(answers_count(scratch_dir(), RUN, &n, &err), STATUS_OK);
    assert_int_equal(n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_call_that_is_late_in_anothers_turn_has_the_scores_of_its_own_model, begin, end),
        cmocka_unit_test_setup_teardown(
            test_those_who_wait_for_one_row_leave_in_any_order_and_the_rest_have_it, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_none_is_not_read_again_at_once,
                                        begin_serving, end_serving),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_none_leaves_the_turn_to_another_model,
                                        begin_serving, end_serving),
        cmocka_unit_test_setup_teardown(
            test_who_is_taken_out_does_not_come_back_with_lines_that_waited, begin_serving,
            end_serving),
        cmocka_unit_test_setup_teardown(
            test_what_somebody_keeps_from_being_written_is_written_later, begin_serving,
            end_serving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
