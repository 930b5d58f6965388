/* test_http.c -- requests with the token are answered, and nobody without it is heard, takes much
 * or stays long.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/http/http.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef"
#define WITH "Authorization: Bearer " TOKEN "\r\n"

#define LOCAL "Host: localhost:80\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" LOCAL WITH "\r\n"

#define OTHER "fedcba9876543210"

static struct world {
    uv_loop_t uv;
    struct http *http;
    unsigned asked, port; /* port 0: the socket has a name */
    size_t body, client;
    struct http_later *later[4];
    size_t waits;
    uint64_t now_us;
} world;

static uint64_t now(void)
{
    return world.now_us;
}

static bool answer(void *owner, const struct http_request *r, struct http_answer *out)
{
    assert_ptr_equal(owner, &world);
    world.asked++;
    world.body = r->n;
    world.client = r->client;
    if (strcmp(r->path, "/later") == 0) {
        world.later[world.waits++] = r->later;
        return false;
    }
    out->status = 200;
    assert_int_equal(buf_printf(&out->body, "%s %s %zu", r->method, r->path, r->n), STATUS_OK);
    return true;
}

static enum status open_either(const char *path, const char *address, struct error *err)
{
    static const char tokens[2][HTTP_TOKEN_MAX] = {TOKEN, OTHER};
    const struct http_setup setup = {.path = path,
                                     .address = address,
                                     .tokens = tokens,
                                     .tokens_n = 2,
                                     .answer = answer,
                                     .owner = &world,
                                     .clock_us = now};

    return http_open(&world.http, &world.uv, &setup, err);
}

static enum status open_at(const char *path, struct error *err)
{
    return open_either(path, NULL, err);
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

static int begin_port(void **state)
{
    struct error err = {0};

    (void)state;
    memset(&world, 0, sizeof world);
    assert_int_equal(uv_loop_init(&world.uv), 0);
    assert_int_equal(open_either(NULL, "localhost:0", &err), STATUS_OK);
    world.port = http_port(world.http);
    return 0;
}

/* Parties that join and files that are written need some, whoever opens connections. */
static void test_a_port_makes_room_for_its_connections(void **state)
{
    enum { FEW = 200 };
    struct rlimit before, l;
    struct error err = {0};

    (void)state;
    http_close(world.http);
    uv_run(&world.uv, UV_RUN_DEFAULT);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    l = (struct rlimit){FEW, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    assert_int_equal(open_either(NULL, "localhost:0", &err), STATUS_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    assert_true(l.rlim_cur == l.rlim_max || l.rlim_cur == FEW + HTTP_PORT_CONNECTIONS_MAX);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static int dial_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)world.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static int dial(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (world.port != 0) {
        close(fd);
        return dial_port();
    }
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

/* Which of two holds is another program's guess, and what follows another's request. */
static void test_a_request_that_can_be_read_in_two_ways_is_refused(void **state)
{
    static const char *const twice[] = {
        "Host: x\r\nHost: y\r\n" WITH,
        "Host: x\r\n" WITH WITH,
        "Host: x\r\n" WITH "Content-Length: 3\r\nContent-Length: 0\r\n",
        "Host: x\r\n" WITH "content-length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Host: x\r\n" WITH "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        const char *got;

        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n%s\r\n0\r\n\r\n" GET("/b"), twice[i]);
        got = ask(text);
        expect(got, "HTTP/1.1 400");
        assert_null(strstr(got + 1, "HTTP/1.1"));
    }
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

static void test_who_only_takes_a_place_is_gone_when_others_wait(void **state)
{
    int fd[HTTP_CONNECTIONS_MAX], waits;

    (void)state;
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        fd[i] = dial();
        say(fd[i], i == 0 ? "POST / HTTP/1.1\r\nHost: x\r\n" WITH "Content-Length: 2\r\n\r\na"
                          : "GET / HTTP/1.1\r\nHost: x\r\n" WITH);
        uv_run(&world.uv, UV_RUN_NOWAIT);
    }
    waits = dial();
    say(waits, "GET /waits HTTP/1.1\r\nHost: x\r\n" WITH "\r\n");
    world.now_us += HTTP_FULL_S * 1000000ull;
    expect(hear(waits), "GET /waits 0");
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) /* the first has a token and half a body */
        assert_string_equal(hear(fd[i]), "");
}

static void test_half_a_body_has_its_time_from_its_head_on(void **state)
{
    int fd[HTTP_CONNECTIONS_MAX];

    (void)state;
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        fd[i] = dial();
        say(fd[i], "POST / HTTP/1.1\r\nHost: x\r\n");
        uv_run(&world.uv, UV_RUN_NOWAIT);
    }
    world.now_us += HTTP_FULL_S * 1000000ull - 1;
    say(fd[0], WITH "Content-Length: 2\r\n\r\na");
    for (int k = 0; k < 8; k++)
        uv_run(&world.uv, UV_RUN_NOWAIT);
    world.now_us += HTTP_FULL_S * 1000000ull - 1;
    for (int k = 0; k < 8; k++)
        uv_run(&world.uv, UV_RUN_NOWAIT);
    say(fd[0], "b");
    expect(hear(fd[0]), "POST / 2");
    for (size_t i = 1; i < HTTP_CONNECTIONS_MAX; i++)
        assert_string_equal(hear(fd[i]), "");
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

/* --- a port, and answers that come later --- */

/* What has come by now that ends in these words; the connection stays. */
static void hear_until(int fd, const char *words)
{
    char got[4096];
    size_t n = 0;

    for (got[0] = 0; strstr(got, words) == NULL; got[n] = 0) {
        const ssize_t more = recv(fd, got + n, sizeof got - 1 - n, 0);

        if (more < 0 && errno == EAGAIN)
            uv_run(&world.uv, UV_RUN_ONCE);
        else if (more <= 0)
            fail_msg("closed without \"%s\": %s", words, got);
        n += more > 0 ? (size_t)more : 0;
    }
}

static void test_a_connection_to_a_port_has_one_request_after_another(void **state)
{
    const int fd = dial();

    (void)state;
    for (int i = 0; i < 3; i++) {
        say(fd, GET("/a"));
        hear_until(fd, "GET /a 0");
        world.now_us += (HTTP_DEADLINE_S - 1) * 1000000ull; /* each has a time of its own */
    }
    assert_int_equal(world.client, 0);
    say(fd, "GET /b HTTP/1.1\r\n" LOCAL "Authorization: Bearer " OTHER "\r\n\r\n");
    hear_until(fd, "GET /b 0");
    assert_int_equal(world.client, 1);
    close(fd);
}

static void test_nobody_at_a_port_is_heard_out_of_a_browser(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        LOCAL WITH "Origin: http://localhost\r\n",
        LOCAL WITH "Origin: null\r\n",
        WITH "Host: example.org\r\n",
        WITH "Host: localhost.example.org\r\n",
        WITH "Host: \r\n",
    };
    char text[512];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int fd = dial();

        snprintf(text, sizeof text, "GET / HTTP/1.1\r\n%s\r\n", wrong[i]);
        say(fd, text);
        hear_until(fd, "HTTP/1.1 403");
        close(fd);
    }
    assert_int_equal(world.asked, 0);
}

static void test_a_body_at_a_port_is_short(void **state)
{
    char text[256];
    const int fd = dial();

    (void)state;
    snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" LOCAL WITH "Content-Length: %d\r\n\r\n",
             HTTP_PORT_BODY_MAX + 1);
    say(fd, text);
    hear_until(fd, "HTTP/1.1 413");
    close(fd);
    assert_int_equal(world.asked, 0);
}

