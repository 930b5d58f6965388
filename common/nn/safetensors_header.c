/* safetensors_header.c -- a recursive-descent reader whose first error stops all that follows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/safetensors_header.h"

#include <string.h>

static char peek(struct safetensors_header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r'))
        h->at++;
    return !h->bad && h->at < h->end ? *h->at : '\0';
}

/* Takes c, white space before it included, if it comes next. */
static int accept(struct safetensors_header *h, char c)
{
    if (peek(h) != c || c == '\0')
        return 0;
    h->at++;
    return 1;
}

static void expect(struct safetensors_header *h, char c)
{
    if (!accept(h, c))
        h->bad = 1;
}

/* A string as it stands between its quotes.  Escapes are passed over, not decoded: a name with one
 * matches no tensor of ours. */
static struct safetensors_text read_text(struct safetensors_header *h)
{
    struct safetensors_text t = {"", 0};
    const char *start;

    expect(h, '"');
    start = h->at;
    while (!h->bad && h->at < h->end && *h->at != '"') {
        if ((unsigned char)*h->at < 0x20)
            h->bad = 1;
        h->at += *h->at == '\\' && h->end - h->at > 1 ? 2 : 1;
    }
    if (h->bad || h->at == h->end) {
        h->bad = 1;
        return t;
    }
    t.at = start;
    t.len = (size_t)(h->at - start);
    h->at++;
    return t;
}

static uint64_t read_number(struct safetensors_header *h)
{
    const char *start;
    uint64_t n = 0;

    peek(h);
    start = h->at;
    while (!h->bad && h->at < h->end && *h->at >= '0' && *h->at <= '9') {
        const uint64_t digit = (uint64_t)(*h->at - '0');

        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
            h->bad = 1;
        h->at++;
    }
    if (h->at == start || (*start == '0' && h->at - start > 1))
        h->bad = 1;
    return n;
}

/* [n, n, ...] with at most `max` numbers; returns how many. */
static size_t read_numbers(struct safetensors_header *h, uint64_t *out, size_t max)
{
    size_t n = 0;

    expect(h, '[');
    if (accept(h, ']'))
        return 0;
    do {
        const uint64_t value = read_number(h);

        if (n == max)
            h->bad = 1;
        if (!h->bad)
            out[n++] = value;
    } while (!h->bad && accept(h, ','));
    expect(h, ']');
    return n;
}

static void pass_metadata(struct safetensors_header *h)
{
    const char *start;

    peek(h);
    start = h->at;
    expect(h, '{');
    if (h->metadata.at != NULL)
        h->bad = 1;
    if (!accept(h, '}')) {
        do {
            read_text(h);
            expect(h, ':');
            read_text(h);
        } while (!h->bad && accept(h, ','));
        expect(h, '}');
    }
    h->metadata = (struct safetensors_text){start, (size_t)(h->at - start)};
}

void safetensors_metadata_init(struct safetensors_header *m, const struct safetensors_text *text)
{
    safetensors_header_init(m, text->len > 0 ? text->at : "{}", text->len > 0 ? text->len : 2);
}

int safetensors_metadata_next(struct safetensors_header *m, struct safetensors_text *key,
                              struct safetensors_text *value)
{
    if (accept(m, '}'))
        return 0;
    if (m->entries++ > 0)
        expect(m, ',');
    *key = read_text(m);
    expect(m, ':');
    *value = read_text(m);
    return m->bad ? -1 : 1;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One escape from its backslash on: the byte it stands for and how long it is, or -1. */
static int decode_escape(const char *at, size_t left, size_t *len)
{
    static const char from[] = "\"\\/nrt", to[] = "\"\\/\n\r\t";
    const char *known = left > 1 && at[1] != 0 ? strchr(from, at[1]) : NULL;

    *len = 2;
    if (known != NULL)
        return (unsigned char)to[known - from];
    if (left < 6 || memcmp(at, "\\u00", 4) != 0 || hex_digit(at[4]) < 0 || hex_digit(at[4]) > 7 ||
        hex_digit(at[5]) < 0)
        return -1;
    *len = 6;
    return hex_digit(at[4]) * 16 + hex_digit(at[5]);
}

size_t safetensors_text_decode(char *out, const struct safetensors_text *t)
{
    size_t n = 0;

    for (size_t i = 0, len = 1; i < t->len; i += len, n++) {
        const int byte =
            t->at[i] == '\\' ? decode_escape(t->at + i, t->len - i, &len) : (unsigned char)t->at[i];

        if (t->at[i] != '\\')
            len = 1;
        if (byte < 0)
            return SIZE_MAX;
        out[n] = (char)byte;
    }
    return n;
}

/* Three different fields out of three known ones are all of them, each once. */
static void read_tensor(struct safetensors_header *h, struct safetensors_entry *e)
{
    uint64_t offsets[2] = {0, 0};
    unsigned seen = 0;

    expect(h, '{');
    for (int i = 0; i < 3 && !h->bad; i++) {
        struct safetensors_text key;
        unsigned field = 0;

        if (i > 0)
            expect(h, ',');
        key = read_text(h);
        expect(h, ':');
        if (safetensors_text_is(&key, "dtype")) {
            field = 1;
            e->dtype = read_text(h);
        } else if (safetensors_text_is(&key, "shape")) {
            field = 2;
            e->rank = read_numbers(h, e->shape, SAFETENSORS_RANK_MAX);
        } else if (safetensors_text_is(&key, "data_offsets")) {
            field = 4;
            if (read_numbers(h, offsets, 2) != 2)
                h->bad = 1;
        }
        if (field == 0 || (seen & field) != 0)
            h->bad = 1;
        seen |= field;
    }
    expect(h, '}');
    e->begin = offsets[0];
    e->end = offsets[1];
    if (e->begin > e->end)
        h->bad = 1;
}

void safetensors_header_init(struct safetensors_header *h, const char *text, size_t len)
{
    h->at = text;
    h->end = text + len;
    h->bad = 0;
    h->entries = 0;
    h->metadata = (struct safetensors_text){NULL, 0};
    expect(h, '{');
}

int safetensors_header_next(struct safetensors_header *h, struct safetensors_entry *e)
{
    while (!h->bad) {
        if (accept(h, '}')) {
            peek(h); /* padding */
            if (h->at != h->end)
                break;
            return 0;
        }
        if (h->entries++ > 0)
            expect(h, ',');
        memset(e, 0, sizeof *e);
        e->name = read_text(h);
        expect(h, ':');
        if (h->bad)
            break;
        if (safetensors_text_is(&e->name, "__metadata__")) {
            pass_metadata(h);
            continue;
        }
        read_tensor(h, e);
        if (!h->bad)
            return 1;
    }
    h->bad = 1;
    return -1;
}

int safetensors_text_is(const struct safetensors_text *t, const char *word)
{
    return t->len == strlen(word) && memcmp(t->at, word, t->len) == 0;
}
