/* file.c -- whole-file reading and atomic writing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 65536 };

/* Closes fd. */
static enum status read_whole(int fd, const char *path, struct buf *out, struct error *err)
{
    enum status s = STATUS_OK;

    for (;;) {
        size_t left = out->max - out->len, room = left < READ_STEP ? left : READ_STEP;
        ssize_t n;

        if (room == 0) {
            char extra;
            n = read(fd, &extra, 1);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                s = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
            if (n > 0)
                s = error_set(err, STATUS_LIMIT, "%s: larger than %zu bytes", path, out->max);
            break;
        }
        s = buf_reserve(out, room);
        if (s != STATUS_OK) {
            error_set(err, s, "%s: %s", path, status_words(s));
            break;
        }
        n = read(fd, out->data + out->len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            s = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
        if (n <= 0)
            break;
        out->len += (size_t)n;
    }
    close(fd);
    return s;
}

/* --- opening --- */

enum kinds { REGULAR, REGULAR_OR_DEVICE };

/* Takes fd over when it is not what it has to be; errno says why. */
static enum status check_kind(int fd, enum kinds kinds, const char *path, struct error *err)
{
    struct stat st;
    int why = 0;

    if (fstat(fd, &st) != 0)
        why = errno;
    else if (S_ISDIR(st.st_mode))
        why = EISDIR;
    else if (!S_ISREG(st.st_mode) && !(kinds == REGULAR_OR_DEVICE && S_ISCHR(st.st_mode)))
        why = EINVAL;
    if (why == 0)
        return STATUS_OK;
    close(fd);
    errno = why;
    return error_set(err, STATUS_IO, "%s: %s", path,
                     why == EINVAL ? "not a regular file" : strerror(why));
}

enum status file_open(int *fd, const char *path, struct error *err)
{
    enum status s;

    /* A pipe that nobody writes to would be waited for, a terminal would become this process's. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    s = check_kind(*fd, REGULAR, path, err);
    if (s != STATUS_OK)
        *fd = -1;
    return s;
}

/* What another user has put there, or what has a second name somewhere else, is not ours to fill:
 * folders are checked by file_check_dir, and this is for what was there before. */
static enum status check_own(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return STATUS_OK;
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, STATUS_IO, "%s: belongs to another user", path);
    if (st.st_nlink > 1)
        return error_set(err, STATUS_IO, "%s: has another name too (a hard link)", path);
    return STATUS_OK;
}

/* Cut to nothing, for this program to fill.  Whoever may not read what it writes anew may not read
 * it in an old file's place either, so that one's mode is narrowed first. */
static enum status begin_anew(int fd, const char *path, unsigned mode, struct error *err)
{
    struct stat st;
    bool well = fstat(fd, &st) == 0;

    if (well && S_ISREG(st.st_mode) && (st.st_mode & 0777 & ~mode) != 0)
        well = fchmod(fd, st.st_mode & mode) == 0;
    if (well)
        well = ftruncate(fd, 0) == 0 || errno == EINVAL; /* a device */
    return well ? STATUS_OK : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

static enum status open_own(int *fd, const char *path, int flags, unsigned mode, enum kinds kinds,
                            struct error *err)
{
    enum status s;

    *fd = open(path, (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
               (mode_t)mode);
    if (*fd < 0) {
        const int why = errno;

        if (why == ELOOP || why == ENXIO)
            error_set(err, STATUS_IO, "%s: %s, which is not followed or waited for", path,
                      why == ELOOP ? "a link" : "a pipe or socket");
        else
            error_set(err, STATUS_IO, "%s: %s", path, strerror(why));
        errno = why; /* callers ask it, and setting err may have changed it */
        return STATUS_IO;
    }
    s = check_kind(*fd, kinds, path, err);
    if (s != STATUS_OK) {
        *fd = -1;
        return s;
    }
    s = check_own(*fd, path, err);
    if (s == STATUS_OK && (flags & O_TRUNC) != 0)
        s = begin_anew(*fd, path, mode, err);
    if (s != STATUS_OK) {
        close(*fd);
        *fd = -1;
        errno = EPERM;
    }
    return s;
}

enum status file_open_own(int *fd, const char *path, int flags, unsigned mode, struct error *err)
{
    return open_own(fd, path, flags, mode, REGULAR, err);
}

enum status file_open_output(int *fd, const char *path, int flags, unsigned mode, struct error *err)
{
    return open_own(fd, path, flags, mode, REGULAR_OR_DEVICE, err);
}

enum status file_create(FILE **to, const char *path, unsigned mode, struct error *err)
{
    int fd;
    enum status s = file_open_own(&fd, path, O_WRONLY | O_CREAT | O_TRUNC, mode, err);

    *to = NULL;
    if (s != STATUS_OK)
        return s;
    *to = fdopen(fd, "w");
    if (*to != NULL)
        return STATUS_OK;
    close(fd);
    return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
}

/* --- whole files --- */

enum status file_read(const char *path, struct buf *out, struct error *err)
{
    int fd;
    enum status s = file_open(&fd, path, err);

    return s == STATUS_OK ? read_whole(fd, path, out, err) : s;
}

enum status file_read_own(const char *path, struct buf *out, struct error *err)
{
    int fd;
    enum status s = file_open_own(&fd, path, O_RDONLY, 0, err);

