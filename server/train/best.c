/* best.c -- evaluations compared, and the best one's head kept and put back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/best.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/plan_head.h"

#include <math.h>
#include <string.h>

enum status server_best_init(struct server_best *b, const struct plan *p, size_t params,
                             const struct score_board *test)
{
    if (p->training.patience == 0)
        return STATUS_OK;
    b->params = params;
    b->head = mem_alloc(b->params + 1, sizeof *b->head); /* identity has none */
    if (b->head == NULL)
        return STATUS_MEMORY;
    if (test->rows_max == 0)
        return STATUS_OK;
    return score_board_init(&b->tested, test->rows_max, test->classes, test->kind);
}

void server_best_deinit(struct server_best *b)
{
    mem_free(b->head);
    score_board_deinit(&b->tested);
    *b = (struct server_best){0};
}

/* --- which is better --- */

/* A score that is not there, as AUC of one class, or that is no number is never better. */
static bool is_better(const struct server_best_of *best, enum score_metric m, double value)
{
    if (!isfinite(value))
        return false;
    if (!best->yes)
        return true;
    return score_falls(m) ? value < best->value : value > best->value;
}

void server_best_compare(struct server_best *b, struct server_measured *m, const struct plan *p,
                         const struct server_head *h, const struct score_board *test,
                         const struct server_best_of *now)
{
    const enum score_metric by = (enum score_metric)(plan_best_by(p) - METRIC_FIRST);
    const struct score *s = &m->scored.validate;

    if (b->head == NULL)
        return;
    if (!s->has[by] || !is_better(&b->of, by, s->value[by])) {
        b->since++;
        return;
    }
    b->since = 0;
    b->of = *now;
    b->of.yes = true;
    b->of.value = s->value[by];
    b->of.scored = m->scored;
    m->best = b->of;
    nn_head_get(&h->top, b->head);
    score_board_copy(&b->tested, test);
}

bool server_best_patience_over(const struct server_best *b, const struct plan *p)
{
    return b->head != NULL && b->since >= p->training.patience;
}

void server_best_settle(const struct server_best *b, struct server_measured *m,
                        struct server_head *h, struct score_board *test)
{
    if (b->head == NULL)
        return;
    if (!b->of.yes) {
        log_warn("no evaluation had a score on the rows of data.validate to compare by "
                 "(training.best_by): the last model is kept");
        return;
    }
    m->settled = true;
    nn_head_set(&h->top, b->head);
    score_board_copy(test, &b->tested);
}

/* --- to bytes and back --- */

enum status server_best_print(const struct server_best *b, struct buf *out)
{
    enum status s;

    if (b->head == NULL)
        return STATUS_OK;
    s = buf_append(out, b->head, b->params * sizeof *b->head);
    return s == STATUS_OK ? score_board_print(&b->tested, out) : s;
}

enum status server_best_parse(struct server_best *b, const uint8_t *bytes, size_t n, size_t *used)
{
    const size_t head = b->params * sizeof *b->head;

    *used = 0;
    if (b->head == NULL)
        return STATUS_OK;
    if (n < head || score_board_parse(&b->tested, bytes + head, n - head, used) != STATUS_OK)
        return STATUS_DATA;
    memcpy(b->head, bytes, head);
    *used += head;
    return STATUS_OK;
}
