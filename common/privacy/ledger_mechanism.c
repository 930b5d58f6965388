/* ledger_mechanism.c -- the words of a mechanism: its kind, that kind's parameters, those of all,
 * its bottom.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_mechanism.h"

#include "common/base/check.h"
#include "common/config/number.h"
#include "common/privacy/ledger_words.h"
#include "common/privacy/noise.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const bottoms[] = {[ACCOUNT_RAW] = "raw",
                                      [ACCOUNT_FROZEN] = "frozen",
                                      [ACCOUNT_DP] = "dp",
                                      [ACCOUNT_STATISTICS] = "statistics"};

enum { BOTTOMS = sizeof bottoms / sizeof bottoms[0] };

#define AT(field) offsetof(struct account_entry, field)

static const struct noise_parameter all[] = {
    {"clear", NOISE_FLAG, AT(clear)},
    {"concat", NOISE_FLAG, AT(concat)},
    {"coordinates", NOISE_WHOLE, AT(coordinates)},
    {"parties", NOISE_WHOLE, AT(parties)},
    {"colluders", NOISE_WHOLE, AT(colluders)},
    {"persons", NOISE_FLAG, AT(persons)},
};
static const struct noise_parameter dp[] = {
    {"noise", NOISE_REAL, AT(step_noise)},
    {"steps", NOISE_WHOLE, AT(steps)},
    {"together", NOISE_WHOLE, AT(together)},
};

struct group {
    const struct noise_parameter *parameter;
    size_t n;
};

static const struct group of_all = {all, sizeof all / sizeof *all};

static struct group of_kind(enum account_kind kind)
{
    const struct noise *noise = noise_row(kind);

    return noise == NULL ? (struct group){NULL, 0}
                         : (struct group){noise->parameter, noise->parameters};
}

static struct group of_bottom(enum account_bottom bottom)
{
    return (struct group){dp, bottom == ACCOUNT_DP ? sizeof dp / sizeof *dp : 0};
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
    const struct noise *noise = noise_row(m->kind);

    if (m->coordinates < 1 || m->parties < 1 || m->colluders < 1)
        return false;
    if (m->bottom == ACCOUNT_DP && !(positive(m->step_noise) && m->steps >= 1 && m->together >= 1))
        return false;
    return noise == NULL || noise->possible(m);
}

static size_t print_parameter(char *out, size_t room, const struct noise_parameter *p,
                              const struct account_entry *m)
{
    const double of = noise_value(p, m);
    char value[NUMBER_TEXT_MAX];
    int n;

    if (p->type == NOISE_REAL)
        number_print(value, of);
    else
        snprintf(value, sizeof value, "%.0f", of);
    n = snprintf(out, room, " %s=%s", p->name, value);
    CHECK(n > 0 && (size_t)n < room);
    return (size_t)n;
}

static size_t print_group(char *out, size_t room, struct group g, const struct account_entry *m)
{
    size_t used = 0;

    for (size_t i = 0; i < g.n; i++)
        used += print_parameter(out + used, room - used, &g.parameter[i], m);
    return used;
}

void ledger_mechanism_print(char out[LEDGER_MECHANISM_MAX], const struct account_entry *mechanism)
{
    struct account_entry m = *mechanism;
    size_t n;

    m.colluders = m.colluders > 1 ? m.colluders : 1;
    m.together = m.together > 1 ? m.together : 1;
    CHECK(possible(&m));
    n = (size_t)snprintf(out, LEDGER_MECHANISM_MAX, "%s", noise_names[m.kind]);
    n += print_group(out + n, LEDGER_MECHANISM_MAX - n, of_kind(m.kind), &m);
    n += print_group(out + n, LEDGER_MECHANISM_MAX - n, of_all, &m);
    n += (size_t)snprintf(out + n, LEDGER_MECHANISM_MAX - n, " %s", bottoms[m.bottom]);
    CHECK(n < LEDGER_MECHANISM_MAX);
    print_group(out + n, LEDGER_MECHANISM_MAX - n, of_bottom(m.bottom), &m);
}

static bool same_group(struct group g, const void *a, const void *b)
{
    static const size_t bytes[] = {[NOISE_WHOLE] = sizeof(uint32_t),
                                   [NOISE_REAL] = sizeof(double),
                                   [NOISE_FLAG] = sizeof(bool)};
    const uint8_t *x = a, *y = b;

    for (size_t i = 0; i < g.n; i++) {
        if (memcmp(x + g.parameter[i].at, y + g.parameter[i].at, bytes[g.parameter[i].type]) != 0)
            return false;
    }
    return true;
}

bool ledger_mechanism_same(const struct account_entry *a, const struct account_entry *b)
{
    return a->kind == b->kind && a->bottom == b->bottom && same_group(of_kind(a->kind), a, b) &&
           same_group(of_all, a, b) && same_group(of_bottom(a->bottom), a, b);
}

static void read_parameter(struct ledger_words *w, const struct noise_parameter *p, void *m)
{
    uint8_t *field = (uint8_t *)m + p->at;
    uint32_t whole;
    double real;

    ledger_words_name(w, p->name);
    switch (p->type) {
    case NOISE_WHOLE:
        whole = (uint32_t)ledger_words_number(w, UINT32_MAX);
        memcpy(field, &whole, sizeof whole);
        break;
    case NOISE_REAL:
        real = ledger_words_real(w);
        memcpy(field, &real, sizeof real);
        break;
    case NOISE_FLAG: *(bool *)field = ledger_words_number(w, 1) == 1; break;
    }
}

static void read_group(struct ledger_words *w, struct group g, struct account_entry *m)
{
    for (size_t i = 0; i < g.n; i++)
        read_parameter(w, &g.parameter[i], m);
}

bool ledger_mechanism_read(struct account_entry *out, const char *text)
{
    struct ledger_words w = {.at = text};

    *out = (struct account_entry){0};
    out->kind = (enum account_kind)ledger_words_choice(&w, noise_names, NOISE_KINDS);
    read_group(&w, of_kind(out->kind), out);
    read_group(&w, of_all, out);
    out->bottom = (enum account_bottom)ledger_words_choice(&w, bottoms, BOTTOMS);
    read_group(&w, of_bottom(out->bottom), out);
    return ledger_words_end(&w) && possible(out);
}
