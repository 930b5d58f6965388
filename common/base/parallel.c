/* parallel.c -- ranges and threads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/parallel.h"

#include "common/base/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

struct range {
    void (*run)(void *owner, size_t from, size_t to);
    void *owner;
    size_t from, to;
};

unsigned parallel_processors(void)
{
    cpu_set_t set;
    int n = 1;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX : (unsigned)n;
}

static void *run_range(void *arg)
{
    const struct range *r = arg;

    r->run(r->owner, r->from, r->to);
    return NULL;
}

/* Signals are for the loop's thread.  A thread that cannot be had costs time alone. */
static bool begin(pthread_t *thread, struct range *r)
{
    sigset_t all, before;
    bool begun;

    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    begun = pthread_create(thread, NULL, run_range, r) == 0;
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return begun;
}

void parallel_for(size_t n, size_t least, unsigned threads,
                  void (*run)(void *owner, size_t from, size_t to), void *owner)
{
    struct range range[PARALLEL_THREADS_MAX];
    pthread_t thread[PARALLEL_THREADS_MAX];
    bool begun[PARALLEL_THREADS_MAX] = {false};
    size_t parts = least == 0 ? n : n / least;

    if (parts > threads)
        parts = threads;
    if (parts > PARALLEL_THREADS_MAX)
        parts = PARALLEL_THREADS_MAX;
    if (parts < 1)
        parts = 1;
    for (size_t i = 0; i < parts; i++)
        range[i] = (struct range){run, owner, n * i / parts, n * (i + 1) / parts};
    for (size_t i = 1; i < parts; i++)
        begun[i] = begin(&thread[i], &range[i]);
    run_range(&range[0]);
    for (size_t i = 1; i < parts; i++) {
        if (begun[i])
            CHECK(pthread_join(thread[i], NULL) == 0);
        else
            run_range(&range[i]);
    }
}
