/* ledger_mechanism.c -- the parameters of each kind, in one table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_mechanism.h"

#include "common/base/check.h"
#include "common/config/number.h"
#include "common/privacy/ledger_words.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
    [ACCOUNT_PBM] = "pbm", [ACCOUNT_GAUSSIAN] = "gaussian", [ACCOUNT_NONE] = "none"};
static const char *const bottoms[] = {
    [ACCOUNT_RAW] = "raw", [ACCOUNT_FROZEN] = "frozen", [ACCOUNT_DP] = "dp"};

enum { KINDS = sizeof kinds / sizeof kinds[0], BOTTOMS = sizeof bottoms / sizeof bottoms[0] };
enum type { WHOLE, REAL, FLAG };
enum { EVERY = -1 };

struct parameter {
    const char *name;
    enum type type;
    int of; /* the kind, or bottom, that it belongs to */
    size_t at;
};

#define AT(field) offsetof(struct account_entry, field)

static const struct parameter of_kind[] = {
    {"trials", WHOLE, ACCOUNT_PBM, AT(trials)},   {"beta", REAL, ACCOUNT_PBM, AT(beta)},
    {"sigma", REAL, ACCOUNT_GAUSSIAN, AT(sigma)}, {"clip", REAL, ACCOUNT_GAUSSIAN, AT(clip)},
    {"step", REAL, ACCOUNT_GAUSSIAN, AT(step)},   {"clear", FLAG, EVERY, AT(clear)},
    {"concat", FLAG, EVERY, AT(concat)},          {"coordinates", WHOLE, EVERY, AT(coordinates)},
    {"parties", WHOLE, EVERY, AT(parties)},       {"colluders", WHOLE, EVERY, AT(colluders)},
    {"persons", FLAG, EVERY, AT(persons)},
};
static const struct parameter of_bottom[] = {
    {"noise", REAL, ACCOUNT_DP, AT(step_noise)},
    {"steps", WHOLE, ACCOUNT_DP, AT(steps)},
    {"together", WHOLE, ACCOUNT_DP, AT(together)},
};

const char *ledger_mechanism_kind(enum account_kind kind)
{
    return kinds[kind];
}

const char *ledger_mechanism_bottom(enum account_bottom bottom)
{
    return bottoms[bottom];
}

static bool positive(double v)
{
    return isfinite(v) && v > 0;
}

/* What the accountant takes. */
static bool possible(const struct account_entry *m)
{
    if (m->coordinates < 1 || m->parties < 1 || m->colluders < 1)
        return false;
    if (m->bottom == ACCOUNT_DP && !(positive(m->step_noise) && m->steps >= 1 && m->together >= 1))
        return false;
    switch (m->kind) {
    case ACCOUNT_PBM: return m->trials >= 1 && m->beta > 0 && m->beta < 0.5;
    case ACCOUNT_GAUSSIAN: return positive(m->sigma) && positive(m->clip) && positive(m->step);
    case ACCOUNT_NONE: break;
    }
    return true;
}

static size_t print_parameter(char *out, size_t room, const struct parameter *p, const void *m)
{
    const uint8_t *field = (const uint8_t *)m + p->at;
    char value[NUMBER_TEXT_MAX];
    uint32_t whole;
    double real;
    int n;

    switch (p->type) {
    case WHOLE:
        memcpy(&whole, field, sizeof whole);
        snprintf(value, sizeof value, "%" PRIu32, whole);
        break;
    case REAL:
        memcpy(&real, field, sizeof real);
        number_print(value, real);
        break;
    case FLAG: snprintf(value, sizeof value, "%d", *(const bool *)field); break;
    }
    n = snprintf(out, room, " %s=%s", p->name, value);
    CHECK(n > 0 && (size_t)n < room);
    return (size_t)n;
}

static size_t print_parameters(char *out, size_t room, const struct parameter *p, size_t n, int of,
                               const struct account_entry *m)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i].of == EVERY || p[i].of == of)
            used += print_parameter(out + used, room - used, &p[i], m);
    }
    return used;
}

void ledger_mechanism_print(char out[LEDGER_MECHANISM_MAX], const struct account_entry *mechanism)
{
    struct account_entry m = *mechanism;
    size_t n;

    m.colluders = m.colluders > 1 ? m.colluders : 1;
    m.together = m.together > 1 ? m.together : 1;
    CHECK(possible(&m));
    n = (size_t)snprintf(out, LEDGER_MECHANISM_MAX, "%s", kinds[m.kind]);
    n += print_parameters(out + n, LEDGER_MECHANISM_MAX - n, of_kind,
                          sizeof of_kind / sizeof *of_kind, (int)m.kind, &m);
    n += (size_t)snprintf(out + n, LEDGER_MECHANISM_MAX - n, " %s", bottoms[m.bottom]);
    CHECK(n < LEDGER_MECHANISM_MAX);
    print_parameters(out + n, LEDGER_MECHANISM_MAX - n, of_bottom,
                     sizeof of_bottom / sizeof *of_bottom, (int)m.bottom, &m);
}

static bool same_all(const struct parameter *p, size_t n, int of, const void *a, const void *b)
{
    static const size_t bytes[] = {
        [WHOLE] = sizeof(uint32_t), [REAL] = sizeof(double), [FLAG] = sizeof(bool)};
    const uint8_t *x = a, *y = b;

    for (size_t i = 0; i < n; i++) {
        if ((p[i].of == EVERY || p[i].of == of) &&
            memcmp(x + p[i].at, y + p[i].at, bytes[p[i].type]) != 0)
            return false;
    }
    return true;
}

bool ledger_mechanism_same(const struct account_entry *a, const struct account_entry *b)
{
    return a->kind == b->kind && a->bottom == b->bottom &&
           same_all(of_kind, sizeof of_kind / sizeof *of_kind, (int)a->kind, a, b) &&
           same_all(of_bottom, sizeof of_bottom / sizeof *of_bottom, (int)a->bottom, a, b);
}

static void read_parameter(struct ledger_words *w, const struct parameter *p, void *m)
{
    uint8_t *field = (uint8_t *)m + p->at;
    uint32_t whole;
    double real;

    ledger_words_name(w, p->name);
    switch (p->type) {
    case WHOLE:
        whole = (uint32_t)ledger_words_number(w, UINT32_MAX);
        memcpy(field, &whole, sizeof whole);
        break;
    case REAL:
        real = ledger_words_real(w);
        memcpy(field, &real, sizeof real);
        break;
    case FLAG: *(bool *)field = ledger_words_number(w, 1) == 1; break;
    }
}

static void read_parameters(struct ledger_words *w, const struct parameter *p, size_t n, int of,
                            struct account_entry *m)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i].of == EVERY || p[i].of == of)
            read_parameter(w, &p[i], m);
    }
}

bool ledger_mechanism_read(struct account_entry *out, const char *text)
{
    struct ledger_words w = {.at = text};

    *out = (struct account_entry){0};
    out->kind = (enum account_kind)ledger_words_choice(&w, kinds, KINDS);
    read_parameters(&w, of_kind, sizeof of_kind / sizeof *of_kind, (int)out->kind, out);
    out->bottom = (enum account_bottom)ledger_words_choice(&w, bottoms, BOTTOMS);
    read_parameters(&w, of_bottom, sizeof of_bottom / sizeof *of_bottom, (int)out->bottom, out);
    return ledger_words_end(&w) && possible(out);
}
