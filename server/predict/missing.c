/* missing.c -- who is not in an answer: left out by the text of the job, or away from the set.
 *
 * Both are the same to the head: zeros in their place, or what it has learned to put there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/predict/predict.h"

#include "common/base/mem.h"

#include <string.h>

enum status server_missing_new(struct predict_missing *m, size_t rounds)
{
    m->of = mem_alloc(rounds, PREDICT_SET_WORDS * sizeof *m->of);
    return m->of != NULL ? STATUS_OK : STATUS_MEMORY;
}

void server_missing_free(struct predict_missing *m)
{
    mem_free(m->of);
}

void server_missing_begin(struct predict_missing *m, const struct coalition *asked,
                          const struct server_set *set, uint32_t parties)
{
    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        m->now[i] = i < parties;
    for (uint32_t k = 0; k < set->n; k++)
        m->now[set->member[k]] = coalition_lacks(asked, set->member[k]);
}

void server_missing_scored(struct predict_missing *m, size_t round)
{
    uint64_t *set = m->of + round * PREDICT_SET_WORDS;

    memset(set, 0, PREDICT_SET_WORDS * sizeof *set);
    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        set[i / 64] |= (uint64_t)m->now[i] << i % 64;
}

bool server_missing_from(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}
