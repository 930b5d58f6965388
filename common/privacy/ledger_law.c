/* ledger_law.c -- laws as text, and their rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_law.h"

#include "common/base/check.h"
#include "common/privacy/ledger_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ledger_law_print(char out[LEDGER_LAW_MAX], const struct ledger_law *law)
{
    int n;

    if (law->kind == LEDGER_STEPS)
        n = snprintf(out, LEDGER_LAW_MAX,
                     "steps/1 seed=%" PRIu64 " rows=%" PRIu32 " batch=%" PRIu32 " segments=%" PRIu32
                     " turns=%" PRIu32,
                     law->seed, law->rows, law->batch, law->segments, law->turns);
    else
        n = snprintf(out, LEDGER_LAW_MAX, "places/1 rows=%" PRIu32 " segments=%" PRIu32, law->rows,
                     law->segments);
    CHECK(n > 0 && n < LEDGER_LAW_MAX);
}

static bool possible(const struct ledger_law *law)
{
    if (law->rows < 1 || law->rows > INT32_MAX || law->segments < 1 || law->segments > INT32_MAX)
        return false;
    if (law->kind == LEDGER_PLACES)
        return true;
    return law->batch >= 1 && law->batch % law->segments == 0 && law->turns >= 1;
}

static uint32_t field(struct ledger_words *w, const char *name)
{
    ledger_words_name(w, name);
    return (uint32_t)ledger_words_number(w, UINT32_MAX);
}

bool ledger_law_read(struct ledger_law *out, const char *text)
{
    static const char *const kinds[] = {[LEDGER_STEPS] = "steps/1", [LEDGER_PLACES] = "places/1"};
    struct ledger_words w = {.at = text};

    *out = (struct ledger_law){.kind = (enum ledger_law_kind)ledger_words_choice(&w, kinds, 2)};
    if (out->kind == LEDGER_STEPS) {
        ledger_words_name(&w, "seed");
        out->seed = ledger_words_number(&w, UINT64_MAX);
    }
    out->rows = field(&w, "rows");
    if (out->kind == LEDGER_STEPS)
        out->batch = field(&w, "batch");
    out->segments = field(&w, "segments");
    if (out->kind == LEDGER_STEPS)
        out->turns = field(&w, "turns");
    return ledger_words_end(&w) && possible(out);
}

bool ledger_law_same(const struct ledger_law *a, const struct ledger_law *b)
{
    if (a->kind != b->kind || a->rows != b->rows || a->segments != b->segments)
        return false;
    return a->kind == LEDGER_PLACES ||
           (a->seed == b->seed && a->batch == b->batch && a->turns == b->turns);
}

/* --- walking --- */

void ledger_walk_deinit(struct ledger_walk *w)
{
    schedule_deinit(&w->schedule);
    w->ready = false;
}

static enum status prepare_walk(struct ledger_walk *w, const struct ledger_law *law)
{
    enum status s;

    if (w->ready && ledger_law_same(&w->law, law))
        return STATUS_OK;
    ledger_walk_deinit(w);
    s = schedule_init(&w->schedule, law->seed, law->rows, law->batch, law->segments);
    w->ready = s == STATUS_OK;
    w->law = *law;
    return s;
}

static enum status walk_steps(struct ledger_walk *w, const struct ledger_stretch *s, uint32_t *rows,
                              size_t n)
{
    enum status status = prepare_walk(w, &s->law);
    size_t done = 0;

    if (status != STATUS_OK)
        return status;
    for (uint64_t i = 0; i < s->count; i++) {
        uint32_t some;
        const uint32_t *row = schedule_batch(&w->schedule, (s->place + i) / s->law.turns, &some);

        if (some > n - done)
            return STATUS_LIMIT;
        memcpy(rows + done, row, some * sizeof *row);
        done += some;
    }
    return done == n ? STATUS_OK : STATUS_LIMIT;
}

static enum status walk_places(const struct ledger_stretch *s, uint32_t *rows, size_t n)
{
    struct segments cut;

    segments_init(&cut, s->law.rows, s->law.segments);
    if (s->place > cut.len || s->count > cut.len - s->place ||
        segments_range(&cut, NULL, (uint32_t)s->place, (uint32_t)s->count) != n)
        return STATUS_LIMIT;
    segments_range(&cut, rows, (uint32_t)s->place, (uint32_t)s->count);
    return STATUS_OK;
}

enum status ledger_walk_rows(struct ledger_walk *w, const struct ledger_stretch *s, uint32_t *rows,
                             size_t n)
{
    CHECK(possible(&s->law));
    if (s->count > n || s->place > UINT64_MAX - s->count) /* each has a row at least */
        return STATUS_LIMIT;
    return s->law.kind == LEDGER_STEPS ? walk_steps(w, s, rows, n) : walk_places(s, rows, n);
}
