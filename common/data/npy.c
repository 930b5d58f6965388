/* npy.c -- a header that Python wrote, read as nothing but what it may be, then rows.
 *
 * The dictionary is Python's text of three entries (numpy.lib.format): it is taken apart here sign
 * by sign, and what does not fit is refused; nothing is evaluated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/npy.h"

#include <string.h>

enum { NPY_ALIGN = 64 };

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_BYTES = sizeof MAGIC - 1 };

/* --- the dictionary --- */

struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && *s->at == ' ')
        s->at++;
}

static bool take(struct scan *s, const char *word)
{
    const size_t n = strlen(word);

    skip_blanks(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool take_size(struct scan *s, size_t *out)
{
    size_t digits = 0;

    skip_blanks(s);
    for (*out = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9' && digits < 12; digits++)
        *out = *out * 10 + (size_t)(*s->at++ - '0');
    return digits > 0;
}

static bool take_type(struct scan *s, struct array *a)
{
    const char *t = s->at;
    size_t bytes;

    if (!take(s, "'") || s->end - (t = s->at) < 4 || t[3] != '\'')
        return false;
    s->at += 4;
    bytes = (size_t)(t[2] - '0');
    a->kind = t[1];
    a->element = bytes;
    if (t[0] != '<' && !(t[0] == '|' && bytes == 1))
        return false;
    if (a->kind == 'f')
        return bytes == 4 || bytes == 8;
    return (a->kind == 'i' || a->kind == 'u') &&
           (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/* (rows,), or (rows, columns), (rows, 3, 32, 32) */
static bool take_shape(struct scan *s, struct array *a)
{
    if (!take(s, "(") || !take_size(s, &a->dim[0]) || !take(s, ","))
        return false;
    for (a->rank = 1; !take(s, ")");) {
        if (a->rank == ARRAY_RANK_MAX || !take_size(s, &a->dim[a->rank++]))
            return false;
        if (!take(s, ","))
            return take(s, ")");
    }
    return true;
}

bool npy_parse(struct array *a, const char *text, size_t n, const char **reason)
{
    struct scan s = {text, text + n};
    bool seen[3] = {false};
    size_t which;

    *a = (struct array){0};
    *reason = "a header that NumPy does not write";
    if (n == 0 || text[n - 1] != '\n' || !take(&s, "{"))
        return false;
    s.end--;
    while (!take(&s, "}")) {
        const int key = take(&s, "'descr':")           ? 0
                        : take(&s, "'fortran_order':") ? 1
                        : take(&s, "'shape':")         ? 2
                                                       : -1;

        if (key < 0 || seen[key])
            return false;
        seen[key] = true;
        if (key == 0 && !take_type(&s, a))
            return *reason = "elements that are no little-endian float32, float64 or whole numbers",
                   false;
        if (key == 1 && !take(&s, "False"))
            return *reason = "an array in Fortran order: save numpy.ascontiguousarray of it", false;
        if (key == 2 && !take_shape(&s, a))
            return *reason = "an array of no or more than eight dimensions", false;
        if (!take(&s, ",")) {
            if (!take(&s, "}"))
                return false;
            break;
        }
    }
    skip_blanks(&s);
    if (s.at != s.end || !seen[0] || !seen[1] || !seen[2])
        return false;
    if (array_measure(a, &which))
        return true;
    *reason = which < a->rank && a->dim[which] == 0 ? "a dimension of 0" : "too large a table";
    return false;
}

size_t npy_header(char out[NPY_TEXT_MAX], const struct array *a)
{
    enum { PREFIX = MAGIC_BYTES + 4 };
    char *text = out + PREFIX;
    size_t n;

    n = (size_t)snprintf(text, NPY_TEXT_MAX - PREFIX,
                         "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%zu",
                         a->element == 1 ? '|' : '<', a->kind, a->element, a->dim[0]);
    for (size_t i = 1; i < a->rank; i++)
        n += (size_t)snprintf(text + n, NPY_TEXT_MAX - PREFIX - n, ", %zu", a->dim[i]);
    n += (size_t)snprintf(text + n, NPY_TEXT_MAX - PREFIX - n, "%s), }", a->rank == 1 ? "," : "");
    while ((PREFIX + n + 1) % NPY_ALIGN != 0)
        text[n++] = ' ';
    text[n++] = '\n';
    memcpy(out, MAGIC, MAGIC_BYTES);
    memcpy(out + MAGIC_BYTES, (uint8_t[]){1, 0, (uint8_t)n, (uint8_t)(n >> 8)}, 4);
    return PREFIX + n;
}

/* --- the file --- */

static enum status refuse(const struct stream *s, const char *reason, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s: %s", s->path, reason);
}

static enum status read_exactly(struct stream *s, void *out, size_t n, struct error *err)
{
    size_t got;
    enum status status = stream_read(s, out, n, &got, err);

    if (status != STATUS_OK || got == n)
        return status;
    return refuse(s, "ends inside the .npy header", err);
}

static enum status open_npy(struct array *a, struct stream *in, struct error *err)
{
    uint8_t head[MAGIC_BYTES + 2 + 4] = {0};
    char text[NPY_HEADER_MAX];
    const uint8_t *length = head + MAGIC_BYTES + 2;
    const char *reason;
    size_t n;
    enum status s = read_exactly(in, head, MAGIC_BYTES + 2, err);

    if (s != STATUS_OK)
        return s;
    if (memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return refuse(in, "not a .npy file", err);
    if ((head[MAGIC_BYTES] != 1 && head[MAGIC_BYTES] != 2) || head[MAGIC_BYTES + 1] != 0)
        return refuse(in, "a .npy file of a version that is not 1.0 or 2.0", err);
    s = read_exactly(in, head + MAGIC_BYTES + 2, head[MAGIC_BYTES] == 1 ? 2 : 4, err);
    if (s != STATUS_OK)
        return s;
    n = (size_t)length[3] << 24 | (size_t)length[2] << 16 | (size_t)length[1] << 8 | length[0];
    if (n > sizeof text)
        return refuse(in, "a .npy header of more than 4096 bytes", err);
    s = read_exactly(in, text, n, err);
    if (s != STATUS_OK)
        return s;
    return npy_parse(a, text, n, &reason) ? STATUS_OK : refuse(in, reason, err);
}

const struct array_format NPY_FORMAT = {.name = "a .npy", .unit = 1, .open = open_npy};

enum status npy_is(bool *npy, const char *path, struct error *err)
{
    char first[MAGIC_BYTES];
    struct stream in;
    size_t n = 0;
    enum status s;

    *npy = stream_ends(path, ".npy");
    if (*npy || stream_is_csv(path))
        return STATUS_OK;
    s = stream_open(&in, path, err);
    if (s == STATUS_OK)
        s = stream_read(&in, first, sizeof first, &n, err);
    *npy = n == sizeof first && memcmp(first, MAGIC, MAGIC_BYTES) == 0;
    stream_close(&in);
    return s;
}
