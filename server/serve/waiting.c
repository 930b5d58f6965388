/* waiting.c -- calls, the rows that they wait for, and rounds of these.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/waiting.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "common/wire/limits.h"

#include <math.h>
#include <string.h>

struct waiting_item {
    struct waiting_item *before, *next; /* in the order of asking; of the lot: none */
    struct waiting_row *rows;           /* who waits for it */
    bool alone, in_lot;
    size_t n;
    char id[TABLE_ID_MAX];
};

/* --- the order of asking --- */

static struct waiting_queue *queue_of(struct waiting *w, const struct waiting_item *i)
{
    return i->alone ? &w->alone : &w->shared;
}

static void put_last(struct waiting_queue *q, struct waiting_item *i)
{
    i->before = q->tail;
    i->next = NULL;
    *(q->tail == NULL ? &q->head : &q->tail->next) = i;
    q->tail = i;
}

static void put_first(struct waiting_queue *q, struct waiting_item *i)
{
    i->before = NULL;
    i->next = q->head;
    *(q->head == NULL ? &q->tail : &q->head->before) = i;
    q->head = i;
}

static void take_out(struct waiting_queue *q, struct waiting_item *i)
{
    *(i->before == NULL ? &q->head : &i->before->next) = i->next;
    *(i->next == NULL ? &q->tail : &i->next->before) = i->before;
}

/* Of those that are asked for alone, whose client has had such a turn least lately, and of this
 * client's whose call: many that nobody answers for cost others one turn, and not all of theirs. */
static struct waiting_item *alone_first(const struct waiting *w)
{
    struct waiting_item *first = w->alone.head;

    for (struct waiting_item *i = first; i != NULL; i = i->next) {
        const struct waiting_call *a = i->rows->call, *b = first->rows->call;

        if (w->turn[a->client] < w->turn[b->client] ||
            (w->turn[a->client] == w->turn[b->client] && a->turn < b->turn))
            first = i;
    }
    return first;
}

static void free_item(struct waiting *w, struct waiting_item *i)
{
    CHECK(i->rows == NULL);
    idmap_remove(&w->items, i->id, i->n);
    mem_free(i);
}

/* --- calls --- */

struct waiting_call *waiting_call_new(uint32_t n, size_t text)
{
    struct waiting_call *c = mem_alloc(1, sizeof *c + n * sizeof *c->row + text);

    if (c == NULL)
        return NULL;
    c->n = c->left = n;
    c->row = (struct waiting_row *)(c + 1);
    for (uint32_t i = 0; i < n; i++)
        c->row[i].call = c;
    return c;
}

char *waiting_call_text(struct waiting_call *c)
{
    return (char *)(c->row + c->n);
}

void waiting_call_free(struct waiting_call *c)
{
    if (c == NULL)
        return;
    mem_free(c->scores);
    mem_free(c);
}

static void leave(struct waiting *w, struct waiting_call *c)
{
    *(c->before == NULL ? &w->first : &c->before->next) = c->next;
    *(c->next == NULL ? &w->last : &c->next->before) = c->before;
    w->calls_n--;
    w->ids -= c->n;
    w->share[c->client].calls--;
    w->share[c->client].ids -= c->n;
}

static void over(struct waiting *w, struct waiting_call *c)
{
    leave(w, c);
    w->calls.over(w->calls.owner, c);
    waiting_call_free(c);
}

static void settle(struct waiting_row *r, enum waiting_fault fault, const float *scores)
{
    struct waiting_call *c = r->call;

    CHECK(!r->settled);
    r->settled = true;
    r->fault = fault;
    r->item = NULL;
    if (scores != NULL)
        memcpy(c->scores + (size_t)(r - c->row) * c->kind.outputs, scores,
               c->kind.outputs * sizeof *scores);
    c->left--;
}

/* It waits no longer; what nobody else waits for, and no round has, is not asked for. */
static void forsake(struct waiting *w, struct waiting_row *r)
{
    struct waiting_item *i = r->item;

    *(r->before == NULL ? &i->rows : &r->before->next) = r->next;
    if (r->next != NULL)
        r->next->before = r->before;
    r->item = NULL;
    if (i->rows != NULL || i->in_lot)
        return;
    take_out(queue_of(w, i), i);
    free_item(w, i);
}

static void fail(struct waiting *w, struct waiting_call *c, enum waiting_fault why)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->row[i].item != NULL)
            forsake(w, &c->row[i]);
        if (!c->row[i].settled)
            settle(&c->row[i], why, NULL);
    }
    over(w, c);
}

/* --- what is asked --- */

static struct waiting_item *new_item(struct waiting *w, const struct waiting_row *r)
{
    struct waiting_item *i = mem_alloc(1, sizeof *i);

