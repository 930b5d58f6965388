/* postgres_server.c -- tests/lib/postgres.sh at the other end of two pipes: when this process is
 * gone, however, the script reads the end of its input and stops the server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/postgres_server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

/* Only the script may hold the other ends, so no child of the test's inherits ours; and whoever
 * ends the test's group does not end what is to take the server away. */
static void start(int in[2], int out[2])
{
    const pid_t child = fork();

    if (child == 0) {
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl("/bin/sh", "sh", "tests/lib/postgres.sh", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
}

const char *postgres_server(void)
{
    static int tried;
    char service[sizeof folder + 16];
    int in[2], out[2];
    size_t n = 0;
    ssize_t got;

    if (tried++ > 0)
        return folder[0] != 0 ? folder : NULL;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return NULL;
    start(in, out);
    while (n + 1 < sizeof folder && (got = read(out[0], folder + n, sizeof folder - 1 - n)) > 0) {
        n += (size_t)got;
        if (memchr(folder, '\n', n) != NULL)
            break;
    }
    folder[strcspn(folder, "\n")] = 0;
    if (folder[0] == 0) {
        printf("no PostgreSQL server here (package postgresql): what needs one is left out\n");
        return NULL;
    }
    snprintf(service, sizeof service, "%s/service", folder);
    setenv("PGSERVICEFILE", service, 1);
    return folder;
}
