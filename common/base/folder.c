/* folder.c -- who could put something else where this program looks next.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/folder.h"

#include "common/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

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

/* Who may write to it can put something else in the place of what is looked up there. */
static enum status check_open(const char *path, const char *at, struct error *err)
{
    struct stat st;

    if (stat(at, &st) != 0)
        return failed(at, err);
    if ((st.st_mode & 02) == 0 || (st.st_mode & S_ISVTX) != 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG,
                     "%s: %s is writable by everybody (mode %04o), who could put something "
                     "else in its place",
                     path, at, (unsigned)(st.st_mode & 07777));
}

static enum status check_itself(const char *path, const char *at, struct error *err)
{
    struct stat st;

    if (stat(at, &st) != 0)
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

/* As the system looks a path up: name by name, and a link's text in the place of the link. */
struct way {
    char at[PATH_MAX];   /* what has been walked, which holds no link; "": the root */
    char rest[PATH_MAX]; /* what is still to be */
    unsigned links;
    bool there; /* `at` exists */
};

static enum status go_first(struct way *w, const char *text, const char *path, struct error *err)
{
    const size_t n = strlen(text);

    if (n + 1 + strlen(w->rest) >= sizeof w->rest) {
        errno = ENAMETOOLONG;
        return failed(path, err);
    }
    memmove(w->rest + n + 1, w->rest, strlen(w->rest) + 1);
    memcpy(w->rest, text, n);
    w->rest[n] = '/';
    return STATUS_OK;
}

/* `at` is a link in the folder whose name has n letters. */
static enum status follow(struct way *w, size_t n, const char *path, struct error *err)
{
    char text[PATH_MAX];
    ssize_t len = readlink(w->at, text, sizeof text - 1);

    if (len >= 0 && ++w->links > LINKS_MAX) {
        errno = ELOOP;
        len = -1;
    }
    if (len < 0)
        return failed(path, err);
    text[len] = 0;
    w->at[text[0] == '/' ? 0 : n] = 0;
    return go_first(w, text, path, err);
}

static enum status enter(struct way *w, const char *name, const char *path, struct error *err)
{
    const size_t n = strlen(w->at);
    struct stat st;
    enum status s = check_open(path, n > 0 ? w->at : "/", err);

    if (s != STATUS_OK)
        return s;
    if (n + 1 + strlen(name) >= sizeof w->at) {
        errno = ENAMETOOLONG;
        return failed(path, err);
    }
    w->at[n] = '/';
    strcpy(w->at + n + 1, name);
    w->there = lstat(w->at, &st) == 0;
    if (!w->there)
        return errno == ENOENT ? STATUS_OK : failed(w->at, err);
    s = check_owner(path, w->at, &st, err);
    return s == STATUS_OK && S_ISLNK(st.st_mode) ? follow(w, n, path, err) : s;
}

/* The next name of the rest, which begins behind it then; false: there is none. */
static bool next(struct way *w, char name[PATH_MAX])
{
    const size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
    char behind[PATH_MAX];

    memcpy(name, w->rest + skip, n);
    name[n] = 0;
    /* Not by memmove, which memcheck takes for memcpy where glibc has one function for both. */
    strcpy(behind, w->rest + skip + n);
    strcpy(w->rest, behind);
    return n > 0;
}

static enum status walk(struct way *w, const char *path, struct error *err)
{
    char name[PATH_MAX];
    enum status s = STATUS_OK;

    while (s == STATUS_OK && w->there && next(w, name)) {
        if (strcmp(name, "..") == 0) {
            char *slash = strrchr(w->at, '/');
            w->at[slash != NULL ? slash - w->at : 0] = 0;
        } else if (strcmp(name, ".") != 0)
            s = enter(w, name, path, err);
    }
    return s;
}

enum status folder_check(const char *path, struct error *err)
{
    struct way w = {.there = true};
    char here[PATH_MAX];
    enum status s;

    if (path[0] == 0 || strlen(path) >= sizeof w.rest)
        return error_set(err, STATUS_IO, "no name of a folder: %.100s", path);
    strcpy(w.rest, path);
    if (path[0] != '/') {
        if (getcwd(here, sizeof here) == NULL)
            return failed(path, err);
        s = go_first(&w, here, path, err);
        if (s != STATUS_OK)
            return s;
    }
    s = walk(&w, path, err);
    return s == STATUS_OK && w.there ? check_itself(path, w.at[0] != 0 ? w.at : "/", err) : s;
}

/* What was not there yet may have come from somebody else before it could be made. */
enum status folder_make(const char *path, struct error *err)
{
    enum status s = folder_check(path, err);

    if (s == STATUS_OK)
        s = file_make_dir(path, 0700, err);
    return s == STATUS_OK ? folder_check(path, err) : s;
}
