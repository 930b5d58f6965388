/* test_control.c -- what operators ask of a server that stands, and are told: jobs that are none,
 * more than may wait, and ends of a job in each of its states.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/control.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define JOB "{\"kind\": \"predict\", \"ids\": \"a\\n\"}"

static struct stand stand;
static unsigned submitted, cancelled;
static size_t client; /* who asks: 0, the operator */

static void on_submitted(void *owner)
{
    (void)owner;
    submitted++;
}

static void on_cancelled(void *owner)
{
    (void)owner;
    cancelled++;
}

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    memset(&stand, 0, sizeof stand);
    submitted = cancelled = 0;
    return queue_open(&stand.queue, scratch_dir(), &err) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    char path[64];

    (void)state;
    queue_close(&stand.queue);
    for (unsigned i = 0; i < 2 * QUEUE_WAITING_MAX; i++) {
        snprintf(path, sizeof path, "jobs/%u.ids", i);
        (void)unlink(scratch_path(path));
    }
    (void)unlink(scratch_path("jobs/queue.json"));
    (void)rmdir(scratch_path("jobs"));
    return 0;
}

/* The answer's status, and that there are words to one that says no. */
static unsigned asked(const char *method, const char *path, const char *body)
{
    struct control c = {.stand = &stand, .submitted = on_submitted, .cancelled = on_cancelled};
    const struct http_request r = {.method = method,
                                   .path = path,
                                   .body = (const uint8_t *)body,
                                   .n = strlen(body),
                                   .client = client};
    struct http_answer out = {.status = 0};

    buf_init(&out.body, HTTP_ANSWER_MAX);
    assert_true(control_answer(&c, &r, &out));
    assert_true(out.body.len > 0);
    assert_int_equal(strstr((char *)out.body.data, "\"error\": \"") != NULL && out.status >= 400,
                     out.status >= 400);
    buf_deinit(&out.body);
    return out.status;
}

static unsigned submit(const char *body)
{
    return asked("POST", "/v1/jobs", body);
}

static unsigned cancel(uint32_t number)
{
    char path[64];

    snprintf(path, sizeof path, "/v1/jobs/%u", number);
    return asked("DELETE", path, "");
}

/* --- a job comes --- */

static void test_what_is_no_job_is_refused_and_not_kept(void **state)
{
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "null",
        JOB "x",
        "{\"kind\": \"predict\"}",
        "{\"ids\": \"a\\n\"}",
        "{\"kind\": \"predict\", \"kind\": \"predict\", \"ids\": \"a\\n\"}",
        "{\"kind\": \"predict\", \"ids\": 1}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"more\": 1}",
        "{\"kind\": \"predict\", \"plan\": \"a\\n\"}",
        "{\"kind\": \"predict\", \"plan\": \"a\\n\", \"ids\": \"a\\n\"}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"model\": \"../x\"}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"absent\": \"p1;p2\"}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"min_parties\": -1}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"min_parties\": 257}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"min_parties\": \"3\"}",
        "{\"kind\": \"train\", \"plan\": \"\", \"min_parties\": 3}",
        "{\"kind\": \"contribute\"}",
        "{\"kind\": \"contribute\", \"plan\": \"\"}",
        "{\"kind\": \"contribute\", \"ids\": \"a\\n\", \"absent\": \"p1\"}",
        "{\"kind\": \"contribute\", \"ids\": \"a\\n\", \"min_parties\": 3}",
        "{\"kind\": \"contribute\", \"ids\": \"a\\n\", \"permutations\": -1}",
        "{\"kind\": \"contribute\", \"ids\": \"a\\n\", \"permutations\": 1025}",
        "{\"kind\": \"contribute\", \"ids\": \"a\\n\", \"columns\": \"p1=2;\"}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"columns\": \"p1=2\"}",
        "{\"kind\": \"predict\", \"ids\": \"a\\n\", \"permutations\": 2}",
        "{\"kind\": \"train\", \"ids\": \"a\\n\"}",
        "{\"kind\": \"train\", \"plan\": \"no plan\"}",
        "{\"kind\": \"train\", \"plan\": \"\", \"model\": \"x\"}",
        "{\"kind\": \"sing\", \"ids\": \"a\\n\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (submit(wrong[i]) != 400)
            fail_msg("not refused: %s", wrong[i]);
    assert_int_equal(stand.queue.n, 0);
    assert_int_equal(submitted, 0);
    assert_int_equal(submit(JOB), 201);
    assert_int_equal(stand.queue.n, 1);
    assert_int_equal(submitted, 1);
}

