/* runs.c -- which runs a state folder holds, and how many.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/runs.h"

#include "common/base/file.h"
#include "common/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status runs_room(const char *state, const char *folder, struct error *err)
{
    char path[PATH_MAX];
    struct stat is;
    size_t n = 0;
    DIR *d;

    if (lstat(folder, &is) == 0)
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/runs", state);
    d = opendir(path);
    if (d == NULL)
        return errno == ENOENT ? STATUS_OK
                               : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    if (n < RUNS_MAX + 2) /* with . and .. */
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s: %d runs are kept: remove some", path, RUNS_MAX);
}

static bool is_run(const char *folder)
{
    struct stat is;

    return runs_name(folder)[0] != '.' && (stat(folder, &is) != 0 || S_ISDIR(is.st_mode));
}

enum status runs_each(const char *state,
                      enum status (*visit)(void *owner, const char *folder, struct error *err),
                      void *owner, struct error *err)
{
    char path[PATH_MAX], folder[PATH_MAX];
    enum status first = STATUS_OK;
    const struct dirent *entry;
    DIR *d;

    snprintf(path, sizeof path, "%s/runs", state);
    d = opendir(path);
    if (d == NULL)
        return errno == ENOENT ? STATUS_OK
                               : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    while ((entry = readdir(d)) != NULL) {
        struct error why = {.status = STATUS_OK};
        enum status s = STATUS_OK;

        if (snprintf(folder, sizeof folder, "%s/%s", path, entry->d_name) >= (int)sizeof folder)
            s = error_set(&why, STATUS_IO, "a name that is too long");
        else if (is_run(folder))
            s = visit(owner, folder, &why);
        if (s != STATUS_OK && first == STATUS_OK)
            first = error_set(err, s, "run %.64s: %.400s", entry->d_name, why.text);
    }
    closedir(d);
    return first;
}

/* --- runs for which nothing was charged --- */

static void mark_of(char out[PATH_MAX], const char *folder)
{
    snprintf(out, PATH_MAX, "%.*s/paid", PATH_MAX - 16, folder);
}

bool runs_is_paid(const char *folder)
{
    char path[PATH_MAX];
    struct stat is;

    mark_of(path, folder);
    return lstat(path, &is) == 0;
}

enum status runs_mark_paid(const char *folder, struct error *err)
{
    char path[PATH_MAX];
    enum status s = folder_make(folder, err);

    if (s != STATUS_OK || runs_is_paid(folder))
        return s;
    mark_of(path, folder);
    return file_write_atomic(path, "", 0, 0600, err);
}

enum status runs_unmark(const char *folder, struct error *err)
{
    char path[PATH_MAX];

    mark_of(path, folder);
    return file_remove(path, err);
}

struct unpaid {
    const char *newest;    /* is not counted: a clock that went back does not make it old */
    size_t n;              /* of the others */
    char oldest[PATH_MAX]; /* of them */
    struct timespec since;
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static enum status count_unpaid(void *owner, const char *folder, struct error *err)
{
    struct unpaid *u = owner;
    struct stat is;

    (void)err;
    if (runs_is_paid(folder) || lstat(folder, &is) != 0 ||
        strcmp(runs_name(folder), runs_name(u->newest)) == 0)
        return STATUS_OK;
    if (u->n++ == 0 || is_before(&is.st_mtim, &u->since)) {
        snprintf(u->oldest, sizeof u->oldest, "%s", folder);
        u->since = is.st_mtim;
    }
    return STATUS_OK;
}

static enum status remove_run(const char *folder, struct error *err)
{
    DIR *d = opendir(folder);

    if (d == NULL)
        return error_set(err, STATUS_IO, "%s: %s", folder, strerror(errno));
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    return rmdir(folder) == 0 ? STATUS_OK
                              : error_set(err, STATUS_IO, "%s: %s", folder, strerror(errno));
}

enum status runs_keep_few_unpaid(const char *state, const char *newest, struct error *err)
{
    enum status s = STATUS_OK;

    for (int gone = 0; s == STATUS_OK && gone < RUNS_MAX; gone++) {
        struct unpaid u = {.newest = newest};

        s = runs_each(state, count_unpaid, &u, err);
        if (s != STATUS_OK || u.n < RUNS_UNPAID_MAX)
            break;
        s = remove_run(u.oldest, err);
    }
    return s;
}

const char *runs_name(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash == NULL ? folder : slash + 1;
}
