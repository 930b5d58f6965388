/* test_queue.c -- the queue of a server that stands: what a function says is on the disk is there,
 * and what it says is not has not happened, whichever write fails, or is the last of its process.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/queue.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- a disk that fails at the k-th write --- */

enum fault { FAILS, IS_THE_LAST }; /* the process dies behind it: nobody hears how it went */

static struct {
    unsigned writes, at; /* at 0: none */
    enum fault fault;
    bool idle; /* nothing is written: for what is about memory alone */
} disk;

enum status __real_file_write_atomic(const char *path, const void *bytes, size_t n, unsigned mode,
                                     struct error *err);
enum status __wrap_file_write_atomic(const char *path, const void *bytes, size_t n, unsigned mode,
                                     struct error *err);

enum status __wrap_file_write_atomic(const char *path, const void *bytes, size_t n, unsigned mode,
                                     struct error *err)
{
    if (disk.idle)
        return STATUS_OK;
    if (++disk.writes != disk.at)
        return __real_file_write_atomic(path, bytes, n, mode, err);
    if (disk.fault == IS_THE_LAST)
        assert_int_equal(__real_file_write_atomic(path, bytes, n, mode, err), STATUS_OK);
    return error_set(err, STATUS_IO, "a disk that fails");
}

/* --- a queue, and the same of a later process --- */

static void clean(void)
{
    char path[64];

    (void)unlink(scratch_path("jobs/queue.json"));
    for (unsigned i = 0; i < 2 * QUEUE_JOBS_MAX; i++) {
        snprintf(path, sizeof path, "jobs/%u.plan", i);
        (void)unlink(scratch_path(path));
        snprintf(path, sizeof path, "jobs/%u.ids", i);
        (void)unlink(scratch_path(path));
    }
    (void)rmdir(scratch_path("jobs"));
    memset(&disk, 0, sizeof disk);
}