    if (i == NULL)
        return NULL;
    memcpy(i->id, r->id, r->n);
    i->n = r->n;
    if (idmap_put(&w->items, i->id, i->n, i) != STATUS_OK) {
        mem_free(i);
        return NULL;
    }
    put_last(&w->shared, i);
    return i;
}

static void place_row(struct waiting *w, struct waiting_row *r)
{
    const float *kept;

    if (!text_is_plain(r->id, r->n, TABLE_ID_MAX)) {
        settle(r, FAULT_ID, NULL);
        return;
    }
    kept = w->calls.kept(w->calls.owner, r->id, r->n);
    if (kept == NULL)
        r->item = idmap_get(&w->items, r->id, r->n);
    if (kept == NULL && r->item == NULL) {
        r->counted = r->counted || w->calls.may_ask == NULL ||
                     w->calls.may_ask(w->calls.owner, r->call->client);
        if (!r->counted) {
            settle(r, FAULT_SHARE, NULL);
            return;
        }
        r->item = new_item(w, r);
    }
    if (r->item == NULL) {
        settle(r, kept != NULL ? FAULT_NONE : FAULT_FAILED, kept);
        return;
    }
    r->before = NULL;
    r->next = r->item->rows;
    if (r->next != NULL)
        r->next->before = r;
    r->item->rows = r;
}

static void place(struct waiting *w, struct waiting_call *c, struct waiting_kind kind)
{
    c->placed = true;
    c->kind = w->kind = kind;
    if (c->scores == NULL)
        c->scores = mem_alloc((size_t)c->n * kind.outputs, sizeof *c->scores);
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->row[i].settled)
            continue;
        if (c->scores == NULL)
            settle(&c->row[i], FAULT_FAILED, NULL);
        else
            place_row(w, &c->row[i]);
    }
}

/* Of what several calls of one client take, three quarters is the most, so that another one always
 * finds room. */
bool waiting_has_room(const struct waiting *w, size_t client, uint32_t rows)
{
    const struct waiting_share *own = &w->share[client];

    return w->calls_n < WAITING_CALLS_MAX && w->ids_max - w->ids >= rows &&
           (own->calls == 0 || (own->calls < WAITING_CALLS_MAX / 4 * 3 &&
                                w->ids_max - w->ids_max / 4 >= own->ids + rows));
}

bool waiting_add(struct waiting *w, struct waiting_call *c, bool now, struct waiting_kind kind)
{
    CHECK(waiting_has_room(w, c->client, c->n));
    if (now)
        place(w, c, kind);
    if (c->left == 0)
        return true;
    c->before = w->last;
    c->next = NULL;
    *(w->last == NULL ? &w->first : &w->last->next) = c;
    w->last = c;
    w->calls_n++;
    w->ids += c->n;
    w->share[c->client].calls++;
    w->share[c->client].ids += c->n;
    return false;
}

void waiting_place(struct waiting *w, const char *run, struct waiting_kind kind)
{
    for (struct waiting_call *c = w->first, *next; c != NULL; c = next) {
        next = c->next;
        if (c->placed || strcmp(c->run, run) != 0)
            continue;
        place(w, c, kind);
        if (c->left == 0)
            over(w, c);
    }
}

void waiting_turn(struct waiting *w)
{
    for (struct waiting_call *c = w->first; c != NULL; c = c->next) {
        c->placed = false;
        for (uint32_t i = 0; i < c->n; i++)
            if (c->row[i].item != NULL)
                forsake(w, &c->row[i]);
    }
    (void)waiting_again(w);
}

const char *waiting_for(const struct waiting *w)
{
    return w->first == NULL ? NULL : w->first->run;
}

bool waiting_other(const struct waiting *w, const char *run)
{
    for (const struct waiting_call *c = w->first; c != NULL; c = c->next)
        if (strcmp(c->run, run) != 0)
            return true;
    return false;
}

bool waiting_any(const struct waiting *w)
{
    return w->shared.head != NULL || w->alone.head != NULL || w->lot_n > 0;
}

/* --- rounds --- */

/* False: there is no room for its id, which was made beforehand, and this is less. */
static bool put_in_lot(struct waiting *w, struct waiting_item *i)
{
    if (buf_append(&w->text, i->id, i->n) != STATUS_OK ||
        buf_append(&w->text, "\n", 1) != STATUS_OK)
        return false;
    take_out(queue_of(w, i), i);
    i->in_lot = true;
    w->lot[w->lot_n++] = i;
    return true;
}

static void take_alone(struct waiting *w)
{
    struct waiting_item *i = alone_first(w);
    struct waiting_call *c = i->rows->call;

    c->turn = w->turn[c->client] = ++w->turns;
    (void)put_in_lot(w, i);
}

