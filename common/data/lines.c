/* lines.c -- lines out of a stream, cut in place.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/lines.h"

#include "common/base/mem.h"

#include <string.h>

/* Behind what is read: the final 0 of a last line without an end, and what may be read behind it.
 */
enum { LINES_CHUNK = 65536, LINES_BEHIND = 1 + LINES_READABLE };

static const char MARK[] = "\xef\xbb\xbf"; /* the byte order mark that some programs put first */

enum status lines_open(struct lines *l, const char *path, size_t line_max, struct error *err)
{
    enum status s;

    *l = (struct lines){.line_max = line_max};
    s = stream_open(&l->stream, path, err);
    if (s != STATUS_OK)
        return s;
    l->data = mem_alloc(LINES_CHUNK + LINES_BEHIND, 1);
    if (l->data == NULL) {
        lines_close(l);
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    }
    l->cap = LINES_CHUNK;
    return STATUS_OK;
}

void lines_close(struct lines *l)
{
    stream_close(&l->stream);
    mem_free(l->data);
    *l = (struct lines){0};
}

enum status lines_rewind(struct lines *l, struct error *err)
{
    l->number = 0;
    l->at = l->end = 0;
    l->ended = false;
    return stream_rewind(&l->stream, err);
}

static enum status too_long(const struct lines *l, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s:%llu: line over %zu bytes", l->stream.path,
                     (unsigned long long)l->number + 1 - (l->joined > 0), l->line_max);
}

/* Moves the unread bytes to the front and reads on behind them, growing
 * only while the line allows. */
static enum status lines_fill(struct lines *l, struct error *err)
{
    size_t unread = l->end - l->at, n;
    enum status s;

    if (unread > l->line_max + 1)
        return too_long(l, err);
    if (l->at > 0)
        memmove(l->data, l->data + l->at, unread);
    l->at = 0;
    l->end = unread;
    if (unread == l->cap) {
        char *grown = mem_grow(l->data, unread, 2 * l->cap + LINES_BEHIND);

        if (grown == NULL)
            return error_set(err, STATUS_MEMORY, "%s: %s", l->stream.path,
                             status_words(STATUS_MEMORY));
        l->data = grown;
        l->cap *= 2;
    }
    s = stream_read(&l->stream, l->data + l->end, l->cap - l->end, &n, err);
    if (s != STATUS_OK)
        return s;
    l->ended = n < l->cap - l->end;
    l->end += n;
    return STATUS_OK;
}

/* Cuts the line that begins at l->at; its first `seen` bytes are known to be of it.  What the cut
 * has done to the buffer is remembered for lines_join. */
static enum status cut(struct lines *l, size_t seen, char **line, size_t *len, struct error *err)
{
    const size_t known = seen;
    char *start, *stop;
    size_t n;

    *line = NULL;
    *len = 0;
    for (;;) {
        start = l->data + l->at;
        stop = memchr(start + seen, '\n', l->end - l->at - seen);
        if (stop != NULL || l->ended)
            break;
        seen = l->end - l->at;
        enum status s = lines_fill(l, err);
        if (s != STATUS_OK)
            return s;
    }
    if (stop == NULL && l->at + known == l->end)
        return STATUS_OK;
    n = stop == NULL ? l->end - l->at : (size_t)(stop - start);
    l->taken = stop == NULL ? n : n + 1;
    l->at += l->taken;
    if (n > 0 && start[n - 1] == '\r')
        n--;
    if (n > l->line_max)
        return too_long(l, err);
    l->under = start[n];
    start[n] = 0;
    if (memchr(start + known, 0, n + 1 - known) != start + n)
        return error_set(err, STATUS_DATA, "%s:%llu: byte 0 in the line: not a text file",
                         l->stream.path, (unsigned long long)l->number + 1 - (l->joined > 0));
    *line = start;
    *len = n;
    return STATUS_OK;
}

enum status lines_next(struct lines *l, char **line, size_t *len, struct error *err)
{
    enum status s;

    l->number += l->joined;
    l->joined = 0;
    s = cut(l, 0, line, len, err);
    if (l->number == 0 && *line != NULL && strncmp(*line, MARK, sizeof MARK - 1) == 0) {
        /* The same line again, from behind the mark on. */
        (*line)[*len] = l->under;
        l->at -= l->taken - (sizeof MARK - 1);
        s = cut(l, 0, line, len, err);
    }
    l->number += *line != NULL;
    return s;
}

enum status lines_join(struct lines *l, char **line, size_t *len, struct error *err)
{
    (*line)[*len] = l->under;
    l->at -= l->taken;
    l->joined++;
    return cut(l, l->taken, line, len, err);
}
