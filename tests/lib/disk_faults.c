/* disk_faults.c -- a shared object for LD_PRELOAD: counts the calls by which a process makes files
 * durable, and at the K-th ends the process or lets the call fail as a disk would.
 *
 *   DISK_FAULTS=MODE:K        the K-th call, from 1, of those that MODE can hit; K = 0: none
 *   DISK_FAULTS_TRACE=FILE    a line "K NAME FILE" for each call, and "hit" behind the faulty one
 *
 * Counted are changes of regular files and folders: open with O_CREAT, write, pwrite, writev,
 * fsync, fdatasync, ftruncate, rename, unlink, mkdir.  Sockets, pipes and the standard streams are
 * not. These are what the daemons, SQLite and Jansson call; whatever else there is passes
 * uncounted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a call does; a mode hits some of them. */
enum { MAKES = 1, WRITES = 2, SYNCS = 4, CUTS = 8, MOVES = 16, REMOVES = 32, ANY = 63 };

enum outcome { PASS, FAIL, HALF };

static const struct mode {
    const char *name;
    int hits;
    enum outcome outcome;
    bool ends, for_good; /* kill -9, before the call unless it is `after`; every later call too */
    int error;           /* of the call, or after HALF of the rest */
} modes[] = {
    {"count", ANY, PASS, false, false, 0},
    {"kill", ANY, FAIL, true, false, 0},
    {"kill-after", ANY, PASS, true, false, 0},
    {"kill-half", WRITES, HALF, true, false, 0},  /* a record of which half reached the disk */
    {"short", WRITES, HALF, false, false, 0},     /* half of it is written, which is no error */
    {"half", WRITES, HALF, false, false, ENOSPC}, /* the same, and then the disk is full */
    {"enospc", ANY, FAIL, false, false, ENOSPC},
    {"eio", ANY, FAIL, false, false, EIO},
    {"full", MAKES | WRITES, FAIL, false, true, ENOSPC}, /* what was written can be synced */
    {"dead", ANY, FAIL, false, true, EIO},
};

static const struct mode *mode;
static long at;
static int trace = -1;
static atomic_long calls;
static atomic_bool rest_fails; /* of `half`: the next write finds the disk full */

__attribute__((constructor)) static void begin(void)
{
    const char *wish = getenv("DISK_FAULTS"), *file = getenv("DISK_FAULTS_TRACE");
    const char *colon = wish == NULL ? NULL : strchr(wish, ':');

    for (size_t i = 0; colon != NULL && i < sizeof modes / sizeof modes[0]; i++) {
        if (strlen(modes[i].name) == (size_t)(colon - wish) &&
            strncmp(modes[i].name, wish, (size_t)(colon - wish)) == 0)
            mode = &modes[i];
    }
    if (wish != NULL && mode == NULL) {
        fprintf(stderr, "DISK_FAULTS=%s: MODE:K expected\n", wish);
        _exit(99);
    }
    at = colon == NULL ? 0 : strtol(colon + 1, NULL, 10);
    if (file != NULL)
        trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                             0600);
}