    return s == STATUS_OK ? read_whole(fd, path, out, err) : s;
}

static enum status check_private(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return error_set(err, STATUS_CONFIG, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, STATUS_CONFIG, "%s: not a regular file", path);
    if ((st.st_mode & 077) != 0)
        return error_set(err, STATUS_CONFIG, "%s: readable by others (mode %03o); chmod 600 it",
                         path, (unsigned)(st.st_mode & 0777));
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, STATUS_CONFIG, "%s: belongs to another user", path);
    return STATUS_OK;
}

enum status file_read_private(const char *path, struct buf *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum status s;

    if (fd < 0)
        return error_set(err, STATUS_CONFIG, "%s: %s", path, strerror(errno));
    s = check_private(fd, path, err);
    if (s != STATUS_OK) {
        close(fd);
        return s;
    }
    s = read_whole(fd, path, out, err);
    if (s != STATUS_LIMIT)
        return s;
    if (err != NULL) /* a limit is a peer's to keep; this file is one's own */
        err->status = STATUS_CONFIG;
    return STATUS_CONFIG;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, bytes, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -1;
        bytes += w;
        n -= (size_t)w;
    }
    return fsync(fd);
}

static int sync_dir_of(const char *path)
{
    char copy[PATH_MAX];
    int fd, rc;

    snprintf(copy, sizeof copy, "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rc = fsync(fd);
    close(fd);
    return rc;
}

/* path.tmp, new and empty.  What an earlier crash left there may have another mode, or be a link to
 * another place. */
static enum status open_beside(int *fd, char tmp[PATH_MAX], const char *path, unsigned mode,
                               struct error *err)
{
    *fd = -1;
    if ((size_t)snprintf(tmp, PATH_MAX, "%s.tmp", path) >= PATH_MAX)
        return error_set(err, STATUS_IO, "path too long: %s", path);
    if (unlink(tmp) != 0 && errno != ENOENT)
        return error_set(err, STATUS_IO, "%s: %s", tmp, strerror(errno));
    *fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (*fd < 0)
        return error_set(err, STATUS_IO, "%s: %s", tmp, strerror(errno));
    return STATUS_OK;
}

enum status file_begin(FILE **to, const char *path, unsigned mode, struct error *err)
{
    char tmp[PATH_MAX];
    int fd;
    enum status s = open_beside(&fd, tmp, path, mode, err);

    *to = s == STATUS_OK ? fdopen(fd, "w") : NULL;
    if (s != STATUS_OK || *to != NULL)
        return s;
    close(fd);
    unlink(tmp);
    return error_set(err, STATUS_IO, "%s: %s", tmp, strerror(errno));
}

enum status file_end(FILE *f, const char *path, struct error *err)
{
    char tmp[PATH_MAX];
    bool bad = fflush(f) != 0 || ferror(f) != 0 || fsync(fileno(f)) != 0;

    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    bad = fclose(f) != 0 || bad;
    if (!bad && rename(tmp, path) == 0 && sync_dir_of(path) == 0)
        return STATUS_OK;
    unlink(tmp);
    return error_set(err, STATUS_IO, "%s: it could not be written", path);
}

void file_give_up(FILE *f, const char *path)
{
    char tmp[PATH_MAX];

    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    fclose(f);
    unlink(tmp);
}

enum status file_write_atomic(const char *path, const void *bytes, size_t n, unsigned mode,
                              struct error *err)
{
    char tmp[PATH_MAX];
    int fd, rc;
    enum status opened = open_beside(&fd, tmp, path, mode, err);

    if (opened != STATUS_OK)
        return opened;
    rc = write_all(fd, bytes, n);
    if (close(fd) != 0)
        rc = -1;
    if (rc != 0 || rename(tmp, path) != 0 || sync_dir_of(path) != 0) {
        enum status s = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
        unlink(tmp);
        return s;
    }
    return STATUS_OK;
}

enum status file_remove(const char *path, struct error *err)
{
    if (unlink(path) == 0)
        return sync_dir_of(path) == 0 ? STATUS_OK
                                      : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    return errno == ENOENT ? STATUS_OK : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

/* errno says why not. */
static bool is_dir(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

enum status file_make_dir(const char *path, unsigned mode, struct error *err)
{
    char copy[PATH_MAX];

    if (path[0] == 0)
        return error_set(err, STATUS_IO, "a folder without a name");
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return error_set(err, STATUS_IO, "path too long: %s", path);
    for (char *c = copy + 1;; c++) {
        char was = *c;
        if (was != '/' && was != 0)
            continue;
        *c = 0;
        if (mkdir(copy, (mode_t)mode) != 0 && !(errno == EEXIST && is_dir(copy)))
            return error_set(err, STATUS_IO, "%s: %s", copy, strerror(errno));
        if (was == 0)
            return STATUS_OK;
        *c = was;
    }
}

enum status file_lock(int *lock, const char *path, struct error *err)
{
    enum status s = file_open_own(lock, path, O_RDWR | O_CREAT, 0600, err);

    if (s != STATUS_OK)
        return s;
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return STATUS_OK;
    file_unlock(*lock);
    *lock = -1;
    return error_set(err, STATUS_CONFIG, "%s: another process is at work in this directory", path);
}

void file_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}
