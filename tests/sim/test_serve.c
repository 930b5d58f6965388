/* test_serve.c -- predictions on request without a federation: whose scores an answer has, and what
 * becomes of kept answers whose file somebody has, or is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/serve.h"
#include "common/base/file.h"
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
    unsigned over, scored, asked;
} asks;

/* Of the first row alone. */
static const float *kept(void *owner, const char *id, size_t n)
{
    static const float scores[3] = {0.25F, 0.5F, 0.25F};

    (void)owner;
    return n == 1 && id[0] == '1' ? scores : NULL;
}

/* The second client, two rows in all. */
static bool may_ask(void *owner, size_t client)
{
    (void)owner;
    return client != 1 || asks.asked++ < 2;
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
    if (asks.over == 8)
        return;
    buf_init(&b, sizeof asks.said[0] - 1);
    assert_int_equal(words_print(&b, c, &asks.roster), STATUS_OK);
    snprintf(asks.said[asks.over++], sizeof asks.said[0], "%.*s", (int)b.len, (char *)b.data);
    buf_deinit(&b);
}

static int begin(void **state)
{
    const struct waiting_calls calls = {&asks, kept, may_ask, scored, over};

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

static void read_ids(unsigned n, const char *id, const char *behind, enum status want)
{
    struct words_asked asked;
    struct error err = {0};
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(buf_printf(&b, "{\"ids\": ["), STATUS_OK);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(buf_printf(&b, "%s%s", i > 0 ? "," : "", id), STATUS_OK);
    assert_int_equal(buf_printf(&b, "]%s}", behind), STATUS_OK);
    assert_int_equal(words_read(&asked, b.data, b.len, 1000, &err), want);
    if (want == STATUS_OK)
        assert_int_equal(asked.call->n, n);
    waiting_call_free(asked.call);
    buf_deinit(&b);
}

/* What is in a text is no part, whatever it is. */
static void test_a_request_has_no_more_parts_than_ids(void **state)
{
    (void)state;
    read_ids(WAITING_CALL_ROWS_MAX, "\"1\"", ", \"deadline_ms\": 5", STATUS_OK);
    read_ids(WAITING_CALL_ROWS_MAX, "\",,\\\",,\\\\\"", "", STATUS_OK);
    read_ids(WAITING_CALL_ROWS_MAX + 1, "\"1\"", "", STATUS_DATA);
    read_ids(40000, "0", "", STATUS_DATA);
    read_ids(1, "\"1\"", ", \"deadline_ms\": [[]]", STATUS_DATA);
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

static bool is_that(const void *owner, const char *alignment, const char *id, size_t n)
{
    return alignment[0] == 0 && n == strlen(owner) && memcmp(id, owner, n) == 0;
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
        assert_int_equal(
            answers_forget(scratch_dir(), RUN, &(struct answers_goes){whom[i], is_that}, &n, &err),
            STATUS_OK);
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

/* By bytes, too: scores of many classes are long. */
static void test_what_is_kept_in_memory_has_an_end(void **state)
{
    static const bool missing[WIRE_MEMBERS_MAX];
    static float scores[30000];
    struct kept *k = &serving->serve.kept;
    char id[2] = "a";

    (void)state;
    kept_turn(k, RUN, 30000);
    k->bytes_max = 5 << 19; /* nine pages of 2^18 bytes, each of two rows */
    for (; id[0] <= 'z'; id[0]++)
        kept_add(k, id, 1, scores, missing);
    assert_int_equal(k->index.of.n, 18);
    assert_true(k->index.bytes <= k->bytes_max);
    assert_non_null(kept_find(k, "a", 1));
    assert_null(kept_find(k, "z", 1)); /* it is asked for again */
    k->lines.len = 0;
}

/* --- what one client may have --- */

/* It has its own share of what parties are asked for; others have theirs, and kept rows are none.
 */
static void test_a_client_that_has_asked_for_enough_stops_nobody_else(void **state)
{
    struct waiting *w = &asks.waiting;
    struct waiting_call *c = waiting_call_new(4, 4);
    struct wire_bytes ids;

    (void)state;
    memcpy(waiting_call_text(c), "1234", 4); /* 1 is kept */
    for (size_t i = 0; i < 4; i++) {
        c->row[i].id = waiting_call_text(c) + i;
        c->row[i].n = 1;
    }
    c->client = 1;
    c->until_us = UINT64_MAX;
    assert_false(waiting_add(w, c, true, of_two));
    waiting_turn(w); /* rows that were counted are not counted again */
    assert_int_equal(waiting_take(w, 10, &ids), 0);
    waiting_place(w, c->run, of_two);
    assert_int_equal(asks.asked, 3);
    assert_true(c->row[3].settled && c->row[3].fault == FAULT_SHARE);
    ask("", "4", of_two, UINT64_MAX);
    assert_int_equal(waiting_take(w, 10, &ids), 3);
    assert_true(waiting_again(w));
}

/* The waiting room of 100 rows has a place for others, whatever one client sends. */
static void test_no_client_has_all_that_may_wait(void **state)
{
    struct waiting *w = &asks.waiting;
    char ids[61];

    (void)state;
    for (size_t i = 0; i < 60; i++)
        ids[i] = (char)('A' + i);
    ids[60] = 0;
    assert_true(waiting_has_room(w, 0, 100)); /* or such a call would never be taken */
    assert_false(waiting_has_room(w, 0, 101));
    ask("", ids, of_two, 5);
    assert_true(waiting_has_room(w, 0, 15));
    assert_false(waiting_has_room(w, 0, 16));
    assert_true(waiting_has_room(w, 1, 40));
    assert_false(waiting_has_room(w, 1, 41));
    asks.over = 8; /* nobody looks at what it says */
    waiting_expire(w, 5, FAULT_LATE);
    assert_true(waiting_has_room(w, 0, 100));
}

static void test_the_day_of_a_client_is_its_own(void **state)
{
    struct serve *s = &serving->serve;
    const struct waiting_calls *calls = &s->waiting.calls;

    (void)state;
    serving->whole.config.serve.client_rows_day = 2;
    for (size_t client = 1; client <= 2; client++)
        for (int i = 0; i < 3; i++)
            assert_int_equal(calls->may_ask(s, client), i < 2);
    for (int i = 0; i < 5; i++)
        assert_true(calls->may_ask(s, TOKENS_OPERATOR));
    serving->now_us += 1000000ull * SERVE_DAY_S - 1;
    assert_false(calls->may_ask(s, 1));
    serving->now_us++;
    assert_true(calls->may_ask(s, 1));
    serving->whole.config.serve.client_rows_day = 0;
    for (int i = 0; i < 5; i++)
        assert_true(calls->may_ask(s, 1));
}

/* --- how many rows an open job offers --- */

static void end_with(enum status why)
{
    const struct error err = {.status = why};

    serve_ended(&serving->serve, why == STATUS_OK ? OUTCOME_COMPLETED : OUTCOME_FAILED, &err);
}

static void test_an_open_job_that_is_refused_is_offered_with_fewer_rows(void **state)
{
    static const uint32_t down[] = {125, 16, 2, 1};
    struct package model;
    struct server_question q = {.model = &model};
    struct serve *s = &serving->serve;
    struct wire_bytes ids;

    (void)state;
    package_init(&model);
    memset(&asks, 0, sizeof asks);
    s->waiting.calls.over = over;
    s->rows = serving->whole.config.serve.rows = 1000;
    ask_at(&s->waiting, RUN, "1", UINT64_MAX, &of_two);
    for (size_t i = 0; i < 4; i++) {
        assert_true(serve_wants(s)); /* at once, and nobody is turned away */
        serve_opens(s);
        end_with(STATUS_POLICY);
        serve_question(s, &q);
        assert_int_equal(q.rows, down[i]);
        assert_int_equal(asks.over, 0);
    }
    serve_opens(s);
    end_with(STATUS_POLICY); /* not even one */
    assert_int_equal(asks.over, 1);
    assert_false(serve_wants(s));
    serving->now_us += 1000 * SERVE_PAUSE_MS;
    ask_at(&s->waiting, RUN, "1", UINT64_MAX, &of_two);
    for (uint32_t rows = 8; rows <= 1000; rows = rows == 512 ? 1000 : 8 * rows) {
        serve_opens(s);
        assert_int_equal(waiting_take(&s->waiting, 1, &ids), 1);
        end_with(STATUS_OK); /* it was played */
        serve_question(s, &q);
        assert_int_equal(q.rows, rows);
        if (rows == 1000)
            break;
    }
    serve_opens(s);
    end_with(STATUS_PATIENCE); /* who is away refuses nothing */
    assert_int_equal(s->rows, 1000);
    package_deinit(&model);
}

/* --- tokens --- */

static void write_token(const char *name, char digit)
{
    char text[2 * TOKENS_BYTES + 2];
    struct error err = {0};

    memset(text, digit, 2 * TOKENS_BYTES);
    text[2 * TOKENS_BYTES] = '\n';
    assert_int_equal(file_write_atomic(scratch_path(name), text, 2 * TOKENS_BYTES + 1, 0600, &err),
                     STATUS_OK);
}

static size_t number_of(const char *name)
{
    const struct tokens *t = &serving->serve.tokens;

    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->name[i], name) == 0 && t->token[i][0] != 0)
            return i;
    return HTTP_CLIENTS_MAX;
}

static void test_tokens_are_read_again_and_who_has_none_any_more_is_nobody(void **state)
{
    struct serve *s = &serving->serve;
    struct tokens before;
    size_t b;

    (void)state;
    write_token("token.b", 'b');
    write_token("token.c", 'c');
    assert_true(serve_reload(s));
    assert_int_equal(s->tokens.n, 4); /* the operator's, and `predict` */
    b = number_of("b");
    s->client[b].rows = 7;
    assert_int_equal(unlink(scratch_path("token.c")), 0);
    assert_int_equal(unlink(scratch_path("token.predict")), 0);
    write_token("token.a", 'a'); /* before b, by name */
    assert_true(serve_reload(s));
    assert_int_equal(number_of("b"), b);
    assert_int_equal(s->client[number_of("b")].rows, 7);
    assert_int_equal(number_of("c"), HTTP_CLIENTS_MAX);
    assert_int_equal(number_of("predict"), HTTP_CLIENTS_MAX);
    assert_int_equal(access(scratch_path("token.predict"), F_OK), -1); /* it is not made again */
    assert_true(number_of("a") < HTTP_CLIENTS_MAX && s->client[number_of("a")].rows == 0);
    before = s->tokens;
    write_token("token.c", 'b'); /* b's */
    assert_false(serve_reload(s));
    assert_memory_equal(&before, &s->tokens, sizeof before);
    for (unsigned i = 0; i < 200; i++) { /* as many names come and go */
        char name[32];

        (void)unlink(scratch_path("token.c"));
        snprintf(name, sizeof name, "token.n%u", i);
        write_token(name, '0');
        assert_true(serve_reload(s));
        assert_true(number_of(name + 6) < HTTP_CLIENTS_MAX);
        assert_int_equal(number_of("b"), b);
        (void)unlink(scratch_path(name));
    }
    (void)unlink(scratch_path("token.a"));
    (void)unlink(scratch_path("token.b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_call_that_is_late_in_anothers_turn_has_the_scores_of_its_own_model, begin, end),
        cmocka_unit_test_setup_teardown(
            test_those_who_wait_for_one_row_leave_in_any_order_and_the_rest_have_it, begin, end),
        cmocka_unit_test(test_a_request_has_no_more_parts_than_ids),
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
        cmocka_unit_test_setup_teardown(test_what_is_kept_in_memory_has_an_end, begin_serving,
                                        end_serving),
        cmocka_unit_test_setup_teardown(test_a_client_that_has_asked_for_enough_stops_nobody_else,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_no_client_has_all_that_may_wait, begin, end),
        cmocka_unit_test_setup_teardown(test_the_day_of_a_client_is_its_own, begin_serving,
                                        end_serving),
        cmocka_unit_test_setup_teardown(test_an_open_job_that_is_refused_is_offered_with_fewer_rows,
                                        begin_serving, end_serving),
        cmocka_unit_test_setup_teardown(
            test_tokens_are_read_again_and_who_has_none_any_more_is_nobody, begin_serving,
            end_serving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
