/* runs.c -- which runs a state folder holds, and how many.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/runs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

const char *runs_name(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash == NULL ? folder : slash + 1;
}
