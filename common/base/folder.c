/* folder.c -- who could put something else where this program looks next.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/folder.h"

#include "common/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status failed(const char *path, struct error *err)
{
    return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

/* Root can do anything anyway. */
static enum status check_owner(const char *path, const char *at, const struct stat *st,
                               struct error *err)
{
    if (st->st_uid == geteuid() || st->st_uid == 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG,
                     "%s: %s belongs to user %u, who could put something else in its place; this "
                     "process is user %u: run it as that user, or choose a folder of its own",
                     path, at, (unsigned)st->st_uid, (unsigned)geteuid());
}

/* A part of the path as it is written: where it is a link, its owner can turn it elsewhere. */
static enum status check_written(const char *path, const char *at, struct error *err)
{
    struct stat st;

    if (lstat(at, &st) != 0)
        return errno == ENOENT ? STATUS_OK : failed(at, err);
    return check_owner(path, at, &st, err);
}

static enum status check_above(const char *path, const char *at, struct error *err)
{
    struct stat st;
    enum status s;

    if (lstat(at, &st) != 0)
        return failed(at, err);
    s = check_owner(path, at, &st, err);
    if (s == STATUS_OK && (st.st_mode & 02) != 0 && (st.st_mode & S_ISVTX) == 0)
        return error_set(err, STATUS_CONFIG,
                         "%s: %s is writable by everybody (mode %04o), who could put something "
                         "else in its place",
                         path, at, (unsigned)(st.st_mode & 07777));
    return s;
}

static enum status check_itself(const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return failed(path, err);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return failed(path, err);
    }
    if ((st.st_mode & 022) != 0)
        return error_set(err, STATUS_CONFIG, "%s: writable by others (mode %04o); chmod go-w it",
                         path, (unsigned)(st.st_mode & 07777));
    return STATUS_OK;
}

/* Each part of `parts`, from the root down; itself the last. */
static enum status walk(const char *path, const char *parts,
                        enum status (*check)(const char *path, const char *at, struct error *err),
                        struct error *err)
{
    char at[PATH_MAX];
    size_t n = strlen(parts);
    enum status s = STATUS_OK;

    for (size_t i = 1; i <= n && s == STATUS_OK; i++) {
        if (parts[i] != '/' && parts[i] != 0 && !(i == 1 && parts[0] == '/'))
            continue;
        memcpy(at, parts, i);
        at[i] = 0;
        s = check(path, at, err);
    }
    return s;
}

/* The longest part of the path that there is, without its links. */
static enum status resolve(const char *path, char out[PATH_MAX], bool *all, struct error *err)
{
    char part[PATH_MAX];

    *all = true;
    strcpy(part, path);
    while (realpath(part, out) == NULL) {
        char *slash = strrchr(part, '/');

        if (errno != ENOENT)
            return failed(part, err);
        *all = false;
        if (slash == NULL)
            strcpy(part, ".");
        else
            slash[slash == part] = 0;
    }
    return STATUS_OK;
}

enum status folder_check(const char *path, struct error *err)
{
    char real[PATH_MAX];
    bool all;
    enum status s;

    if (path[0] == 0 || strlen(path) >= sizeof real)
        return error_set(err, STATUS_IO, "no name of a folder: %.100s", path);
    s = resolve(path, real, &all, err);
    if (s == STATUS_OK)
        s = walk(path, path, check_written, err);
    if (s == STATUS_OK && all)
        s = check_itself(path, err);
    return s == STATUS_OK ? walk(path, real, check_above, err) : s;
}

enum status folder_make(const char *path, struct error *err)
{
    enum status s = folder_check(path, err);

    return s == STATUS_OK ? file_make_dir(path, 0700, err) : s;
}
