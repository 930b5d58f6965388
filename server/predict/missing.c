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

/* From the last value to the first: none is written where one is still to be read, since a member's
 * place among all is never before that among the members. */
void server_missing_spread(float *fused, const struct nn_head *head, const struct server_set *set,
                           uint32_t rows)
{
    const size_t width = head->width, all = head->parties;
    size_t end = (size_t)rows * all * width; /* what is from here on is as it should be */

    if (!head->concat || set->n == all)
        return;
    for (size_t r = rows; r-- > 0;) {
        for (size_t m = set->n; m-- > 0;) {
            const size_t from = (r * set->n + m) * width, to = (r * all + set->member[m]) * width;

            memmove(fused + to, fused + from, width * sizeof *fused);
            memset(fused + to + width, 0, (end - to - width) * sizeof *fused);
            end = to;
        }
    }
    memset(fused, 0, end * sizeof *fused);
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
