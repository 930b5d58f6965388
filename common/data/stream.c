/* stream.c -- plain or gzip files through zlib, whose gz functions read both, and those of zstd.
 *
 * Which one it is, the first bytes say: no text and no IDX file begins like either.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/stream.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/data/unzstd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { STREAM_BUFFER = 65536 };

/* Of the file as it is now. */
static enum status look(struct stream *now, int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    *now = (struct stream){.path = path, .fd = fd, .size = st.st_size, .written = st.st_mtim};
    return STATUS_OK;
}

/* At its end. */
static enum status unchanged(const struct stream *s, struct error *err)
{
    struct stream now = {0};
    enum status status = look(&now, s->fd, s->path, err);

    if (status != STATUS_OK || (now.size == s->size && now.written.tv_sec == s->written.tv_sec &&
                                now.written.tv_nsec == s->written.tv_nsec))
        return status;
    return error_set(err, STATUS_DATA, "%s: it changed while it was read", s->path);
}

enum status stream_open(struct stream *s, const char *path, struct error *err)
{
    bool zstd = false;
    enum status status;
    int fd;
    gzFile gz;

    *s = (struct stream){.path = path};
    if (file_open(&fd, path, err) != STATUS_OK)
        return err != NULL ? err->status = STATUS_DATA : STATUS_DATA;
    status = look(s, fd, path, err);
    if (status == STATUS_OK)
        status = unzstd_is(&zstd, fd, path, err);
    if (status != STATUS_OK)
        close(fd);
    if (status != STATUS_OK || zstd)
        return status != STATUS_OK ? status : unzstd_open(&s->zstd, fd, path, err);
    gz = gzdopen(fd, "rb");
    if (gz == NULL) {
        close(fd);
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    }
    gzbuffer(gz, STREAM_BUFFER);
    s->gz = gz;
    return STATUS_OK;
}

void stream_close(struct stream *s)
{
    if (s->gz != NULL)
        gzclose_r(s->gz);
    unzstd_close(s->zstd);
    *s = (struct stream){0};
}

/* zlib reports a stream cut in its middle only here, after it has handed out what it had. */
static enum status stream_error(struct stream *s, struct error *err)
{
    int code = Z_OK;

    gzerror(s->gz, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return STATUS_OK;
    if (code == Z_ERRNO)
        return error_set(err, STATUS_IO, "%s: %s", s->path, strerror(errno));
    if (code == Z_MEM_ERROR)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    if (code == Z_BUF_ERROR)
        return error_set(err, STATUS_DATA, "%s: gzip data ends too early", s->path);
    return error_set(err, STATUS_DATA, "%s: damaged gzip data", s->path);
}

enum status stream_read(struct stream *s, void *out, size_t max, size_t *n, struct error *err)
{
    enum status status;
    int got;

    CHECK(max <= INT_MAX);
    if (s->zstd != NULL) {
        status = unzstd_read(s->zstd, out, max, n, err);
    } else {
        got = gzread(s->gz, out, (unsigned)max);
        *n = got > 0 ? (size_t)got : 0;
        status = *n == max ? STATUS_OK : stream_error(s, err);
    }
    return status != STATUS_OK || *n == max ? status : unchanged(s, err);
}

enum status stream_rewind(struct stream *s, struct error *err)
{
    if (s->zstd != NULL)
        return unzstd_rewind(s->zstd, err);
    if (gzrewind(s->gz) != 0)
        return error_set(err, STATUS_IO, "%s: cannot read it a second time", s->path);
    return STATUS_OK;
}

enum status stream_digest(uint8_t out[DIGEST_BYTES], struct stream *s, struct error *err)
{
    uint8_t bytes[4096];
    struct digest d;
    size_t n = sizeof bytes;
    enum status status = stream_rewind(s, err);

    digest_begin(&d);
    while (status == STATUS_OK && n == sizeof bytes) {
        status = stream_read(s, bytes, sizeof bytes, &n, err);
        if (status == STATUS_OK)
            digest_update(&d, bytes, n);
    }
    digest_final(&d, out);
    return status;
}

bool stream_ends(const char *path, const char *ending)
{
    static const char *const packed[] = {"", ".gz", ".zst"};
    const size_t n = strlen(path), m = strlen(ending);

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        const size_t k = strlen(packed[i]);

        if (n >= m + k && strcmp(path + n - k, packed[i]) == 0 &&
            memcmp(path + n - k - m, ending, m) == 0)
            return true;
    }
    return false;
}
