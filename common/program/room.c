/* room.c -- memory without a name, sealed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sealed: the other side cannot cut off what this one reads. */
enum status room_make(struct room *r, size_t bytes)
{
    void *at;

    r->fd = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->fd < 0 || ftruncate(r->fd, (off_t)bytes) != 0 ||
        fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return STATUS_MEMORY;
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (at == MAP_FAILED)
        return STATUS_MEMORY;
    r->at = at;
    r->bytes = bytes;
    return STATUS_OK;
}

void room_free(struct room *r)
{
    if (r->at != NULL)
        munmap(r->at, r->bytes);
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct room){.fd = -1};
}
