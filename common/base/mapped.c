/* mapped.c -- open, size, map.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mapped.h"

#include "common/base/check.h"
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static enum status failed(const char *path, struct error *err)
{
    return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

/* Takes fd over. */
static enum status map(struct mapped *m, int fd, size_t n, const char *path, struct error *err)
{
    void *data = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    enum status s;

    if (data != MAP_FAILED) {
        *m = (struct mapped){data, n, fd};
        return STATUS_OK;
    }
    s = failed(path, err);
    close(fd);
    return s;
}

enum status mapped_open(struct mapped *m, const char *path, struct error *err)
{
    struct stat st;
    int fd;
    enum status s = file_open_own(&fd, path, O_RDWR, 0, err);

    *m = (struct mapped){0};
    if (s != STATUS_OK && errno == ENOENT) {
        *err = (struct error){0};
        return STATUS_OK;
    }
    if (s != STATUS_OK)
        return s;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        return map(m, fd, (size_t)st.st_size, path, err);
    close(fd);
    return STATUS_OK;
}

/* Of a disk that others write to too, a twentieth stays free, up to this much. */
#define SPARE_BYTES (64u << 20)

/* 0, or why n bytes of fd cannot be on its disk, and something be left. */
static int look_for_room(int fd, size_t n)
{
    struct statvfs disk;
    struct stat st;
    uint64_t has, room, spare;

    if (fstat(fd, &st) != 0 || fstatvfs(fd, &disk) != 0)
        return errno;
    has = (uint64_t)st.st_blocks * 512;
    room = (uint64_t)disk.f_bavail * disk.f_frsize;
    spare = (uint64_t)disk.f_blocks * disk.f_frsize / 20;
    if (spare > SPARE_BYTES)
        spare = SPARE_BYTES;
    if (disk.f_blocks == 0 || n <= has) /* some do not say */
        return 0;
    return room < spare || n - has > room - spare ? ENOSPC : 0;
}

/* The disk must have room for it now: a page that it has none for later ends the process. */
static int size(int fd, size_t n)
{
    int failure = look_for_room(fd, n);

    if (failure == 0 && ftruncate(fd, (off_t)n) != 0)
        failure = errno;
    return failure == 0 ? posix_fallocate(fd, 0, (off_t)n) : failure;
}

static enum status size_and_map(struct mapped *m, int fd, size_t n, const char *path,
                                struct error *err)
{
    int failure;

    if (fd < 0)
        return failed(path, err);
    failure = size(fd, n);
    if (failure == 0)
        return map(m, fd, n, path, err);
    (void)!ftruncate(fd, 0); /* what was had of it */
    close(fd);
    errno = failure;
    return failed(path, err);
}

enum status mapped_make(struct mapped *m, const char *path, size_t n, struct error *err)
{
    int fd;
    enum status s = file_open_own(&fd, path, O_RDWR | O_CREAT, 0600, err);

    CHECK(n > 0);
    *m = (struct mapped){0};
    if (s != STATUS_OK)
        return s;
    s = size_and_map(m, fd, n, path, err);
    if (s != STATUS_OK)
        unlink(path);
    return s;
}

/* Not every file system makes files without a name: then one loses it at once. */
static int open_unnamed(const char *dir)
{
    int fd = open(dir, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600); /* never to be linked */
    char path[PATH_MAX];

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    if (snprintf(path, sizeof path, "%s/unnamed.XXXXXX", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC); /* 0600 */
    if (fd < 0 || unlink(path) == 0)
        return fd;
    close(fd); /* it would outlive this process by its name */
    return -1;
}

enum status mapped_make_unnamed(struct mapped *m, const char *dir, size_t n, struct error *err)
{
    CHECK(n > 0);
    *m = (struct mapped){0};
    return size_and_map(m, open_unnamed(dir), n, dir, err);
}

enum status mapped_resize(struct mapped *m, size_t n, const char *called, struct error *err)
{
    int failure = 0;
    void *data = m->data;

    CHECK(n > 0);
    if (n > m->n)
        failure = size(m->fd, n);
    if (failure == 0) {
        data = mremap(m->data, m->n, n, MREMAP_MAYMOVE);
        failure = data == MAP_FAILED ? errno : 0;
    }
    if (failure == 0)
        *m = (struct mapped){data, n, m->fd};
    (void)!ftruncate(m->fd, (off_t)m->n); /* failed or not: what is mapped */
    errno = failure;
    return failure == 0 ? STATUS_OK : failed(called, err);
}

enum status mapped_sync(const struct mapped *m, struct error *err)
{
    if (msync(m->data, m->n, MS_SYNC) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_IO, "a mapped file: %s", strerror(errno));
}

void mapped_close(struct mapped *m)
{
    if (m->data != NULL) {
        munmap(m->data, m->n);
        close(m->fd);
    }
    *m = (struct mapped){0};
}
