/* validate.c -- two tables in the order of ids to two others: rows are picked, none is changed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/validate.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Their final 0 is hashed, too. */
static const char LABEL[] = "vfl/validate/1", GROUP_LABEL[] = "vfl/validate/group/1";
static const char TEST_ID[] = "test-";

static bool below(struct digest *d, const char *label, const char *name, double share)
{
    uint8_t hash[DIGEST_BYTES];
    const uint8_t *at = hash;

    digest_begin(d);
    digest_update(d, label, strlen(label) + 1);
    digest_update(d, name, strlen(name));
    digest_final(d, hash);
    return (double)(le_take(&at, 8) >> 11) < ldexp(share, 53);
}

bool validate_chosen(const char *label, const char *name, double share)
{
    struct digest d;
    bool yes;

    digest_begin(&d);
    yes = below(&d, label, name, share);
    digest_deinit(&d);
    return yes;
}

bool validate_keeps_back(const char *id, double share)
{
    return validate_chosen(LABEL, id, share);
}

/* Of rows in order, the first of the last. */
static size_t first_back(const struct validate_rule *rule, const struct table *train)
{
    return train->rows - (size_t)(rule->share * (double)train->rows);
}

/* Is training row i one of them? */
static bool is_back(const struct validate_rule *rule, struct digest *d, const struct table *train,
                    size_t i)
{
    switch (rule->by) {
    case VALIDATE_ID: return below(d, LABEL, table_id(train, i), rule->share);
    case VALIDATE_GROUP: return below(d, GROUP_LABEL, group_name(rule->group, i), rule->share);
    case VALIDATE_ORDER: return i >= first_back(rule, train);
    case VALIDATE_TIME: return rule->place[i] >= first_back(rule, train);
    }
    return false;
}

/* --- rows of two tables into one --- */

static size_t id_bytes(const struct table *a, const struct table *b, const uint32_t *from, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes +=
            strlen(from[i] < a->rows ? table_id(a, from[i]) : table_id(b, from[i] - a->rows)) + 1;
    return bytes;
}

/* Own ids of the rows that were picked: they are in no order that matters. */
static enum status pick_own(struct table *out, const struct table *a, const struct table *b,
                            const uint32_t *from)
{
    uint32_t twice[2];
    struct buf text;
    enum status s = STATUS_OK;

    if (!a->own.any)
        return STATUS_OK;
    buf_init(&text, UINT32_MAX);
    out->own = (struct table_own){
        .any = true, .left = a->own.left, .at = mem_alloc(out->rows, sizeof *out->own.at)};
    memcpy(out->own.alignment, a->own.alignment, sizeof a->own.alignment);
    if (out->own.at == NULL)
        s = STATUS_MEMORY;
    for (size_t i = 0; i < out->rows && s == STATUS_OK; i++) {
        const char *id =
            from[i] < a->rows ? table_own_id(a, from[i]) : table_own_id(b, from[i] - a->rows);

        out->own.at[i] = (uint32_t)text.len;
        s = buf_append(&text, id, strlen(id) + 1);
    }
    out->own.text = (char *)text.data;
    return s == STATUS_OK ? order_own(out, twice) : s;
}

static enum status copy_names(struct table *out, const struct table *a)
{
    if (a->names == NULL)
        return STATUS_OK;
    out->names = mem_alloc(a->cols, TABLE_NAME_MAX);
    if (out->names == NULL)
        return STATUS_MEMORY;
    memcpy(out->names, a->names, a->cols * TABLE_NAME_MAX);
    return STATUS_OK;
}

/* Rows from[0..n), those from a->rows on of b, which has a's columns; their values are to come. */
static enum status pick(struct table *out, const struct table *a, const struct table *b,
                        const uint32_t *from, size_t n)
{
    const size_t text = id_bytes(a, b, from, n);
    size_t at = 0;

    *out = (struct table){.rows = n, .cols = a->cols};
    out->id_at = mem_alloc(n, sizeof *out->id_at);
    out->id_text = mem_alloc(text, 1);
    if (out->id_at == NULL || out->id_text == NULL || text > UINT32_MAX ||
        copy_names(out, a) != STATUS_OK) {
        table_deinit(out);
        return STATUS_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const struct table *t = from[i] < a->rows ? a : b;
        const size_t row = from[i] < a->rows ? from[i] : from[i] - a->rows;
        const size_t id = strlen(table_id(t, row)) + 1;

        memcpy(out->id_text + at, table_id(t, row), id);
        out->id_at[i] = (uint32_t)at;
        at += id;
    }
    if (pick_own(out, a, b, from) == STATUS_OK)
        return STATUS_OK;
    table_deinit(out);
    return STATUS_MEMORY;
}

