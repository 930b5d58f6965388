/* child.c -- a program and its output.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOT_RUN = 127 };

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void become(char *const argv[], int out)
{
    const int in = open("/dev/null", O_RDONLY);

    if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    _exit(NOT_RUN);
}

/* False when the time is up before the end. */
static bool read_until(struct buf *out, int fd, int64_t deadline)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int64_t left = deadline - now_ms();
        char some[4096];
        ssize_t n;
        int ready;

        if (left <= 0)
            return false;
        ready = poll(&p, 1, (int)left);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        n = read(fd, some, sizeof some);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        /* What is beyond the limit is read and forgotten. */
        if (buf_append(out, some, (size_t)n) != STATUS_OK)
            continue;
    }
}

/* False when the time is up before its end.  A child may close its output and live on. */
static bool wait_until(pid_t pid, int *how, int64_t deadline)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    pid_t got;

    while ((got = waitpid(pid, how, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (now_ms() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
    return got == pid;
}

int child_run(struct buf *out, char *const argv[], int seconds)
{
    const int64_t deadline = now_ms() + (int64_t)seconds * 1000;
    int ends[2], how = 0;
    bool in_time;
    pid_t pid;

    buf_init(out, CHILD_TEXT_MAX);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return CHILD_NONE;
    pid = fork();
    if (pid == 0)
        become(argv, ends[1]);
    close(ends[1]);
    in_time = pid > 0 && read_until(out, ends[0], deadline) && wait_until(pid, &how, deadline);
    close(ends[0]);
    if (pid < 0)
        return CHILD_NONE;
    if (!in_time) {
        kill(pid, SIGKILL);
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
            continue;
        return CHILD_LATE;
    }
    if (WIFSIGNALED(how))
        return 128 + WTERMSIG(how);
    return WEXITSTATUS(how) == NOT_RUN ? CHILD_NONE : WEXITSTATUS(how);
}

bool child_said(const struct buf *out, const char *word)
{
    return out->len > 0 && memmem(out->data, out->len, word, strlen(word)) != NULL;
}
