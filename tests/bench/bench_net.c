/* bench_net.c -- what a round costs in common/net alone: N connections, 2 KB up, 6.4 KB down, TLS,
 * loopback.
 *
 * The parent is the server: when a frame of each connection has come, it answers all of them, as a
 * round does.  The child holds the N clients.  Prints microseconds per round and per connection and
 * round, and the processor time of each side.  Beside it the same over bare blocking sockets
 * without TLS, as a measure of what the kernel takes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/clock.h"
#include "common/net/net.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UP = 2000, DOWN = 6400, CONNS_MAX = 200, WARM_UP = 50, FRAME_MAX = 1 << 20 };

struct side {
    uv_loop_t loop;
    struct net_tls *tls;
    struct net_listener *listener;
    struct net_conn *conns[CONNS_MAX];
    int n, open, arrived, closed;
    long rounds, done;
    uint64_t began_us, took_us;
    double began_cpu_s, took_cpu_s;
};

static uint8_t payload[DOWN];

static void must(enum status s, const struct error *err)
{
    if (s == STATUS_OK)
        return;
    fprintf(stderr, "bench_net: %s\n", err->text);
    exit(1);
}

static void send_all(struct side *s, size_t n)
{
    struct error err = {.text = "send"};

    for (int i = 0; i < s->n; i++)
        must(net_send(s->conns[i], payload, n), &err);
}

static void on_close(void *owner, struct net_conn *c, const struct error *err)
{
    struct side *s = owner;

    (void)c;
    if (err->status != STATUS_OK && err->status != STATUS_NET)
        must(err->status, err);
    s->closed++;
}

static void on_open(void *owner, struct net_conn *c, const uint8_t *spki)
{
    struct side *s = owner;

    (void)spki;
    net_conn_accept(c, FRAME_MAX);
    s->conns[s->open++] = c;
}

static void on_server_frame(void *owner, struct net_conn *c, uint8_t *bytes, size_t n)
{
    struct side *s = owner;

    (void)c, (void)bytes, (void)n;
    if (++s->arrived < s->n)
        return;
    s->arrived = 0;
    send_all(s, DOWN);
    if (++s->done == WARM_UP) {
        s->began_us = clock_us();
        s->began_cpu_s = clock_cpu_s();
    }
    if (s->done < s->rounds + WARM_UP)
        return;
    s->took_us = clock_us() - s->began_us;
    s->took_cpu_s = clock_cpu_s() - s->began_cpu_s;
    for (int i = 0; i < s->n; i++)
        net_conn_close(s->conns[i], true);
    net_listener_close(s->listener);
}

static void on_client_open(void *owner, struct net_conn *c, const uint8_t *spki)
{
    struct side *s = owner;
    struct error err = {.text = "send"};

    on_open(owner, c, spki);
    if (s->open == s->n) {
        s->began_us = clock_us();
        send_all(s, UP);
    }
    (void)err;
}

/* A party answers for itself. */
static void on_client_frame(void *owner, struct net_conn *c, uint8_t *bytes, size_t n)
{
    (void)owner, (void)bytes, (void)n;
    if (net_send(c, payload, UP) != STATUS_OK)
        net_conn_close(c, false);
}

static long rss_kb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static struct net_identity identity(const struct test_pki *p, const char *name)
{
    return (struct net_identity){
        .cert = test_pki_path(p, name, "pem"), .key = test_pki_path(p, name, "key"), .ca = p->ca};
}

static void run_clients(const struct test_pki *p, const char *address, int n)
{
    static const struct net_events events = {on_client_open, on_client_frame, on_close};
    static struct side s;
    struct net_identity id = identity(p, "p1");
    struct error err = {0};
    double cpu = clock_cpu_s();

    s.n = n;
    uv_loop_init(&s.loop);
    must(net_tls_new(&s.tls, false, &id, &err), &err);
    for (int i = 0; i < n; i++) {
        struct net_conn *c;
        must(net_dial(&c, &(struct net_side){&s.loop, s.tls, &events, &s}, address, "server", &err),
             &err);
    }
    uv_run(&s.loop, UV_RUN_DEFAULT);
    fprintf(stderr, "    clients: %.2f s of processor, %ld KiB resident at most\n",
            clock_cpu_s() - cpu, rss_kb());
    _exit(0);
}

