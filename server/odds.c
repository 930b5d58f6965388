/* odds.c -- who is at odds with whom, and who of them makes room for the others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/odds.h"

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

void odds_part(const struct odds *o, bool in[WIRE_MEMBERS_MAX], uint32_t n, bool by_turns)
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
