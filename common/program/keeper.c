/* keeper.c -- one letter asks, one record answers, with a descriptor where something was started.
 *
 * Below the first line is this side's part, above it what the forked process does; that one has no
 * key, waits for letters, and leaves with _exit, so that nothing of this process is written twice.
 * It may wait for a process that does not end, of a driver or a disk that hangs; this side waits
 * for nothing without a limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/keeper.h"

#include "common/base/clock.h"
#include "common/program/cell.h"
#include "common/program/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASK_START = 'S', ASK_KILL = 'K' };
enum { START_MS = 30000, CLOSE_MS = 2000 };

struct answer {
    int failed; /* 0, or 1 + what could not be done (enum cell_step) */
    int why;    /* errno */
    int ended;  /* of ASK_KILL: as waitpid has it; -1: there was none */
};

/* --- one record, and at most one descriptor --- */

bool keeper_send(int to, const void *bytes, size_t n, int fd, int flags)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    return sendmsg(to, &m, MSG_NOSIGNAL | flags) == (ssize_t)n;
}

static bool take_answer(int from, struct answer *a, int *fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {a, sizeof *a};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n;

    *fd = -1;
    do
        n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *a && m.msg_controllen >= CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(&control.head), sizeof *fd);
    return n == (ssize_t)sizeof *a;
}

/* --- the keeper --- */

/* Whatever it has started itself goes with it, as far as it has stayed in its session. */
static int end_child(pid_t *child)
{
    int ended = -1;

    if (*child <= 0)
        return ended;
    kill(-*child, SIGKILL);
    kill(*child, SIGKILL);
    while (waitpid(*child, &ended, 0) < 0 && errno == EINTR)
        continue;
    *child = 0;
    return ended;
}

static void be_child(const struct config_program *c, const struct cell *cell)
{
    int failed[2];
    const enum cell_step step = cell_enter(c, cell);

    failed[0] = 1 + (int)step;
    failed[1] = errno;
    /* Where the descriptors are in their places `said` is the one behind the program's. */
    if (write(step == CELL_DESCRIPTORS ? cell->said : CELL_FD + 1, failed, sizeof failed) < 0)
        _exit(126);
    _exit(127);
}

/* What the child says before it is the program: nothing, by closing its end. */
static void hear(int from, struct answer *a)
{
    int failed[2];
    ssize_t n;

    do
        n = read(from, failed, sizeof failed);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof failed) {
        a->failed = failed[0];
        a->why = failed[1];
    }
}

struct kept {
    const struct config_program *config;
    pid_t daemon, child; /* 0: none */
    int prints;          /* what it prints; -1: nothing any more */
    struct printed printed;
};