/* One that is asked for alone is, and no round of others has it: they take turns. */
uint32_t waiting_take(void *owner, uint32_t most, struct wire_bytes *ids)
{
    struct waiting *w = owner;
    const bool alone =
        w->alone.head != NULL && (w->shared.head == NULL || !w->was_alone) && most > 0;

    CHECK(w->lot_n == 0);
    w->text.len = 0;
    if (alone)
        take_alone(w);
    while (!alone && w->shared.head != NULL && w->lot_n < most)
        if (!put_in_lot(w, w->shared.head))
            break;
    w->was_alone = alone;
    w->lots += w->lot_n > 0;
    *ids = (struct wire_bytes){w->text.data, w->text.len};
    return w->lot_n;
}

bool waiting_again(void *owner)
{
    struct waiting *w = owner;

    for (uint32_t k = 0; k < w->lot_n; k++)
        if (w->lot[k]->rows != NULL)
            return true;
    while (w->lot_n > 0)
        free_item(w, w->lot[--w->lot_n]);
    return false;
}

static bool all_finite(const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void settle_item(struct waiting *w, struct waiting_item *i, enum waiting_fault fault,
                        const float *scores, const bool *missing)
{
    while (i->rows != NULL) {
        struct waiting_row *r = i->rows;
        struct waiting_call *c = r->call;

        i->rows = r->next;
        if (i->rows != NULL)
            i->rows->before = NULL;
        for (uint32_t m = 0; missing != NULL && m < WIRE_MEMBERS_MAX; m++) {
            r->without |= missing[m];
            r->missing[m / 64] |= (uint64_t)missing[m] << m % 64;
        }
        settle(r, fault, scores);
        if (c->left == 0)
            over(w, c);
    }
    free_item(w, i);
}

void waiting_scored(void *owner, const float *scores, const bool *missing)
{
    struct waiting *w = owner;
    const uint32_t n = w->lot_n;

    w->lot_n = 0;
    for (uint32_t k = 0; k < n; k++) {
        const float *score = scores + (size_t)k * w->kind.outputs;
        struct waiting_item *i = w->lot[k];
        const bool good = all_finite(score, w->kind.outputs);

        if (good)
            w->calls.scored(w->calls.owner, i->id, i->n, score, missing);
        settle_item(w, i, good ? FAULT_NONE : FAULT_NUMBER, good ? score : NULL, missing);
    }
}

void waiting_begins(struct waiting *w)
{
    w->lots = 0;
}

void waiting_ends(struct waiting *w, bool refused)
{
    const uint32_t n = w->lot_n;

    w->lot_n = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct waiting_item *i = w->lot[refused ? k : n - 1 - k];

        i->in_lot = false;
        i->alone |= refused;
        if (i->rows == NULL)
            free_item(w, i);
        else if (refused && n == 1)
            settle_item(w, i, FAULT_REFUSED, NULL, NULL);
        else if (refused)
            put_last(&w->alone, i); /* behind those of earlier rounds */
        else
            put_first(queue_of(w, i), i);
    }
}

void waiting_fail(struct waiting *w, const char *run, enum waiting_fault why)
{
    for (struct waiting_call *c = w->first, *next; c != NULL; c = next) {
        next = c->next;
        if (run == NULL || strcmp(c->run, run) == 0)
            fail(w, c, why);
    }
}

void waiting_expire(struct waiting *w, uint64_t now_us, enum waiting_fault why)
{
    for (struct waiting_call *c = w->first, *next; c != NULL; c = next) {
        next = c->next;
        if (c->until_us <= now_us)
            fail(w, c, why);
    }
}

uint64_t waiting_until(const struct waiting *w)
{
    uint64_t first = UINT64_MAX;

    for (const struct waiting_call *c = w->first; c != NULL; c = c->next)
        if (c->until_us < first)
            first = c->until_us;
    return first;
}

/* --- life --- */

enum status waiting_init(struct waiting *w, const struct waiting_calls *calls, uint32_t ids_max)
{
    *w = (struct waiting){.calls = *calls, .ids_max = ids_max};
    buf_init(&w->text, WIRE_IDS_MAX);
    w->lot = mem_alloc(PLAN_WIDTH_MAX, sizeof(struct waiting_item *));
    return w->lot == NULL ? STATUS_MEMORY : buf_reserve(&w->text, WIRE_IDS_MAX);
}

void waiting_deinit(struct waiting *w)
{
    CHECK(w->first == NULL);
    (void)waiting_again(w);
    idmap_deinit(&w->items);
    buf_deinit(&w->text);
    mem_free(w->lot);
    w->lot = NULL;
}