static void open_queue(struct queue *q)
{
    struct error err = {0};

    if (queue_open(q, scratch_dir(), &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static enum status add(struct queue *q, enum queue_kind kind, const char *text, uint32_t *number)
{
    const bool contributes = kind == QUEUE_CONTRIBUTE;
    const struct queue_job about = {.kind = kind,
                                    .min_parties = kind == QUEUE_PREDICT ? 3 : 0,
                                    .orders = contributes ? 8 : 0,
                                    .columns = {contributes ? 'p' : 0}};
    struct error err = {0};

    return queue_add(q, &about, text, strlen(text), number, &err);
}

static void expect_text(const struct queue *q, uint32_t number, const char *want)
{
    struct error err = {0};
    struct buf text;

    buf_init(&text, 100);
    assert_int_equal(queue_text(q, queue_find(q, number), &text, &err), STATUS_OK);
    assert_int_equal(text.len, strlen(want));
    assert_memory_equal(text.data, want, text.len);
    buf_deinit(&text);
}

static bool same_job(const struct queue_job *a, const struct queue_job *b)
{
    return a->number == b->number && a->kind == b->kind && a->state == b->state &&
           a->tries == b->tries && a->seed == b->seed && strcmp(a->run, b->run) == 0 &&
           strcmp(a->outcome, b->outcome) == 0 && strcmp(a->error, b->error) == 0 &&
           a->min_parties == b->min_parties && a->orders == b->orders &&
           strcmp(a->columns, b->columns) == 0 && strcmp(a->without, b->without) == 0;
}

static bool same_queue(const struct queue *a, const struct queue *b)
{
    if (a->next != b->next || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_job(&a->job[i], &b->job[i]))
            return false;
    return true;
}

/* --- laws --- */

static void test_a_later_process_finds_the_queue_as_it_was(void **state)
{
    struct queue q, later;
    struct error err = {0};
    uint32_t a, b, c, d;

    (void)state;
    clean();
    open_queue(&q);
    assert_null(queue_first(&q));
    assert_int_equal(add(&q, QUEUE_TRAIN, "training: {epochs: 1}", &a), STATUS_OK);
    assert_int_equal(add(&q, QUEUE_PREDICT, "7\n8\n", &b), STATUS_OK);
    assert_int_equal(add(&q, QUEUE_TRAIN, "", &c), STATUS_OK);
    assert_int_equal(add(&q, QUEUE_CONTRIBUTE, "7\n", &d), STATUS_OK);
    assert_int_equal(queue_first(&q)->number, a);
    assert_int_equal(queue_began(&q, a, &err), STATUS_OK);
    assert_int_equal(queue_named(&q, a, "0123456789abcdef", &err), STATUS_OK);
    assert_int_equal(queue_ended(&q, a, QUEUE_FAILED, "failed", "a\nb\xff", &err), STATUS_OK);
    queue_without(&q, c, "p2,p4");
    assert_int_equal(queue_ended(&q, c, QUEUE_CANCELLED, "stopped", "", &err), STATUS_OK);
    open_queue(&later);
    assert_int_equal(queue_find(&later, b)->min_parties, 3);
    assert_int_equal(queue_find(&later, d)->orders, 8);
    assert_string_equal(queue_find(&later, d)->columns, "p");
    assert_string_equal(queue_find(&later, c)->without, "p2,p4");
    assert_true(same_queue(&q, &later));
    assert_string_equal(queue_find(&later, a)->error, "a?b?");
    expect_text(&later, a, "training: {epochs: 1}");
    expect_text(&later, b, "7\n8\n");
    assert_int_equal(queue_first(&later)->number, b);
    assert_null(queue_find(&later, d + 1));
    queue_close(&q);
    queue_close(&later);
    clean();
}

static void test_a_job_under_way_waits_again_before_all_others_but_not_for_ever(void **state)
{
    struct error err = {0};
    struct queue q;
    uint32_t a, b;

    (void)state;
    clean();
    open_queue(&q);
    assert_int_equal(add(&q, QUEUE_TRAIN, "a", &a), STATUS_OK);
    assert_int_equal(add(&q, QUEUE_TRAIN, "b", &b), STATUS_OK);
    for (int i = 0; i < 3 * QUEUE_TRIES_MAX; i++) { /* orderly ends count for nothing */
        assert_int_equal(queue_began(&q, a, &err), STATUS_OK);
        assert_int_equal(queue_waits_again(&q, a, &err), STATUS_OK);
    }
    for (int i = 0; i < QUEUE_TRIES_MAX; i++) {
        assert_int_equal(queue_first(&q)->number, a);
        assert_int_equal(queue_began(&q, a, &err), STATUS_OK);
        queue_close(&q); /* it dies */
        open_queue(&q);
    }
    assert_int_equal(queue_find(&q, a)->state, QUEUE_FAILED);
    assert_int_equal(queue_first(&q)->number, b);
    queue_close(&q);
    clean();
}

/* One change of each kind, the k-th of which meets the fault.  What was asked for is in memory and
 * on the disk, or in neither; behind the last write of a process the disk may know more. */
static void change(struct queue *q, unsigned step, uint32_t *number)
{
    struct error err = {0};
    enum status s = STATUS_OK;

    switch (step) {
    case 0: s = add(q, QUEUE_TRAIN, "plan", number); break;
    case 1: s = queue_began(q, *number, &err); break;
    case 2: s = queue_named(q, *number, "run-1", &err); break;
    case 3: s = queue_waits_again(q, *number, &err); break;
    case 4: s = queue_ended(q, *number, QUEUE_CANCELLED, "stopped", "", &err); break;
    default: break;
    }
    assert_int_equal(s, disk.at > 0 && disk.writes == disk.at ? STATUS_IO : STATUS_OK);
}

static void fault_at(unsigned at, enum fault fault)
{
    struct queue q, later, whole;
    uint32_t number = 0;
    unsigned step = 0;

    clean();
    open_queue(&q);
    disk.at = at;
    disk.fault = fault;
    while (disk.writes < at)
        change(&q, step++, &number);
    disk.at = 0;
    open_queue(&later);
    for (size_t i = 0; i < q.n; i++) /* as a later process would read it */
        if (q.job[i].state == QUEUE_RUNNING)
            q.job[i].state = QUEUE_WAITING;
    if (fault == FAILS || at == 1) {
        assert_true(same_queue(&q, &later)); /* and the text of at 1 is nobody's */
    } else {                                 /* it had been done */
        assert_false(same_queue(&q, &later) && step != 2 && step != 4);
        assert_true(later.next == 2 && later.n == 1);
    }
    assert_int_equal(add(&later, QUEUE_TRAIN, "next", &number), STATUS_OK);
    assert_int_equal(number, later.next - 1);
    expect_text(&later, number, "next");
    open_queue(&whole);
    assert_true(same_queue(&later, &whole));
    queue_close(&q);
    queue_close(&later);
    queue_close(&whole);
    clean();
}

static void test_a_write_that_fails_or_is_the_last_leaves_a_queue(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 6; at++) {
        fault_at(at, FAILS);
        fault_at(at, IS_THE_LAST);
    }
}

static void test_so_many_wait_and_so_many_are_remembered(void **state)
{
    struct error err = {0};
    uint32_t number;
    struct queue q;

    (void)state;
    clean();
    open_queue(&q);
    for (int i = 0; i < QUEUE_WAITING_MAX; i++)
        assert_int_equal(add(&q, QUEUE_TRAIN, "x", &number), STATUS_OK);
    assert_int_equal(add(&q, QUEUE_TRAIN, "x", &number), STATUS_POLICY);
    disk.idle = true;
    while (q.next < QUEUE_JOBS_MAX + 3) { /* the first one waits all the while */
        assert_int_equal(queue_ended(&q, q.job[q.n - 1].number, QUEUE_DONE, "completed", "", &err),
                         STATUS_OK);
        assert_int_equal(add(&q, QUEUE_TRAIN, "x", &number), STATUS_OK);
    }
    assert_int_equal(q.n, QUEUE_JOBS_MAX);
    assert_int_equal(queue_first(&q)->number, 1);
    assert_null(queue_find(&q, QUEUE_WAITING_MAX)); /* the oldest that had ended */
    assert_int_not_equal(access(scratch_path("jobs/64.plan"), F_OK), 0);
    assert_non_null(queue_find(&q, number));
    queue_close(&q);
    clean();
}

static void test_a_file_that_is_no_queue_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"next\": 0, \"jobs\": []}",
        "{\"next\": 1, \"jobs\": {}}",
        "{\"next\": 1, \"jobs\": [], \"more\": 1}",
        "{\"next\": 1, \"jobs\": [{\"job\": 1}]}",
        "{\"next\": 1, \"next\": 1, \"jobs\": []}",
        "{\"next\": 2, \"jobs\": [{\"job\": 1, \"kind\": \"train\", \"state\": \"done\", "
        "\"tries\": 0, "
        "\"seed\": 1, \"submitted\": 0, \"began\": 0, \"ended\": 0, \"run\": \"../..\", \"model\": "
        "\"\", \"absent\": \"\", \"outcome\": \"\", \"error\": \"\"}]}",
        "{\"next\": 2, \"jobs\": [{\"job\": 1, \"kind\": \"train\", \"state\": \"done\", "
        "\"tries\": 0, "
        "\"seed\": 1, \"submitted\": 0, \"began\": 0, \"ended\": 0, \"run\": \"\", \"model\": "
        "\"\", \"absent\": \"\", \"outcome\": \"\", \"error\": \"\\u001b[2J\"}]}",
    };
    struct error err = {0};
    struct queue q;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clean();
        open_queue(&q);
        queue_close(&q);
        scratch_write_text("jobs/queue.json", texts[i]);
        assert_int_equal(queue_open(&q, scratch_dir(), &err), STATUS_DATA);
        queue_close(&q);
    }
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_later_process_finds_the_queue_as_it_was),
        cmocka_unit_test(test_a_job_under_way_waits_again_before_all_others_but_not_for_ever),
        cmocka_unit_test(test_a_write_that_fails_or_is_the_last_leaves_a_queue),
        cmocka_unit_test(test_so_many_wait_and_so_many_are_remembered),
        cmocka_unit_test(test_a_file_that_is_no_queue_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
