/* odds.c -- who is at odds with whom, and who of them makes room for the others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/odds.h"

#include "common/base/record.h"

bool odds_between(const struct odds *o, uint32_t one, uint32_t other)
{
    return o->said[one][other] != ODDS_NONE || o->said[other][one] != ODDS_NONE;
}

bool odds_add(struct odds *o, uint32_t by, uint32_t of, enum odds_about about)
{
    if (odds_between(o, by, of))
        return false;
    o->said[by][of] = (uint8_t)about;
    o->others[by]++;
    o->others[of]++;
    return true;
}

enum odds_about odds_about(const struct odds *o, uint32_t who)
{
    enum odds_about about = ODDS_NONE;

    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++) {
        if (o->said[who][i] == ODDS_IDS || o->said[i][who] == ODDS_IDS)
            return ODDS_IDS;
        if (odds_between(o, who, i))
            about = ODDS_SHARES;
    }
    return about;
}

/* One of those who are in, as the others see it. */
struct place {
    uint32_t who, against, accused; /* at odds with so many, and accused by so many of them */
};

static struct place place_of(const struct odds *o, const bool *in, uint32_t n, uint32_t who)
{
    struct place p = {.who = who};

    for (uint32_t i = 0; i < n; i++) {
        p.against += in[i] && odds_between(o, who, i);
        p.accused += in[i] && o->said[i][who] != ODDS_NONE;
    }
    return p;
}

static bool goes_before(const struct odds *o, const struct place *a, const struct place *b,
                        bool by_turns)
{
    const uint64_t turns_a = o->turns[a->who], turns_b = o->turns[b->who];
    const uint64_t weight_a = a->against * (by_turns ? turns_b + 1 : 1),
                   weight_b = b->against * (by_turns ? turns_a + 1 : 1);

    if (weight_a != weight_b)
        return weight_a > weight_b;
    if (turns_a != turns_b)
        return turns_a < turns_b;
    return a->accused > b->accused;
}

static void one_by_one(const struct odds *o, bool in[WIRE_MEMBERS_MAX], uint32_t n, bool by_turns)
{
    for (;;) {
        struct place first = {.against = 0};

        for (uint32_t i = 0; i < n; i++) {
            struct place p;

            if (!in[i] || o->others[i] == 0)
                continue;
            p = place_of(o, in, n, i);
            if (p.against > 0 && (first.against == 0 || goes_before(o, &p, &first, by_turns)))
                first = p;
        }
        if (first.against == 0)
            return;
        in[first.who] = false;
    }
}

/* --- as many as can be --- */

/* Those who are in and at odds with another who is: bits of a set are places in `who`. */
struct conflict {
    uint32_t n, who[ODDS_EXACT_MAX], against[ODDS_EXACT_MAX];
};

/* False: they are more than are looked at. */
static bool find_conflict(struct conflict *c, const struct odds *o, const bool *in, uint32_t n)
{
    *c = (struct conflict){0};
    for (uint32_t i = 0; i < n; i++) {
        if (!in[i] || o->others[i] == 0 || place_of(o, in, n, i).against == 0)
            continue;
        if (c->n == ODDS_EXACT_MAX)
            return false;
        c->who[c->n++] = i;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        for (uint32_t j = 0; j < c->n; j++)
            c->against[i] |= (uint32_t)odds_between(o, c->who[i], c->who[j]) << j;
    }
    return true;
}

static bool at_peace(const struct conflict *c, uint32_t set)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if ((set >> i & 1) != 0 && (c->against[i] & set) != 0)
            return false;
    }
    return true;
}

static uint32_t count(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* `left` is one that is at peace; the first that is larger than all before it. */
static uint32_t largest(const struct conflict *c, uint32_t left)
{
    for (uint32_t set = 1; set < UINT32_C(1) << c->n; set++) {
        if (count(set) > count(left) && at_peace(c, set))
            left = set;
    }
    return left;
}

void odds_part(const struct odds *o, bool in[WIRE_MEMBERS_MAX], uint32_t n, bool by_turns)
{
    struct conflict c = {0};
    const bool exact = !by_turns && find_conflict(&c, o, in, n);
    uint32_t left = 0;

    one_by_one(o, in, n, by_turns);
    if (!exact)
        return;
    for (uint32_t i = 0; i < c.n; i++)
        left |= (uint32_t)in[c.who[i]] << i;
    left = largest(&c, left);
    for (uint32_t i = 0; i < c.n; i++)
        in[c.who[i]] = (left >> i & 1) != 0;
}

/* --- to bytes and back --- */

/* One saying, or the end of them: about ODDS_NONE. */
struct saying {
    uint32_t by, of, about;
};

static const struct record_field saying_field[] = {
    RECORD_FIELD(struct saying, by),
    RECORD_FIELD(struct saying, of),
    RECORD_FIELD(struct saying, about),
};
static const struct record_field turns_field[] = {{RECORD_U32, 0, sizeof(uint32_t)}};
enum { SAYING_FIELDS = sizeof saying_field / sizeof saying_field[0] };

enum status odds_print(const struct odds *o, uint32_t n, struct buf *out)
{
    enum status st = STATUS_OK;

    for (uint32_t i = 0; i < n && st == STATUS_OK; i++)
        st = record_print(out, turns_field, 1, &o->turns[i]);
    for (uint32_t i = 0; i < n * n && st == STATUS_OK; i++) {
        const struct saying s = {i / n, i % n, o->said[i / n][i % n]};

        if (s.about != ODDS_NONE)
            st = record_print(out, saying_field, SAYING_FIELDS, &s);
    }
    return st == STATUS_OK ? record_print(out, saying_field, SAYING_FIELDS,
                                          &(struct saying){.about = ODDS_NONE})
                           : st;
}

static bool take_saying(struct odds *o, uint32_t n, const struct saying *s)
{
    return s->by < n && s->of < n && s->by != s->of && s->about <= ODDS_IDS &&
           odds_add(o, s->by, s->of, (enum odds_about)s->about);
}

enum status odds_parse(struct odds *o, uint32_t n, const uint8_t *bytes, size_t len, size_t *used)
{
    const size_t each = record_bytes(saying_field, SAYING_FIELDS);
    struct saying s;
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++, at += sizeof *o->turns) {
        if (len - at < sizeof *o->turns || !record_parse(&o->turns[i], turns_field, 1, bytes + at))
            return STATUS_DATA;
    }
    for (;; at += each) {
        if (len - at < each || !record_parse(&s, saying_field, SAYING_FIELDS, bytes + at))
            return STATUS_DATA;
        if (s.about == ODDS_NONE)
            break;
        if (!take_saying(o, n, &s))
            return STATUS_DATA;
    }
    *used = at + each;
    return STATUS_OK;
}