/* path NULL: fd's. */
static void note(long k, const char *name, int fd, const char *path, bool hit)
{
    char link[64], found[PATH_MAX] = "", line[PATH_MAX + 64];
    const char *slash;
    int n;

    if (trace < 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (path == NULL && readlink(link, found, sizeof found - 1) >= 0)
        path = found;
    slash = path == NULL ? NULL : strrchr(path, '/');
    n = snprintf(line, sizeof line, "%ld %s %s%s\n", k, name, slash == NULL ? "?" : slash + 1,
                 hit ? " hit" : "");
    if (n > 0 && (size_t)n < sizeof line)
        syscall(SYS_write, trace, line, (size_t)n);
}

static void end(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

struct verdict {
    enum outcome outcome; /* FAIL: errno is set */
    bool ends;            /* once the call has been made */
};

static struct verdict judge(const char *name, int does, int fd, const char *path)
{
    const struct verdict pass = {PASS, false};
    bool hit;
    long k;

    if (mode == NULL || (mode->hits & does) == 0)
        return pass;
    k = 1 + atomic_fetch_add(&calls, 1);
    hit = at > 0 && (k == at || (k > at && mode->for_good));
    note(k, name, fd, path, hit);
    if (does == WRITES && atomic_exchange(&rest_fails, false)) {
        errno = ENOSPC;
        return (struct verdict){FAIL, false};
    }
    if (!hit)
        return pass;
    if (mode->ends && mode->outcome == FAIL)
        end();
    errno = mode->error;
    if (mode->outcome == HALF && mode->error != 0)
        atomic_store(&rest_fails, true);
    return (struct verdict){mode->outcome, mode->ends};
}

static ssize_t done(struct verdict v, ssize_t result)
{
    if (v.ends)
        end();
    return result;
}

static bool is_file(int fd)
{
    struct stat st;
    int error = errno;
    bool yes = fd > STDERR_FILENO && fd != trace && fstat(fd, &st) == 0 &&
               (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));

    errno = error;
    return yes;
}

/* The function of this name that comes after ours, called with the arguments. */
#define REAL(name, ...) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

/* --- by name --- */

static int opened(const char *name, const char *path, int flags, mode_t permissions)
{
    struct verdict v = {PASS, false};

    if ((flags & O_CREAT) != 0)
        v = judge(name, MAKES, -1, path);
    return v.outcome == FAIL ? -1 : (int)done(v, REAL(open, path, flags, permissions));
}

int open(const char *path, int flags, ...)
{
    va_list more;
    mode_t permissions;

    va_start(more, flags);
    permissions = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened("open", path, flags, permissions);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    mode_t permissions;

    va_start(more, flags);
    permissions = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened("open", path, flags | O_LARGEFILE, permissions);
}

int rename(const char *from, const char *to)
{
    struct verdict v = judge("rename", MOVES, -1, to);

    return v.outcome == FAIL ? -1 : (int)done(v, REAL(rename, from, to));
}

int unlink(const char *path)
{
    struct verdict v = judge("unlink", REMOVES, -1, path);

    return v.outcome == FAIL ? -1 : (int)done(v, REAL(unlink, path));
}

int mkdir(const char *path, mode_t permissions)
{
    struct verdict v = judge("mkdir", MAKES, -1, path);

    return v.outcome == FAIL ? -1 : (int)done(v, REAL(mkdir, path, permissions));
}

/* --- by descriptor --- */

ssize_t write(int fd, const void *bytes, size_t n)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("write", WRITES, fd, NULL);
    if (v.outcome == FAIL)
        return -1;
    return done(v, REAL(write, fd, bytes, v.outcome == HALF ? n / 2 : n));
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t where)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("pwrite", WRITES, fd, NULL);
    if (v.outcome == FAIL)
        return -1;
    return done(v, REAL(pwrite64, fd, bytes, v.outcome == HALF ? n / 2 : n, where));
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t where)
{
    return pwrite64(fd, bytes, n, where);
}

ssize_t writev(int fd, const struct iovec *part, int parts)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("writev", WRITES, fd, NULL);
    if (v.outcome == FAIL)
        return -1;
    return done(v, REAL(writev, fd, part, v.outcome == HALF ? (parts + 1) / 2 : parts));
}

int fsync(int fd)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("fsync", SYNCS, fd, NULL);
    return v.outcome == FAIL ? -1 : (int)done(v, REAL(fsync, fd));
}

int fdatasync(int fd)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("fdatasync", SYNCS, fd, NULL);
    return v.outcome == FAIL ? -1 : (int)done(v, REAL(fdatasync, fd));
}

int ftruncate64(int fd, off64_t size)
{
    struct verdict v = {PASS, false};

    if (is_file(fd))
        v = judge("ftruncate", CUTS, fd, NULL);
    return v.outcome == FAIL ? -1 : (int)done(v, REAL(ftruncate64, fd, size));
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}
