/* sets.c -- test rows by id, by person, or by time.
 *
 * By time a table is read twice: which rows are the last ones is known at its end.  What is kept
 * between is one time and one id of each row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/sets.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/group.h"
#include "common/data/order.h"
#include "common/data/text.h"
#include "common/data/validate.h"

#include <stdlib.h>
#include <string.h>

enum { TEST_IN = 5 };

static const double SHARE_DEFAULT = 0.2;
static const char LABEL[] = "vfl/test/1", GROUP_LABEL[] = "vfl/test/group/1";

enum status sets_check(struct split *s)
{
    struct split_options *o = &s->o;
    const bool one_set = o->test == NULL && o->pair_test == NULL && o->predict == NULL;

    if (o->test_share == 0 && o->test_by == VALIDATE_ID)
        return STATUS_OK;
    if (!one_set)
        return error_set(&s->err, STATUS_CONFIG,
                         "--test-share, --test-by: of one set, without a "
                         "file of test rows");
    if (o->test_by == VALIDATE_GROUP && o->group == NULL)
        return error_set(&s->err, STATUS_CONFIG, "--test-by group: which column? (--group)");
    if (o->test_by == VALIDATE_TIME && o->time == NULL)
        return error_set(&s->err, STATUS_CONFIG, "--test-by time: which column? (--time)");
    if (o->test_share == 0)
        o->test_share = SHARE_DEFAULT;
    return STATUS_OK;
}

int sets_of_id(const struct split_options *o, const char *id)
{
    uint8_t digest[DIGEST_BYTES];

    if (o->test_share > 0)
        return validate_chosen(LABEL, id, o->test_share);
    digest_sha256(digest, id, strlen(id));
    return digest[0] % TEST_IN == 0;
}

/* --- times --- */

struct moment {
    double time;
    size_t at; /* of its id in `ids` */
};

struct reading {
    struct source source;
    size_t id, column;
    struct moment *moment;
    size_t n, room;
    struct buf ids;
};

/* By time, then by id. */
static int compare(double a, const char *a_id, double b, const char *b_id)
{
    if (a < b || a > b)
        return a < b ? -1 : 1;
    return order_compare(a_id, strlen(a_id), b_id, strlen(b_id));
}

static int compare_moments(const void *a, const void *b, void *ids)
{
    const struct moment *x = a, *y = b;

    return compare(x->time, (const char *)ids + x->at, y->time, (const char *)ids + y->at);
}

static enum status take_time(double *time, bool *dated, bool first, const struct source *from,
                             size_t column, struct error *err)
{
    const char *reason = group_moment(time, dated, first, &from->cell[column]);

    return reason == NULL ? STATUS_OK : source_fault(from, column, reason, err);
}

static enum status take_row(struct reading *r, struct sets *sets, struct split *s)
{
    char number[SOURCE_NUMBER_MAX], counted[24];
    size_t n;
    const char *id = counted;
    struct moment *grown;
    struct moment m = {.at = r->ids.len};
    enum status status =
        take_time(&m.time, &sets->dated, r->n == 0, &r->source, r->column, &s->err);

    if (status != STATUS_OK)
        return status;
    if (r->id < r->source.cols)
        id = source_text(&r->source.cell[r->id], number, &n);
    else
        n = (size_t)snprintf(counted, sizeof counted, "%zu", r->n);
    if (n > TABLE_ID_MAX)
        return source_fault(&r->source, r->id, "an id is 1 to 64 bytes", &s->err);
    grown = mem_room(r->moment, &r->room, r->n + 1, sizeof *r->moment);
    if (grown == NULL || buf_append(&r->ids, id, n) != STATUS_OK ||
        buf_append(&r->ids, "", 1) != STATUS_OK) {
        r->moment = grown != NULL ? grown : r->moment;
        return error_set(&s->err, STATUS_MEMORY, "%s: no memory for the times of its rows",
                         r->source.path);
    }
    r->moment = grown;
    r->moment[r->n++] = m;
    return STATUS_OK;
}

static enum status read_rows(struct reading *r, struct sets *sets, struct split *s)
{
    bool more = true;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && more) {
        status = source_next(&r->source, &more, &s->err);
        if (status == STATUS_OK && more && r->n == TABLE_ROWS_MAX)
            status = source_fail(&r->source, &s->err, "over %d rows", TABLE_ROWS_MAX);
        else if (status == STATUS_OK && more)
            status = take_row(r, sets, s);
    }
    return status;
}

/* The first of the last rows; where there are none, its time is behind all. */
static enum status first_test_row(struct reading *r, struct sets *sets, struct split *s)
{
    const size_t tests = (size_t)(s->o.test_share * (double)r->n);

    sets->rows = r->n;
    source_digest(&r->source, sets->digest);
    if (tests == 0)
        return error_set(&s->err, STATUS_DATA,
                         "%s: --test-share %g of %zu rows leaves none to test by", r->source.path,
                         s->o.test_share, r->n);
    qsort_r(r->moment, r->n, sizeof *r->moment, compare_moments, r->ids.data);
    sets->time = r->moment[r->n - tests].time;
    snprintf(sets->id, sizeof sets->id, "%s",
             (const char *)r->ids.data + r->moment[r->n - tests].at);
    return STATUS_OK;
}

enum status sets_read_times(struct sets *sets, struct split *s, const char *path)
{
    const struct source_options options = {.delimiter = s->o.delimiter, .digested = true};
    struct reading r = {.n = 0};
    enum status status = source_open(&r.source, path, &options, &s->err);

    buf_init(&r.ids, SIZE_MAX / 2);
    if (status == STATUS_OK) {
        r.id = source_column(&r.source, s->o.id != NULL ? s->o.id : "id");
        r.column = source_column(&r.source, s->o.time);
        if (r.column == r.source.cols)
            status = source_fail(&r.source, &s->err, "no column \"%s\"", s->o.time);
    }
    if (status == STATUS_OK)
        status = read_rows(&r, sets, s);
    if (status == STATUS_OK)
        status = first_test_row(&r, sets, s);
    mem_free(r.moment);
    buf_deinit(&r.ids);
    source_close(&r.source);
    return status;
}

/* --- a row --- */

enum status sets_of_row(int *set, struct sets *sets, struct split *s, const struct source *from,
                        size_t column, const char *id)
{
    char number[SOURCE_NUMBER_MAX];
    const char *name;
    double time;
    size_t n;
    enum status status;

    switch (s->o.test_by) {
    case VALIDATE_GROUP:
        name = source_text(&from->cell[column], number, &n);
        if (!text_is_plain(name, n, TABLE_ID_MAX))
            return source_fault(from, column,
                                "whose a row is, is 1 to 64 bytes of printable ASCII without "
                                "quotes, commas or outer spaces",
                                &s->err);
        *set = validate_chosen(GROUP_LABEL, name, s->o.test_share);
        return STATUS_OK;
    case VALIDATE_TIME:
        status = take_time(&time, &sets->dated, false, from, column, &s->err);
        *set = status == STATUS_OK && compare(time, id, sets->time, sets->id) >= 0;
        return status;
    case VALIDATE_ID:
    case VALIDATE_ORDER: break;
    }
    *set = sets_of_id(&s->o, id);
    return STATUS_OK;
}
