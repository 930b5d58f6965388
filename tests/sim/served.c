/* served.c -- what served.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/served.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "party/train/bottom.h"
#include "server/predict/predict.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

enum { ID_CHARS = 12 };

void served_init(struct served *v, const struct sim *s)
{
    const size_t most = (size_t)s->options.predicted + 1; /* one that nobody has */

    *v = (struct served){.rows = (uint32_t)most};
    v->bottom = mem_alloc(s->options.parties, sizeof *v->bottom);
    v->ids = mem_alloc(2 * most, ID_CHARS); /* each may be asked for twice */
    v->at = mem_alloc(2 * most + 1, sizeof *v->at);
    v->which = mem_alloc(2 * most, sizeof *v->which);
    v->known = mem_alloc(most, sizeof *v->known);
    v->missing = mem_alloc(most, sizeof *v->missing);
    CHECK(v->missing != NULL && v->bottom != NULL && v->ids != NULL && v->at != NULL &&
          v->which != NULL && v->known != NULL);
}

static void forget(struct served *v, uint32_t parties)
{
    for (uint32_t i = 0; v->made && i < parties; i++)
        package_deinit(&v->bottom[i]);
    package_deinit(&v->head);
    mem_free(v->score);
    v->score = NULL;
    v->made = false;
}

void served_deinit(struct served *v)
{
    if (v->bottom == NULL)
        return;
    forget(v, v->plan.shape.parties);
    mem_free(v->bottom);
    mem_free(v->ids);
    mem_free(v->at);
    mem_free(v->which);
    mem_free(v->known);
    mem_free(v->missing);
}

void served_make(struct served *v, const struct sim *s, const struct plan *p)
{
    const uint32_t n = s->options.parties;

    if (v->made && memcmp(&v->plan, p, sizeof *p) == 0)
        return;
    forget(v, n);
    v->plan = *p;
    v->outputs = p->shape.outputs;
    for (uint32_t i = 0; i < n; i++) {
        const struct sim_party *party = &s->party[i];
        const struct nn_spec spec =
            party_bottom_spec(&party->config, p, (uint32_t)party->predicted.cols, NULL);

        packages_bottom(&v->bottom[i], p, &spec, party->salt);
        v->bottom[i].made = party->config.train == TRAIN_DP       ? ACCOUNT_DP
                            : party->config.train == TRAIN_FROZEN ? ACCOUNT_FROZEN
                                                                  : ACCOUNT_RAW;
        v->bottom[i].noise = party->config.train == TRAIN_DP ? party->config.noise : 0;
    }
    packages_head(&v->head, p, n);
    v->score = mem_alloc((size_t)v->rows * v->outputs, sizeof *v->score);
    CHECK(v->score != NULL);
    memset(v->known, 0, v->rows * sizeof *v->known);
    v->made = true;
}

uint32_t served_ask(struct served *v, const struct standing_question *q)
{
    uint32_t n = 0;
    size_t used = 0;

    if (q->feed != NULL) {
        v->question = (struct server_question){.model = &v->head,
                                               .by = "clinic",
                                               .rows = q->rows,
                                               .feed = *q->feed,
                                               .placed = q->placed,
                                               .idle_ms = q->idle_ms,
                                               .min_parties = q->min_parties,
                                               .wait_ms = q->wait_ms};
        return q->rows;
    }
    CHECK(q->first + q->rows <= v->rows);
    for (uint32_t r = q->first; r < q->first + q->rows; r++) {
        for (int k = v->known[r] && !q->anew ? 2 : !q->twice; k < 2; k++) {
            v->at[n] = (uint32_t)used;
            v->which[n++] = r;
            used += (size_t)sprintf(v->ids + used, "%u\n", r);
        }
    }
    v->at[n] = (uint32_t)used;
    v->question = (struct server_question){.model = &v->head,
                                           .by = "clinic",
                                           .ids = v->ids,
                                           .at = v->at,
                                           .rows = n,
                                           .placed = q->placed,
                                           .min_parties = q->min_parties,
                                           .wait_ms = q->wait_ms};
    return n;
}

void served_keep(struct served *v, const struct server_session *session)
{
    const struct predict_scored got = server_predict_scored(server_session_predictions(session));

    for (uint32_t i = 0; i < got.rows; i++) {
        v->known[v->which[i]] = true;
        v->missing[v->which[i]] = got.missing[(size_t)(i / got.batch) * PREDICT_SET_WORDS];
        memcpy(v->score + (size_t)v->which[i] * v->outputs, got.scores + (size_t)i * v->outputs,
               v->outputs * sizeof *v->score);
    }
}