static double run_round(const struct test_pki *p, int n, long rounds)
{
    static const struct net_events events = {on_open, on_server_frame, on_close};
    struct side *s = calloc(1, sizeof *s);
    struct net_identity id = identity(p, "server");
    struct error err = {0};
    uint64_t start;
    double us;
    pid_t child;

    s->n = n;
    s->rounds = rounds;
    uv_loop_init(&s->loop);
    must(net_tls_new(&s->tls, true, &id, &err), &err);
    must(net_listen(&s->listener, &(struct net_side){&s->loop, s->tls, &events, s}, "127.0.0.1:0",
                    CONNS_MAX, &err),
         &err);
    start = clock_us();
    fflush(stdout);
    child = fork();
    if (child == 0)
        run_clients(p, net_listener_address(s->listener), n);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    waitpid(child, NULL, 0);
    us = (double)s->took_us / (double)rounds;
    printf("net  N=%-3d %8.1f us a round %6.2f us a connection, server's processor %6.2f us a "
           "connection, "
           "set-up %.1f ms, %ld KiB\n",
           n, us, us / n, 1e6 * s->took_cpu_s / (double)rounds / n,
           (double)(s->began_us - start) / 1000, rss_kb());
    net_tls_free(s->tls);
    free(s);
    return us;
}

/* --- bare sockets
 * ---------------------------------------------------------------------------------- */

static void move(int fd, bool out, size_t n)
{
    uint8_t bytes[DOWN];
    size_t done = 0;

    while (done < n) {
        ssize_t k = out ? send(fd, payload + done, n - done, 0) : recv(fd, bytes, n - done, 0);
        if (k <= 0)
            _exit(1);
        done += (size_t)k;
    }
}

static void run_bare_clients(int fds[][2], int n, long rounds)
{
    struct pollfd polls[CONNS_MAX];

    for (int i = 0; i < n; i++) {
        close(fds[i][0]);
        polls[i] = (struct pollfd){.fd = fds[i][1], .events = POLLIN};
        move(fds[i][1], true, UP);
    }
    for (long left = rounds * n; left > 0;) {
        poll(polls, (nfds_t)n, -1);
        for (int i = 0; i < n; i++)
            if (polls[i].revents != 0) {
                move(fds[i][1], false, DOWN);
                if (--left >= n)
                    move(fds[i][1], true, UP);
            }
    }
    _exit(0);
}

static void connect_pair(int fds[2], int listener)
{
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    int one = 1;

    getsockname(listener, (struct sockaddr *)&at, &n);
    fds[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[1], (struct sockaddr *)&at, n) != 0)
        exit(1);
    fds[0] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static double run_bare(int n, long rounds)
{
    int fds[CONNS_MAX][2], listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint64_t start;
    pid_t child;

    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, CONNS_MAX) != 0)
        exit(1);
    for (int i = 0; i < n; i++)
        connect_pair(fds[i], listener);
    start = clock_us();
    child = fork();
    if (child == 0)
        run_bare_clients(fds, n, rounds);
    for (long r = 0; r < rounds; r++) {
        for (int i = 0; i < n; i++)
            move(fds[i][0], false, UP);
        for (int i = 0; i < n; i++)
            move(fds[i][0], true, DOWN);
    }
    start = clock_us() - start;
    waitpid(child, NULL, 0);
    close(listener);
    for (int i = 0; i < n; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
    return (double)start / (double)rounds;
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 5, 28, 100};
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    struct test_pki p;

    test_pki_init(&p, scratch_dir(), "ca");
    test_pki_issue(&p, &(struct test_cert){.name = "server", .eku = TEST_EKU_SERVER});
    test_pki_issue(&p, &(struct test_cert){.name = "p1"});
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        long k = rounds / counts[i];
        double us = run_round(&p, counts[i], k);
        double bare = run_bare(counts[i], k);
        printf("bare N=%-3d %8.1f us a round %6.2f us a connection; net / bare = %.2f\n", counts[i],
               bare, bare / counts[i], us / bare);
    }
    test_pki_deinit(&p);
    return 0;
}