static void close_both(int pair[2])
{
    for (size_t i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* All that is there, so that whoever prints never waits. */
static void read_printed(struct kept *k)
{
    char bytes[4096];
    ssize_t n = -1;

    while (k->prints >= 0 && (n = read(k->prints, bytes, sizeof bytes)) > 0)
        printed_take(&k->printed, bytes, (size_t)n, clock_us());
    if (k->prints < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    printed_end(&k->printed, clock_us());
    close(k->prints);
    k->prints = -1;
}

static void forget_printed(struct kept *k)
{
    read_printed(k);
    if (k->prints < 0)
        return;
    printed_end(&k->printed, clock_us());
    close(k->prints); /* whoever has left its session, and prints, is told */
    k->prints = -1;
}

static int start_child(struct kept *k, struct answer *a)
{
    int talk[2] = {-1, -1}, said[2] = {-1, -1}, prints[2] = {-1, -1};
    const pid_t keeper = getpid();

    forget_printed(k);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) != 0 ||
        pipe2(said, O_CLOEXEC) != 0 || pipe2(prints, O_CLOEXEC) != 0 ||
        fcntl(prints[0], F_SETFL, O_NONBLOCK) != 0 || (k->child = fork()) < 0) {
        *a = (struct answer){1 + CELL_STEPS, errno, -1};
        k->child = 0;
    } else if (k->child == 0) {
        be_child(k->config, &(struct cell){talk[1], said[1], prints[1], .keeper = keeper,
                                           .daemon = k->daemon});
    } else {
        close(said[1]);
        said[1] = -1;
        hear(said[0], a);
        k->prints = prints[0];
        prints[0] = -1;
    }
    close_both(said);
    close_both(prints);
    if (talk[1] >= 0)
        close(talk[1]);
    return talk[0];
}

/* False: the daemon is gone. */
static bool obey(struct kept *k, int fd)
{
    struct answer a = {.ended = -1};
    char asked;
    const ssize_t n = recv(fd, &asked, sizeof asked, 0);
    int talk = -1;
    bool told;

    if (n < 0 && errno == EINTR)
        return true;
    a.ended = end_child(&k->child);
    read_printed(k);
    if (n != (ssize_t)sizeof asked)
        return false;
    if (asked == ASK_START)
        talk = start_child(k, &a);
    if (a.failed != 0)
        end_child(&k->child);
    told = keeper_send(fd, &a, sizeof a, a.failed == 0 ? talk : -1, 0);
    if (talk >= 0)
        close(talk);
    return told;
}

static void keep(int fd, struct kept *k)
{
    struct pollfd wait[2] = {{.fd = fd, .events = POLLIN}, {.events = POLLIN}};

    for (;;) {
        wait[1].fd = k->prints;
        wait[0].revents = wait[1].revents = 0;
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            break;
        if (wait[1].revents != 0)
            read_printed(k);
        if (wait[0].revents != 0 && !obey(k, fd))
            break;
    }
    end_child(&k->child);
    forget_printed(k);
    _exit(0);
}

/* ^C at the terminal, and the end of a service, are the daemon's to see: it ends this by going. */
static void be_keeper(int fd, const struct config_program *c, pid_t daemon)
{
    static const int deaf[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2};
    enum { OWN = 3 };
    struct kept kept = {.config = c, .daemon = daemon, .prints = -1};
    const int own = fcntl(fd, F_DUPFD, OWN + 1);

    for (size_t i = 0; i < sizeof deaf / sizeof *deaf; i++)
        signal(deaf[i], SIG_IGN);
    if (own < 0 || dup3(own, OWN, O_CLOEXEC) != OWN ||
        syscall(SYS_close_range, OWN + 1, ~0U, 0) != 0)
        _exit(1);
    keep(OWN, &kept);
}

/* --- this side --- */

enum status keeper_fork(struct keeper *k, const struct config_program *c, struct error *err)
{
    const pid_t own = getpid();
    int pair[2];
    pid_t pid;

    *k = (struct keeper){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(err, STATUS_IO, "%s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        be_keeper(pair[1], c, own);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return error_set(err, STATUS_IO, "%s", strerror(errno));
    }
    k->fd = pair[0];
    k->pid = pid;
    return STATUS_OK;
}

bool keeper_await(int fd, uint32_t limit_ms)
{
    const uint64_t until = clock_us() + (uint64_t)limit_ms * 1000;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int n;

    do {
        const uint64_t now = clock_us();
        const uint64_t left = now < until ? (until - now + 999) / 1000 : 0;

        n = poll(&wait, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (n == 0 && left == 0)
            return false;
    } while (n == 0 || (n < 0 && errno == EINTR));
    return true;
}

enum heard { HEARD, HEARD_NOTHING, HEARD_END };

/* The last answer that is due; to those before it nobody has waited. */
static enum heard hear_keeper(struct keeper *k, struct answer *a, int *fd, uint32_t limit_ms)
{
    *fd = -1;
    for (; k->due > 0; k->due--) {
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
        if (!keeper_await(k->fd, limit_ms))
            return HEARD_NOTHING;
        if (!take_answer(k->fd, a, fd))
            return HEARD_END;
    }
    return HEARD;
}

static enum heard ask(struct keeper *k, char what, struct answer *a, int *fd, uint32_t limit_ms)
{
    *fd = -1;
    if (send(k->fd, &what, sizeof what, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof what)
        return HEARD_END;
    k->due++;
    return hear_keeper(k, a, fd, limit_ms);
}

enum status keeper_start(struct keeper *k, int *fd, struct error *err)
{
    struct answer a = {0};

    switch (ask(k, ASK_START, &a, fd, START_MS)) {
    case HEARD: break;
    case HEARD_NOTHING:
        return error_set(err, STATUS_IO,
                         "not started within %d ms: a disk hangs, or the one before "
                         "it does not end",
                         START_MS);
    case HEARD_END: return error_set(err, STATUS_IO, "the process that starts it is gone");
    }
    if (a.failed == 0 && *fd >= 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "%s: %s", cell_step_words((enum cell_step)(a.failed - 1)),
                     strerror(a.why));
}

void keeper_kill(struct keeper *k, uint32_t limit_ms, char ended[KEEPER_ENDED_MAX])
{
    struct answer a = {.ended = -1};
    int none;
    const enum heard heard = ask(k, ASK_KILL, &a, &none, limit_ms);

    if (heard == HEARD_NOTHING)
        snprintf(ended, KEEPER_ENDED_MAX, "not yet");
    else if (heard == HEARD_END || a.ended < 0)
        snprintf(ended, KEEPER_ENDED_MAX, "gone");
    else if (WIFEXITED(a.ended))
        snprintf(ended, KEEPER_ENDED_MAX, "exit code %d", WEXITSTATUS(a.ended));
    else
        snprintf(ended, KEEPER_ENDED_MAX, "signal %d", WTERMSIG(a.ended));
}

/* It closes its end when what it has started is no more; one that waits for that for too long is
 * left to itself. */
void keeper_close(struct keeper *k)
{
    const uint64_t until = clock_us() + (uint64_t)CLOSE_MS * 1000;
    struct answer a;
    bool over = false;
    int fd;

    if (k->fd < 0)
        return;
    shutdown(k->fd, SHUT_WR);
    while (!over && clock_us() < until && keeper_await(k->fd, CLOSE_MS)) {
        over = !take_answer(k->fd, &a, &fd);
        if (fd >= 0)
            close(fd);
    }
    close(k->fd);
    k->fd = -1;
    while (waitpid(k->pid, NULL, over ? 0 : WNOHANG) < 0 && errno == EINTR)
        continue;
}
