/* contribution.c -- the text of a job of contributions, and where its rounds stand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/contribution.h"

#include "common/base/mem.h"
#include "common/wire/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char own_lines[] = "\nseed=";

void contribution_deinit(struct contribution *c)
{
    mem_free(c->ask);
    *c = (struct contribution){0};
}

enum status contribution_init(struct contribution *c, uint32_t n)
{
    *c = (struct contribution){.n = n, .ask = mem_alloc(n, sizeof *c->ask)};
    return c->ask != NULL ? STATUS_OK : STATUS_MEMORY;
}

enum status contribution_of(struct contribution *c, const struct prediction *about)
{
    enum status s = contribution_init(c, 1);

    for (uint32_t i = 0; s == STATUS_OK && i < WIRE_MEMBERS_MAX; i++)
        if (about->absent[i])
            coalition_remove(&c->ask[0].of, i);
    return s;
}

/* --- the text --- */

/* Bits as a number, its highest digit first. */
static enum status print_bits(const struct coalition *of, struct buf *out)
{
    int w = COALITION_WORDS - 1;
    enum status s;

    while (w > 0 && of->without[w] == 0)
        w--;
    s = buf_printf(out, "%" PRIx64, of->without[w]);
    while (s == STATUS_OK && w-- > 0)
        s = buf_printf(out, "%016" PRIx64, of->without[w]);
    return s;
}

enum status contribution_print(const struct contribution *c, const struct prediction *about,
                               struct buf *out)
{
    enum status s = prediction_print(about, out);

    if (s == STATUS_OK)
        s = buf_printf(out, "seed=%" PRIu64 "\nasks=", c->seed);
    for (uint32_t i = 0; i < c->n && s == STATUS_OK; i++) {
        const struct contribution_ask *a = &c->ask[i];

        s = i == 0 ? STATUS_OK : buf_printf(out, ",");
        if (s == STATUS_OK)
            s = a->mixes ? buf_printf(out, "%" PRIu32 ":%" PRIu32, a->party, a->column)
                         : print_bits(&a->of, out);
    }
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

/* A question from *at on, which then stands behind it. */
static bool take_ask(struct contribution_ask *a, const char **at)
{
    const size_t n = strspn(*at, "0123456789abcdef");
    char *end;

    if (n == 0 || n > 16 * (size_t)COALITION_WORDS)
        return false;
    if ((*at)[n] == ':') {
        a->mixes = true;
        a->party = (uint32_t)strtoul(*at, &end, 10);
        if (end != *at + n)
            return false;
        a->column = (uint32_t)strtoul(end + 1, &end, 10);
        *at = end;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const char digit = (*at)[n - 1 - i];
        const uint64_t value = (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);

        a->of.without[i / 16] |= value << 4 * (i % 16);
    }
    *at += n;
    return true;
}

static bool read_own(struct contribution *c, const char *text)
{
    const char *at = text + strlen("seed=");
    char *end;
    const uint64_t seed = strtoull(at, &end, 10);
    uint32_t n = 1;

    if (strncmp(end, "\nasks=", 6) != 0)
        return false;
    at = end + 6;
    for (const char *p = at; *p != 0; p++)
        n += *p == ',';
    if (n > CONTRIBUTION_ASKS_MAX || contribution_init(c, n) != STATUS_OK)
        return false;
    c->seed = seed;
    for (uint32_t i = 0; i < n; i++) {
        if (!take_ask(&c->ask[i], &at) || *at != (i + 1 < n ? ',' : '\n'))
            return false;
        at++;
    }
    return *at == 0;
}

/* Is each question one that so many parties can be asked? */
static bool fits(const struct contribution *c, uint32_t parties)
{
    const struct coalition none = coalition_none(parties);

    for (uint32_t i = 0; i < c->n; i++) {
        const struct contribution_ask *a = &c->ask[i];

        if (a->mixes ? a->party >= parties || a->column >= CONTRIBUTION_COLUMNS_MAX
                     : coalition_equal(&a->of, &none))
            return false;
        for (uint32_t w = 0; w < COALITION_WORDS; w++)
            if ((a->of.without[w] & ~none.without[w]) != 0)
                return false;
    }
    return true;
}

static bool same_text(const struct contribution *c, const struct prediction *about,
                      const struct wire_bytes *text)
{
    struct buf again;
    bool same;

    buf_init(&again, WIRE_JOB_TEXT_MAX);
    same = contribution_print(c, about, &again) == STATUS_OK && again.len == text->n &&
           memcmp(again.data, text->data, text->n) == 0;
    buf_deinit(&again);
    return same;
}

enum status contribution_parse(struct contribution *c, struct prediction *about,
                               const struct wire_bytes *text, uint32_t parties, struct error *err)
{
    char copy[WIRE_JOB_TEXT_MAX + 1];
    const char *own = NULL;

    if (text->n < sizeof copy) {
        memcpy(copy, text->data, text->n);
        copy[text->n] = 0;
        own = strstr(copy, own_lines);
    }
    if (own == NULL ||
        prediction_parse(about, text->data, (size_t)(own + 1 - copy), err) != STATUS_OK ||
        prediction_leaves_out(about) || !read_own(c, own + 1) || !same_text(c, about, text) ||
        !fits(c, parties) || contribution_places(c, about) > PREDICTION_ROWS_MAX)
        return error_set(err, STATUS_PROTOCOL, "no text of a job of contributions");
    return STATUS_OK;
}

uint32_t contribution_mixes(const struct contribution *c, uint32_t party, uint32_t *end)
{
    uint32_t n = 0;

    *end = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->ask[i].mixes || c->ask[i].party != party)
            continue;
        n++;
        if (c->ask[i].column >= *end)
            *end = c->ask[i].column + 1;
    }
    return n;
}

/* --- its rounds --- */

bool contribution_at(struct contribution_round *out, const struct contribution *c,
                     const struct prediction *about, uint64_t place)
{
    const uint64_t each = (uint64_t)about->batch * c->n, in = place % each;
    uint32_t left;

    if (place >= contribution_places(c, about))
        return false;
    out->row = (uint32_t)(place / each) * about->batch;
    left = about->rows - out->row;
    out->rows = left < about->batch ? left : about->batch;
    out->ask = (uint32_t)(in / out->rows);
    return in % out->rows == 0;
}
