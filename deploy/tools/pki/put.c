/* put.c -- writing files without treading on others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/put.h"

#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_MAX = 100 };

static bool lightly;

void put_lightly(void)
{
    lightly = true;
}

int put_failure(const char *who, const struct error *err)
{
    fprintf(stderr, "vfl %s: %s\n", who, err->text);
    return status_exit_code(err->status);
}

void put_line(bool quiet, const char *fmt, ...)
{
    va_list args;

    if (quiet)
        return;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

static enum status refuse(struct error *err, const char *path, const char *name, const char *why)
{
    return error_set(err, STATUS_CONFIG, "%s/%s: %s", path, name, why);
}

static enum status fail(struct error *err, const char *path, const char *name)
{
    return error_set(err, STATUS_IO, "%s/%s: %s", path, name, strerror(errno));
}

enum status put_folder_open(struct put_folder *f, const char *parent, const char *name,
                            struct error *err)
{
    enum status s;
    int above;

    f->fd = -1;
    if ((size_t)snprintf(f->path, sizeof f->path, "%s%s%s", parent, name != NULL ? "/" : "",
                         name != NULL ? name : "") >= sizeof f->path)
        return error_set(err, STATUS_CONFIG, "%.200s...: a path too long", parent);
    s = file_make_dir(parent, 0700, err);
    if (s != STATUS_OK)
        return s;
    above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return error_set(err, STATUS_IO, "%s: %s", parent, strerror(errno));
    if (name == NULL) {
        f->fd = above;
        return STATUS_OK;
    }
    if (mkdirat(above, name, 0700) != 0 && errno != EEXIST) {
        s = fail(err, parent, name);
    } else {
        f->fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (f->fd < 0)
            s = refuse(err, parent, name, "a link, or no folder: it is not written to");
    }
    close(above);
    return s;
}

void put_folder_close(struct put_folder *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* Whether what stands there may be replaced. */
static enum status check_place(const struct put_folder *f, const char *name, struct error *err)
{
    static const char words[] = "PRIVATE KEY-----";
    static char head[65536]; /* more than any key with its certificate */
    struct stat st;
    ssize_t n;
    int fd;

    if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? STATUS_OK : fail(err, f->path, name);
    if (!S_ISREG(st.st_mode))
        return refuse(err, f->path, name, "a link, or no plain file: it is left as it is");
    fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail(err, f->path, name);
    n = read(fd, head, sizeof head);
    close(fd);
    if (n < 0)
        return fail(err, f->path, name);
    return memmem(head, (size_t)n, words, sizeof words - 1) != NULL
               ? refuse(err, f->path, name, "holds a private key: it is left as it is")
               : STATUS_OK;
}

static bool write_all(int fd, const struct buf *text)
{
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, text->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return lightly || fsync(fd) == 0;
}

/* A new file beside the place, of a name that nobody has: what others have put there stays. */
static int open_beside(const struct put_folder *f, char tmp[NAME_MAX + 1], const char *name)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        int fd;

        if ((size_t)snprintf(tmp, NAME_MAX + 1, ".%s.%ld-%u", name, (long)getpid(), i) > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = openat(f->fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum status put_in_folder(const struct put_folder *f, const char *name, const struct buf *text,
                          unsigned mode, struct error *err)
{
    char tmp[NAME_MAX + 1];
    enum status s = check_place(f, name, err);
    bool ok;
    int fd;

    if (s != STATUS_OK)
        return s;
    fd = open_beside(f, tmp, name);
    if (fd < 0)
        return fail(err, f->path, name);
    ok = write_all(fd, text) && fchmod(fd, (mode_t)mode) == 0;
    if (close(fd) != 0 || !ok || renameat(f->fd, tmp, f->fd, name) != 0) {
        s = fail(err, f->path, name);
        unlinkat(f->fd, tmp, 0);
        return s;
    }
    return lightly || fsync(f->fd) == 0 ? STATUS_OK : fail(err, f->path, name);
}

/* The folder and the name of a path. */
static enum status split(struct put_folder *f, const char **name, const char *path,
                         struct error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);

    *name = slash == NULL ? path : slash + 1;
    if (**name == 0 || n >= sizeof f->path)
        return error_set(err, STATUS_CONFIG, "'%.200s': no name of a file", path);
    snprintf(f->path, sizeof f->path, "%.*s", n > 0 ? (int)n : 1, n > 0 ? path : ".");
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->fd >= 0 ? STATUS_OK : error_set(err, STATUS_IO, "%s: %s", f->path, strerror(errno));
}

enum status put_check(const char *path, struct error *err)
{
    struct put_folder f = {-1, ""};
    const char *name;
    enum status s = split(&f, &name, path, err);

    if (s == STATUS_OK)
        s = check_place(&f, name, err);
    if (s == STATUS_OK && faccessat(f.fd, ".", W_OK, AT_EACCESS) != 0)
        s = fail(err, f.path, name);
    put_folder_close(&f);
    return s;
}

enum status put_file(const char *path, const struct buf *text, unsigned mode, struct error *err)
{
    struct put_folder f = {-1, ""};
    const char *name;
    enum status s = split(&f, &name, path, err);

    if (s == STATUS_OK)
        s = put_in_folder(&f, name, text, mode, err);
    put_folder_close(&f);
    return s;
}

enum status put_secret(const char *path, const struct buf *text, struct error *err)
{
    struct put_folder f = {-1, ""};
    const char *name;
    enum status s = split(&f, &name, path, err);
    bool ok;
    int fd;

    if (s != STATUS_OK)
        return s;
    fd = openat(f.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PUT_OWN);
    if (fd < 0) {
        s = errno == EEXIST ? refuse(err, f.path, name, strerror(errno)) : fail(err, f.path, name);
    } else {
        ok = write_all(fd, text);
        if (close(fd) != 0 || !ok || (!lightly && fsync(f.fd) != 0)) {
            s = fail(err, f.path, name);
            unlinkat(f.fd, name, 0);
        }
    }
    put_folder_close(&f);
    return s;
}

enum status put_read(struct buf *out, const char *path, size_t max, struct error *err)
{
    enum status s;

    buf_init(out, max);
    s = file_read(path, out, err);
    if (s == STATUS_OK || s == STATUS_MEMORY)
        return s;
    if (err != NULL)
        err->status = STATUS_CONFIG;
    return STATUS_CONFIG;
}
