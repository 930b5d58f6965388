/* test_http.c -- requests with the token are answered, and nobody without it is heard, takes much
 * or stays long.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/http/http.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef"
#define WITH "Authorization: Bearer " TOKEN "\r\n"

static struct world {
    uv_loop_t uv;
    struct http *http;
    unsigned asked;
    size_t body;
    uint64_t now_us;
} world;

static uint64_t now(void)
{
    return world.now_us;
}

static void answer(void *owner, const struct http_request *r, struct http_answer *out)
{
    assert_ptr_equal(owner, &world);
    world.asked++;
    world.body = r->n;
    out->status = 200;
    assert_int_equal(buf_printf(&out->body, "%s %s %zu", r->method, r->path, r->n), STATUS_OK);
}

static enum status open_at(const char *path, struct error *err)
{
    const struct http_setup setup = {path, TOKEN, answer, &world, now};

    return http_open(&world.http, &world.uv, &setup, err);
}

static int begin(void **state)
{
    struct error err = {0};

    (void)state;
    memset(&world, 0, sizeof world);
    assert_int_equal(uv_loop_init(&world.uv), 0);
    assert_int_equal(open_at(scratch_path("control"), &err), STATUS_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    http_close(world.http);
    uv_run(&world.uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world.uv), 0);
    assert_int_not_equal(access(scratch_path("control"), F_OK), 0);
    return 0;
}

static int dial(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", scratch_path("control"));
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Until the connection is closed: what has come; the loop goes round as events come. */
static const char *hear(int fd)
{
    static char got[8192];
    size_t n = 0;
    ssize_t more;

    while ((more = recv(fd, got + n, sizeof got - 1 - n, 0)) != 0) {
        if (more < 0 && errno == EAGAIN)
            uv_run(&world.uv, UV_RUN_ONCE);
        else if (more < 0)
            break; /* reset: closed as well */
        else
            n += (size_t)more;
    }
    got[n] = 0;
    close(fd);
    return got;
}

static const char *ask(const char *text)
{
    const int fd = dial();

    say(fd, text);
    return hear(fd);
}