static void test_so_many_wait_and_no_more(void **state)
{
    (void)state;
    for (unsigned i = 0; i < QUEUE_WAITING_MAX; i++)
        assert_int_equal(submit(JOB), 201);
    assert_int_equal(submit(JOB), 429);
    assert_int_equal(submitted, QUEUE_WAITING_MAX);
    assert_int_equal(cancel(stand.queue.job[0].number), 200);
    assert_int_equal(submit(JOB), 201);
}

/* --- a job is ended --- */

static uint32_t one(void)
{
    assert_int_equal(submit(JOB), 201);
    return stand.queue.job[stand.queue.n - 1].number;
}

/* One that the server is at, in this stage. */
static uint32_t at_stage(enum stand_stage stage)
{
    const uint32_t number = one();
    struct error err = {0};

    assert_int_equal(queue_began(&stand.queue, number, &err), STATUS_OK);
    stand.job = *queue_find(&stand.queue, number);
    stand.stage = stage;
    return number;
}

static void test_a_job_that_waits_is_ended_once(void **state)
{
    const uint32_t number = one();

    (void)state;
    assert_int_equal(cancel(number + 1), 404);
    assert_int_equal(cancel(number), 200);
    assert_int_equal(queue_find(&stand.queue, number)->state, QUEUE_CANCELLED);
    assert_int_equal(cancel(number), 409);
    assert_int_equal(cancelled, 0); /* the server was not at it */
}

static void test_one_that_is_played_ends_by_its_session(void **state)
{
    const uint32_t number = at_stage(STAND_PLAYS);

    (void)state;
    assert_int_equal(cancel(number), 200);
    assert_true(stand.cancelled);
    assert_int_equal(cancelled, 1);
    assert_int_equal(queue_find(&stand.queue, number)->state, QUEUE_RUNNING); /* until it has */
}

static void test_one_that_is_read_has_no_session_to_tell(void **state)
{
    const uint32_t number = at_stage(STAND_LOADING);

    (void)state;
    assert_int_equal(cancel(number), 200);
    assert_true(stand.cancelled);
    assert_int_equal(cancelled, 0);
}

static void test_one_that_is_over_stays_what_it_is(void **state)
{
    const uint32_t number = at_stage(STAND_OVER);

    (void)state;
    assert_int_equal(cancel(number), 409);
    assert_false(stand.cancelled);
    assert_int_equal(cancelled, 0);
}

/* --- what is not there --- */

static void test_other_paths_and_methods_lead_nowhere(void **state)
{
    static const char *const paths[] = {
        "/",           "/v1/job",         "/v1/jobs/",   "/v1/jobs/x",
        "/v1/jobs/1x", "/v1/jobs/1/../x", "/v1/jobs/-1", "/v1/jobs/01234567890"};

    (void)state;
    one();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (asked("GET", paths[i], "") != 404)
            fail_msg("there is something: %s", paths[i]);
    assert_int_equal(asked("PUT", "/v1/jobs", JOB), 404);
    assert_int_equal(asked("DELETE", "/v1/jobs", ""), 404);
    assert_int_equal(asked("GET", "/v1/jobs", ""), 200);
    assert_int_equal(asked("GET", "/v1/jobs/1", ""), 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void test_a_client_has_no_jobs(void **state)
{
    const char *const paths[] = {"/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/scores"},
                      *const methods[] = {"GET", "POST", "DELETE"};

    (void)state;
    assert_int_equal(submit(JOB), 201);
    client = 1;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            assert_int_equal(asked(methods[k], paths[i], JOB), 403);
    client = 0;
    assert_int_equal(asked("GET", "/v1/jobs/1", ""), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_no_job_is_refused_and_not_kept),
        TEST(test_so_many_wait_and_no_more),
        TEST(test_a_job_that_waits_is_ended_once),
        TEST(test_one_that_is_played_ends_by_its_session),
        TEST(test_one_that_is_read_has_no_session_to_tell),
        TEST(test_one_that_is_over_stays_what_it_is),
        TEST(test_other_paths_and_methods_lead_nowhere),
        cmocka_unit_test_setup_teardown(test_a_client_has_no_jobs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