static void reply(struct http_later *to, const char *words)
{
    struct http_answer a = {.status = 429, .type = "text/plain", .retry_s = 7};

    buf_init(&a.body, 64);
    assert_int_equal(buf_printf(&a.body, "%s", words), STATUS_OK);
    http_reply(to, &a);
    buf_deinit(&a.body);
}

static void test_what_waits_is_answered_later_and_each_by_its_own(void **state)
{
    int fd[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        fd[i] = dial();
        say(fd[i], GET("/later"));
        while (world.waits == (size_t)i)
            uv_run(&world.uv, UV_RUN_ONCE);
    }
    world.now_us += 10 * HTTP_DEADLINE_S * 1000000ull; /* its deadline is the owner's business */
    say(fd[1], GET("/next"));                          /* before the answer to the first */
    close(fd[0]);                                      /* gone, which nobody sees yet */
    for (int i = 0; i < 8; i++)
        uv_run(&world.uv, UV_RUN_NOWAIT);
    reply(world.later[2], "third");
    reply(world.later[1], "second");
    hear_until(fd[2], "HTTP/1.1 429");
    hear_until(fd[1], "GET /next 0");
    reply(world.later[0], "first");
    for (int i = 0; i < 8; i++)
        uv_run(&world.uv, UV_RUN_NOWAIT);
    say(fd[2], GET("/a"));
    hear_until(fd[2], "GET /a 0");
    close(fd[1]);
    close(fd[2]);
}

static void test_no_port_but_of_loopback(void **state)
{
    static const char *const wrong[] = {"0.0.0.0:0",    "192.0.2.1:0",     "[::]:0",
                                        "localhost",    "127.0.0.1:70000", "127.0.0.1:x",
                                        "example.org:0"};
    struct error err = {0};
    struct http *own = world.http;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(open_either(NULL, wrong[i], &err), STATUS_CONFIG);
    world.http = own;
}

int main(void)
{
#define IN_A_PORT(test) cmocka_unit_test_setup_teardown(test, begin_port, end)
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_A_PORT(test_a_port_makes_room_for_its_connections),
        IN_A_WORLD(test_a_request_with_the_token_is_answered_and_its_connection_closed),
        IN_A_WORLD(test_without_the_token_nobody_is_heard),
        IN_A_WORLD(test_a_body_over_the_limit_is_refused_by_what_it_says),
        IN_A_WORLD(test_a_request_that_can_be_read_in_two_ways_is_refused),
        IN_A_WORLD(test_what_is_no_request_ends_its_connection_alone),
        IN_A_WORLD(test_a_head_without_end_is_cut_off),
        IN_A_WORLD(test_a_connection_lasts_so_long_whatever_it_sends),
        IN_A_WORLD(test_one_more_than_there_are_places_for_is_heard_when_one_is_free),
        IN_A_WORLD(test_who_only_takes_a_place_is_gone_when_others_wait),
        IN_A_WORLD(test_half_a_body_has_its_time_from_its_head_on),
        IN_A_WORLD(test_the_socket_is_the_owners_and_replaces_none_but_a_socket),
        IN_A_PORT(test_a_connection_to_a_port_has_one_request_after_another),
        IN_A_PORT(test_nobody_at_a_port_is_heard_out_of_a_browser),
        IN_A_PORT(test_a_body_at_a_port_is_short),
        IN_A_PORT(test_what_waits_is_answered_later_and_each_by_its_own),
        IN_A_PORT(test_no_port_but_of_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