static void expect(const char *got, const char *words)
{
    if (strstr(got, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, got);
}

static void test_a_request_with_the_token_is_answered_and_its_connection_closed(void **state)
{
    (void)state;
    expect(ask("GET /v1/jobs HTTP/1.1\r\nHost: x\r\n" WITH "\r\n"), "GET /v1/jobs 0");
    expect(ask("POST /a HTTP/1.1\r\nHost: x\r\n" WITH "Content-Length: 3\r\n\r\nabc"), "POST /a 3");
    assert_int_equal(world.asked, 2);
}

static void test_without_the_token_nobody_is_heard(void **state)
{
    static const char *const wrong[] = {
        "",
        "Authorization: Bearer 0123456789abcdee\r\n",
        "Authorization: Bearer 0123456789abcde\r\n",
        "Authorization: Bearer 0123456789abcdef0\r\n",
        "Authorization: bearer 0123456789abcdef\r\n",
        "Authorization: 0123456789abcdef\r\n",
        "Authorization: Bearer \r\n",
        "X-Authorization: Bearer 0123456789abcdef\r\n",
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n%s\r\n", wrong[i]);
        expect(ask(text), "HTTP/1.1 401");
    }
    assert_int_equal(world.asked, 0);
}

/* Whoever says that a great deal will come is refused before any of it is stored. */
static void test_a_body_over_the_limit_is_refused_by_what_it_says(void **state)
{
    char text[256];

    (void)state;
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: x\r\n" WITH "Content-Length: %d\r\n\r\n",
             HTTP_BODY_MAX + 1);
    expect(ask(text), "HTTP/1.1 413");
    expect(ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"), "HTTP/1.1 401");
    assert_int_equal(world.asked, 0);
}

static void test_what_is_no_request_ends_its_connection_alone(void **state)
{
    static const char *const nonsense[] = {
        "\r\n\r\n\r\n\r\nnothing\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", /* no host */
        "POST / HTTP/1.1\r\nHost: x\r\n" WITH "Content-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\n" WITH "Content-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\n" WITH "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 GET / HTTP/1.1\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        const int fd = dial();

        say(fd, nonsense[i]);
        uv_run(&world.uv, UV_RUN_NOWAIT);
        world.now_us += HTTP_DEADLINE_S * 1000000ull; /* of what may still become a request */
        (void)hear(fd);
    }
    assert_int_equal(world.asked, 0);
    expect(ask("GET / HTTP/1.1\r\nHost: x\r\n" WITH "\r\n"), "GET / 0");
}

static void test_a_head_without_end_is_cut_off(void **state)
{
    static char line[4096];
    const int fd = dial();

    (void)state;
    memset(line, 'a', sizeof line - 1);
    say(fd, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 2 * HTTP_HEAD_MAX / (int)sizeof line; i++)
        (void)send(fd, line, sizeof line, MSG_NOSIGNAL);
    expect(hear(fd), "HTTP/1.1 4");
    assert_int_equal(world.asked, 0);
}

/* A byte now and then keeps a connection from being idle, and does not keep it. */
static void test_a_connection_lasts_so_long_whatever_it_sends(void **state)
{
    const int fd = dial();

    (void)state;
    say(fd, "GET / HTTP/1.1\r\nHost: x\r\n" WITH);
    uv_run(&world.uv, UV_RUN_NOWAIT);
    world.now_us += HTTP_DEADLINE_S * 1000000ull - 1;
    say(fd, "X: y");
    uv_run(&world.uv, UV_RUN_NOWAIT);
    assert_int_equal(recv(fd, (char[1]){0}, 1, 0), -1); /* still there */
    world.now_us += 1;
    say(fd, "y");
    assert_string_equal(hear(fd), "");
    assert_int_equal(world.asked, 0);
}

/* Whoever comes when all places are taken waits, whether these end one by one or all at once, and
 * nothing else ever happens at the socket. */
static void test_one_more_than_there_are_places_for_is_heard_when_one_is_free(void **state)
{
    int fd[HTTP_CONNECTIONS_MAX], waits;
    const char *const ends[] = {"one by one", "late", "closed"};

    (void)state;
    for (size_t how = 0; how < sizeof ends / sizeof *ends; how++) {
        for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
            fd[i] = dial();
            say(fd[i], "GET / HTTP/1.1\r\nHost: x\r\n" WITH);
            uv_run(&world.uv, UV_RUN_NOWAIT);
        }
        waits = dial();
        say(waits, "GET /waits HTTP/1.1\r\nHost: x\r\n" WITH "\r\n");
        for (int k = 0; k < 8; k++)
            uv_run(&world.uv, UV_RUN_NOWAIT);
        assert_int_equal(world.asked, how == 0 ? 0 : how == 1 ? 2 : 3);
        if (how == 0)
            say(fd[7], "\r\n");
        if (how == 1)
            world.now_us += HTTP_DEADLINE_S * 1000000ull;
        for (size_t i = 0; how == 2 && i < HTTP_CONNECTIONS_MAX; i++)
            close(fd[i]);
        expect(hear(waits), "GET /waits 0");
        for (size_t i = 0; how < 2 && i < HTTP_CONNECTIONS_MAX; i++)
            close(fd[i]);
        for (int k = 0; k < 8; k++)
            uv_run(&world.uv, UV_RUN_NOWAIT);
    }
}

static void test_the_socket_is_the_owners_and_replaces_none_but_a_socket(void **state)
{
    struct http *own = world.http;
    struct error err = {0};
    char longer[256];
    struct stat is;

    (void)state;
    assert_int_equal(stat(scratch_path("control"), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    scratch_write_text("file", "somebody's");
    assert_int_equal(open_at(scratch_path("file"), &err), STATUS_IO);
    snprintf(longer, sizeof longer, "%s/%0150d", scratch_dir(), 0);
    assert_int_equal(open_at(longer, &err), STATUS_CONFIG);
    assert_int_equal(access(scratch_path("file"), F_OK), 0);
    assert_int_equal(open_at(scratch_path("control"), &err), STATUS_OK); /* left by another */
    http_close(own);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(test_a_request_with_the_token_is_answered_and_its_connection_closed),
        IN_A_WORLD(test_without_the_token_nobody_is_heard),
        IN_A_WORLD(test_a_body_over_the_limit_is_refused_by_what_it_says),
        IN_A_WORLD(test_what_is_no_request_ends_its_connection_alone),
        IN_A_WORLD(test_a_head_without_end_is_cut_off),
        IN_A_WORLD(test_a_connection_lasts_so_long_whatever_it_sends),
        IN_A_WORLD(test_one_more_than_there_are_places_for_is_heard_when_one_is_free),
        IN_A_WORLD(test_the_socket_is_the_owners_and_replaces_none_but_a_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
