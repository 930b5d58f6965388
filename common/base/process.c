/* process.c -- whose it is, its files, and starting over.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/process.h"

#include <grp.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

bool process_become_owner(const char *folder)
{
    struct stat is;

    if (geteuid() != 0 || stat(folder, &is) != 0 || is.st_uid == 0)
        return true;
    return setgroups(0, NULL) == 0 && setgid(is.st_gid) == 0 && setuid(is.st_uid) == 0;
}

uint32_t process_files(uint32_t more)
{
    struct rlimit l;
    rlim_t had, room;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur == RLIM_INFINITY)
        return more;
    had = l.rlim_cur;
    l.rlim_cur = l.rlim_max - had < more ? l.rlim_max : had + more;
    if (setrlimit(RLIMIT_NOFILE, &l) != 0)
        l.rlim_cur = had;
    room = l.rlim_cur - had + had / 2;
    return room < more ? (uint32_t)room : more;
}

void process_exec_again(char **argv)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    if (n <= 0)
        return;
    path[n] = 0; /* the real path, so that ps and top show the program's name */
    execv(path, argv);
}
