/* unzstd.c -- frame after frame through libzstd's streaming decoder.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/unzstd.h"

#include "common/base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { PACKED_CHUNK = 65536 };

struct unzstd {
    const char *path;
    int fd;
    ZSTD_DCtx *frame;
    ZSTD_inBuffer in; /* what is left of `packed` */
    bool inside;      /* a frame has begun and not ended */
    bool ended;       /* the file has no more */
    uint8_t packed[PACKED_CHUNK];
};

static enum status read_some(int fd, void *out, size_t max, size_t *n, const char *path,
                             struct error *err)
{
    ssize_t got;

    do
        got = read(fd, out, max);
    while (got < 0 && errno == EINTR);
    *n = got > 0 ? (size_t)got : 0;
    return got >= 0 ? STATUS_OK : error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}

enum status unzstd_is(bool *is, int fd, const char *path, struct error *err)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    uint8_t first[sizeof magic];
    size_t n = 0;
    enum status s = read_some(fd, first, sizeof first, &n, path, err);

    *is = n == sizeof magic && memcmp(first, magic, sizeof magic) == 0;
    if (s == STATUS_OK && lseek(fd, 0, SEEK_SET) != 0)
        s = error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    return s;
}

enum status unzstd_open(struct unzstd **u, int fd, const char *path, struct error *err)
{
    struct unzstd *made = mem_alloc(1, sizeof *made);

    *u = made;
    if (made == NULL) {
        close(fd);
    } else {
        made->path = path;
        made->fd = fd;
        made->in.src = made->packed;
        made->frame = ZSTD_createDCtx();
    }
    if (made != NULL && made->frame != NULL &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(made->frame, ZSTD_d_windowLogMax, UNZSTD_WINDOW_LOG)))
        return STATUS_OK;
    unzstd_close(made);
    *u = NULL;
    return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
}

void unzstd_close(struct unzstd *u)
{
    if (u == NULL)
        return;
    ZSTD_freeDCtx(u->frame);
    close(u->fd);
    mem_free(u);
}

static enum status refuse(const struct unzstd *u, size_t code, struct error *err)
{
    const ZSTD_ErrorCode why = ZSTD_getErrorCode(code);

    if (why == ZSTD_error_memory_allocation)
        return error_set(err, STATUS_MEMORY, "%s: %s", u->path, status_words(STATUS_MEMORY));
    if (why == ZSTD_error_frameParameter_windowTooLarge)
        return error_set(err, STATUS_DATA, "%s: zstd data with a window over %d MiB", u->path,
                         1 << (UNZSTD_WINDOW_LOG - 20));
    return error_set(err, STATUS_DATA, "%s: damaged zstd data", u->path);
}

static enum status refill(struct unzstd *u, struct error *err)
{
    size_t n = 0;
    enum status s = read_some(u->fd, u->packed, sizeof u->packed, &n, u->path, err);

    u->in.pos = 0;
    u->in.size = n;
    u->ended = n == 0;
    return s;
}

enum status unzstd_read(struct unzstd *u, void *out, size_t max, size_t *n, struct error *err)
{
    ZSTD_outBuffer to = {.dst = out, .size = max};
    enum status s = STATUS_OK;

    *n = 0;
    while (to.pos < max) {
        size_t left, before = to.pos;

        if (u->in.pos == u->in.size && !u->ended)
            s = refill(u, err);
        if (s != STATUS_OK)
            return s;
        /* Between two frames there is nothing to unpack without a byte of the next one; inside one
         * there may be, of what is in already. */
        if (u->in.pos == u->in.size && !u->inside)
            break;
        left = ZSTD_decompressStream(u->frame, &to, &u->in);
        if (ZSTD_isError(left))
            return refuse(u, left, err);
        u->inside = left != 0;
        if (u->ended && u->inside && to.pos == before)
            return error_set(err, STATUS_DATA, "%s: zstd data ends too early", u->path);
    }
    *n = to.pos;
    return STATUS_OK;
}

enum status unzstd_rewind(struct unzstd *u, struct error *err)
{
    if (lseek(u->fd, 0, SEEK_SET) != 0)
        return error_set(err, STATUS_IO, "%s: cannot read it a second time", u->path);
    ZSTD_DCtx_reset(u->frame, ZSTD_reset_session_only);
    u->in.pos = u->in.size = 0;
    u->inside = u->ended = false;
    return STATUS_OK;
}
