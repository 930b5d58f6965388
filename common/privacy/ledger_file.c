/* ledger_file.c -- whose file it is, asked of the file itself and not of its name.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_file.h"

#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status check_mode(const char *path, const struct stat *is, struct error *err)
{
    if (!S_ISREG(is->st_mode))
        return error_set(err, STATUS_IO, "ledger %s: not a regular file", path);
    if (is->st_uid != geteuid())
        return error_set(err, STATUS_IO, "ledger %s: belongs to another user", path);
    if ((is->st_mode & 077) != 0)
        return error_set(err, STATUS_IO,
                         "ledger %s: others than its owner may use it (mode %03o, 600 expected)",
                         path, (unsigned)is->st_mode & 0777);
    if (is->st_nlink != 1)
        return error_set(err, STATUS_IO, "ledger %s: has another name too (a hard link)", path);
    return STATUS_OK;
}

/* O_NONBLOCK: a pipe must not hang whoever looks at it. */
static enum status claim(const char *path, struct error *err)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open(path, flags, 0600);
    struct stat is;
    enum status s;

    if (fd < 0 && errno == ELOOP)
        return error_set(err, STATUS_IO, "ledger %s: a link, which is not followed", path);
    if (fd < 0)
        return error_set(err, STATUS_IO, "ledger %s: %s", path, strerror(errno));
    if (fstat(fd, &is) != 0)
        s = error_set(err, STATUS_IO, "ledger %s: %s", path, strerror(errno));
    else
        s = check_mode(path, &is, err);
    close(fd);
    return s;
}

/* The log of a process that was killed, if there is one. */
static enum status claim_beside(const char *path, const char *suffix, struct error *err)
{
    char name[PATH_MAX];
    struct stat is;

    if (snprintf(name, sizeof name, "%s%s", path, suffix) >= (int)sizeof name)
        return error_set(err, STATUS_IO, "ledger %s: its name is too long", path);
    if (lstat(name, &is) == 0)
        return check_mode(name, &is, err);
    return errno == ENOENT ? STATUS_OK
                           : error_set(err, STATUS_IO, "ledger %s: %s", name, strerror(errno));
}

/* SQLite would refuse a link anywhere on the way; a folder may be one. */
static enum status resolve(const char *path, char real[PATH_MAX], struct error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    char folder[PATH_MAX], found[PATH_MAX];

    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    if (slash == NULL || n == 0)
        snprintf(folder, sizeof folder, "%s", slash == NULL ? "." : "/");
    if (realpath(folder, found) == NULL)
        return error_set(err, STATUS_IO, "ledger %s: %s", path, strerror(errno));
    if (snprintf(real, PATH_MAX, "%s/%s", strcmp(found, "/") == 0 ? "" : found,
                 slash == NULL ? path : slash + 1) >= PATH_MAX - 16)
        return error_set(err, STATUS_IO, "ledger %s: its name is too long", path);
    return STATUS_OK;
}

enum status ledger_file_claim(const char *path, char real[PATH_MAX], struct error *err)
{
    static const char *const beside[] = {"-wal", "-journal", "-shm"};
    enum status s;

    if (strlen(path) >= PATH_MAX - 16)
        return error_set(err, STATUS_IO, "ledger %s: its name is too long", path);
    s = claim(path, err);
    for (size_t i = 0; i < sizeof beside / sizeof *beside && s == STATUS_OK; i++)
        s = claim_beside(path, beside[i], err);
    return s == STATUS_OK ? resolve(path, real, err) : s;
}

/* `ledger.db` has its mark in `ledger.begun`: what is removed by the name of the database and all
 * that follows it leaves the mark. */
static void name_mark(char mark[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    const size_t n = dot == NULL || dot == name ? strlen(path) : (size_t)(dot - path);

    snprintf(mark, PATH_MAX, "%.*s.begun", (int)n, path);
}

/* Anything of that name counts, a link that leads nowhere too. */
static bool is_marked(const char *mark)
{
    struct stat is;

    return lstat(mark, &is) == 0 || errno != ENOENT;
}

enum status ledger_file_unbegun(const char *path, bool fresh, struct error *err)
{
    char mark[PATH_MAX];

    name_mark(mark, path);
    if (!fresh || !is_marked(mark))
        return STATUS_OK;
    return error_set(err, STATUS_IO,
                     "ledger %s: was lost or emptied: put it back; only to begin another on "
                     "purpose, remove %s",
                     path, mark);
}

enum status ledger_file_mark(const char *path, struct error *err)
{
    char mark[PATH_MAX];

    name_mark(mark, path);
    return is_marked(mark) ? STATUS_OK : file_write_atomic(mark, "", 0, 0600, err);
}
