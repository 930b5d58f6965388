/* aborts.c -- fork, call, look at how the child ended.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/aborts.h"

#include "common/base/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_quiet(void)
{
    struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    CHECK(null >= 0 && dup2(null, STDERR_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0);
    CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
    CHECK(signal(SIGABRT, SIG_DFL) != SIG_ERR);
}

bool aborts(void (*call)(void *arg), void *arg)
{
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        be_quiet();
        call(arg);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGABRT);
    return WIFSIGNALED(status);
}
