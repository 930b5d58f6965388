/* runs.c -- how many runs a state folder holds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/runs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
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

const char *runs_name(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash == NULL ? folder : slash + 1;
}