/* Row i of t becomes what was row from[i], which is no earlier one. */
static void close_up(struct table *t, const uint32_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memmove(t->x + i * t->cols, t->x + from[i] * t->cols, t->cols * sizeof *t->x);
}

/* Rows from[0..n) into test, which has room: its own move up, from the last one on, and no row of
 * theirs is written on before it was read. */
static void merge(struct table *test, const struct table *train, const uint32_t *from, size_t n)
{
    const size_t cols = train->cols;

    for (size_t i = n; i-- > 0;) {
        const float *x = from[i] < train->rows ? train->x + from[i] * cols
                                               : test->x + (from[i] - train->rows) * cols;

        memmove(test->x + i * cols, x, cols * sizeof *x);
    }
}

/* `from` takes over t's values, and t's place. */
static void take_place_of(struct table *t, struct table *from)
{
    from->x = t->x;
    from->values = t->values;
    values_cut(&from->values, &from->x, from->rows * from->cols);
    t->x = NULL;
    t->values = (struct values){0};
    table_deinit(t);
    *t = *from;
}

/* --- the split --- */

static int compare(const struct table *a, size_t i, const struct table *b, size_t j)
{
    const char *x = table_id(a, i), *y = table_id(b, j);

    return order_compare(x, strlen(x), y, strlen(y));
}

/* v->from: the rows left, then those kept back merged with the test rows.  How many are left is
 * known at the end alone: until then what comes behind them is written from place train->rows on,
 * which no row left can reach, and moved up afterwards. */
static void choose(struct validate *v, const struct table *train, const struct table *test,
                   const struct validate_rule *rule)
{
    uint32_t *back = v->from + train->rows;
    struct digest d;
    size_t next = 0;

    digest_begin(&d);
    for (size_t i = 0; i < train->rows; i++) {
        if (!is_back(rule, &d, train, i)) {
            v->from[v->left++] = (uint32_t)i;
            continue;
        }
        while (next < test->rows && compare(test, next, train, i) < 0)
            back[v->held++] = (uint32_t)(train->rows + next++);
        back[v->held++] = (uint32_t)i;
    }
    while (next < test->rows)
        back[v->held++] = (uint32_t)(train->rows + next++);
    digest_deinit(&d);
    memmove(v->from + v->left, back, v->held * sizeof *back);
}

/* Rows that their files have numbered, each from 0: those of the test file get ids of their own, in
 * the same order. */
static enum status tell_apart(const struct table *train, struct table *test)
{
    const size_t room = test->rows * strlen(TEST_ID) + table_ids_bytes(test);
    char *text;
    size_t at = 0;

    if (!train->counted || !test->counted)
        return STATUS_OK;
    text = mem_alloc(room, 1);
    if (text == NULL || room > UINT32_MAX) {
        mem_free(text);
        return STATUS_MEMORY;
    }
    for (size_t i = 0; i < test->rows; i++) {
        const size_t begins = at;

        at += (size_t)snprintf(text + at, room - at, "%s%s", TEST_ID, table_id(test, i)) + 1;
        test->id_at[i] = (uint32_t)begins;
    }
    mem_free(test->id_text);
    test->id_text = text;
    test->counted = false;
    test->told_apart = true;
    return STATUS_OK;
}

const char *validate_own_id(const struct table *t, size_t row)
{
    const char *id = table_own_id(t, row);
    const size_t n = strlen(TEST_ID);

    if (t->own.any)
        return id;
    return t->told_apart && strncmp(id, TEST_ID, n) == 0 ? id + n : id;
}

static bool has(const struct table *t, const char *id)
{
    return table_find_own(t, id) < t->rows;
}

struct validate_repeats validate_repeats(const struct table *train, const struct table *test)
{
    /* Of rows that this side may lack nobody may learn whether one is in both. */
    struct validate_repeats r = {.shared = train->lacks != NULL || test->lacks != NULL ||
                                           table_share_ids(train, test)};

    for (size_t i = 0; test->told_apart && i < test->rows && !(r.shared && r.twice); i++) {
        const char *own = validate_own_id(test, i);

        r.shared |= has(train, own);
        r.twice |= own != table_id(test, i) && has(test, own);
    }
    return r;
}

static enum status check_left(const struct validate *v, const struct validate_rule *rule,
                              struct error *err)
{
    const double share = rule->share;

    if (rule->may_lack || (v->left > 0 && v->left < v->train))
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "data.validate: %g of %zu training rows leaves %zu to %s",
                     share, v->train, (size_t)0, v->left > 0 ? "choose by" : "train on");
}

static enum status check(const struct validate *v, const struct table *train,
                         const struct table *test, const struct validate_rule *rule,
                         struct error *err)
{
    if (table_share_ids(train, test))
        return error_set(err, STATUS_DATA,
                         "data.validate: an id of the test rows is in the training rows, too: it "
                         "would test a model that was chosen by it");
    return check_left(v, rule, err);
}

static enum status no_memory(size_t rows, struct error *err)
{
    return error_set(err, STATUS_MEMORY, "data.validate: no memory for %zu rows", rows);
}

enum status validate_choose(struct validate *v, const struct table *train,
                            const struct validate_rule *rule, struct error *err)
{
    const struct table none = {0};
    enum status s;

    *v = (struct validate){.train = train->rows,
                           .from = mem_alloc(2 * train->rows, sizeof *v->from)};
    if (v->from == NULL)
        return no_memory(train->rows, err);
    choose(v, train, &none, rule);
    s = check_left(v, rule, err);
    if (s != STATUS_OK)
        validate_deinit(v);
    return s;
}

/* Room for what test will have, in memory or in a file as train's. */
static enum status make_room(struct table *test, const struct table *train, size_t rows,
                             struct error *err)
{
    if (test->x == NULL)
        test->values.folder = train->values.folder;
    return values_grow(&test->values, &test->x, test->rows * test->cols, rows * train->cols, err);
}

enum status validate_split(struct validate *v, struct table *train, struct table *test,
                           const struct validate_rule *rule, struct error *err)
{
    const size_t rows = train->rows + test->rows;
    struct table left = {0}, held = {0};
    enum status s = STATUS_MEMORY;

    *v = (struct validate){.train = train->rows};
    v->from = mem_alloc(2 * train->rows + test->rows, sizeof *v->from);
    if (v->from != NULL && tell_apart(train, test) == STATUS_OK) {
        choose(v, train, test, rule);
        s = check(v, train, test, rule, err);
        if (s == STATUS_OK)
            s = make_room(test, train, v->held, err);
        if (s != STATUS_OK && s != STATUS_MEMORY)
            goto out;
        if (s == STATUS_OK)
            s = pick(&left, train, test, v->from, v->left);
    }
    if (s == STATUS_OK)
        s = pick(&held, train, test, v->from + v->left, v->held);
    if (s != STATUS_OK) {
        table_deinit(&left);
        (void)no_memory(rows, err);
        goto out;
    }
    held.told_apart = test->told_apart;
    if (test->rows > 0) { /* what is left is bound to the other one */
        memcpy(held.own.alignment, test->own.alignment, sizeof held.own.alignment);
        held.own.left = test->own.left;
    }
    merge(test, train, v->from + v->left, v->held);
    close_up(train, v->from, v->left);
    take_place_of(test, &held);
    take_place_of(train, &left);
    return STATUS_OK;
out:
    validate_deinit(v);
    return s;
}

enum status validate_cut(const struct validate *v, struct table *t, struct error *err)
{
    struct table left;

    if (pick(&left, t, t, v->from, v->left) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "data.validate: no memory for %zu labels", v->left);
    close_up(t, v->from, v->left);
    take_place_of(t, &left);
    return STATUS_OK;
}

void validate_deinit(struct validate *v)
{
    mem_free(v->from);
    *v = (struct validate){0};
}
