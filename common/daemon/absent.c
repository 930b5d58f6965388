/* absent.c -- tables get the rows that are not there.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/absent.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/order.h"
#include "common/data/validate.h"

#include <stdio.h>
#include <string.h>

enum { PLACE_MAX = 16 }; /* bytes of an id that is a place, with what validate.h puts before it */

static const char LABEL[] = "vfl/absent/1";

enum status absent_check_group(const struct placed_pair *p, const struct config_party *c,
                               struct error *err)
{
    return !placed_lacks(p) || c->group[0] == 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFIG,
                           "data.group: of an alignment of labelled rows: whose a row is that is "
                           "not here nobody can say");
}

enum status absent_check(const struct placed_pair *p, const struct config_party *c,
                         struct error *err)
{
    if (!placed_lacks(p))
        return STATUS_OK;
    if (absent_check_group(p, c, err) != STATUS_OK)
        return err->status;
    if (c->validate > 0 && c->validate_by != VALIDATE_ID)
        return error_set(
            err, STATUS_CONFIG,
            "data.validate_by: of an alignment of labelled rows: id alone chooses rows "
            "that are not here as everybody does");
    if (c->validate > 0 && c->data_test[0] != 0)
        return error_set(err, STATUS_CONFIG,
                         "data.validate: beside data.test, of alignments of labelled rows: whether "
                         "a row of this party is in both would show");
    if (c->labels_train[0] != 0)
        return error_set(err, STATUS_CONFIG,
                         "data.labels.train: of an alignment of labelled rows: those that are not "
                         "here have none");
    return STATUS_OK;
}

/* --- a table grows --- */

/* Room for n rows more, all of it zeros; what is there stays. */
static void *grown(const void *from, size_t rows, size_t n, size_t size)
{
    uint8_t *to = mem_alloc(rows + n, size);

    if (to != NULL && rows > 0)
        memcpy(to, from, rows * size);
    return to;
}

struct growth {
    const struct placed *of;
    bool test;           /* the table is that of test rows, and ... */
    bool kept_back;      /* ... these are training rows that are kept back */
    const double *share; /* of training rows that are kept back */
};

static bool belongs(const struct growth *g, uint32_t place)
{
    char id[PLACE_MAX];

    if (g->of->file.size[place] > 0)
        return false;
    if (g->test && !g->kept_back)
        return true;
    snprintf(id, sizeof id, "%u", place);
    return validate_keeps_back(id, *g->share) == g->kept_back;
}

static void name(char hex[DIGEST_HEX_CHARS + 1], const struct placed *p, uint32_t place)
{
    uint8_t word[4], out[DIGEST_BYTES];
    struct digest d;

    le_put(word, place, sizeof word);
    digest_begin(&d);
    digest_update(&d, LABEL, sizeof LABEL);
    digest_update(&d, p->places.digest, sizeof p->places.digest);
    digest_update(&d, word, sizeof word);
    digest_final(&d, out);
    digest_deinit(&d);
    digest_hex(hex, out, sizeof out);
}

static size_t own_bytes(const struct table *t)
{
    size_t most = 0;

    for (size_t i = 0; i < t->rows; i++) {
        const size_t end = t->own.at[i] + strlen(t->own.text + t->own.at[i]) + 1;

        most = end > most ? end : most;
    }
    return most;
}

static enum status make_room(struct table *t, size_t n, struct error *err)
{
    const size_t ids = table_ids_bytes(t), own = own_bytes(t),
                 more = n * (DIGEST_HEX_CHARS + 1 + PLACE_MAX);
    struct table to;
    enum status s;

    if (more > UINT32_MAX - ids || more > UINT32_MAX - own)
        return STATUS_MEMORY;
    s = values_grow(&t->values, &t->x, t->rows * t->cols, (t->rows + n) * t->cols, err);
    if (s != STATUS_OK)
        return s;
    to = *t;
    to.id_text = grown(t->id_text, ids, n * PLACE_MAX, 1);
    to.id_at = grown(t->id_at, t->rows, n, sizeof *t->id_at);
    to.own.text = grown(t->own.text, own, n * (DIGEST_HEX_CHARS + 1), 1);
    to.own.at = grown(t->own.at, t->rows, n, sizeof *t->own.at);
    to.lacks = mem_alloc(t->rows + n, 1);
    if (to.id_text == NULL || to.id_at == NULL || to.own.text == NULL || to.own.at == NULL ||
        to.lacks == NULL) {
        mem_free(to.id_text);
        mem_free(to.id_at);
        mem_free(to.own.text);
        mem_free(to.own.at);
        mem_free(to.lacks);
        return STATUS_MEMORY;
    }
    mem_free(t->id_text);
    mem_free(t->id_at);
    mem_free(t->own.text);
    mem_free(t->own.at);
    mem_free(t->lacks);
    *t = to;
    return STATUS_OK;
}

/* Those of g, behind all others; ids and own ends of the texts so far. */
static void add(struct table *t, const struct growth *g, size_t *ids, size_t *own)
{
    for (uint32_t p = 0; p < g->of->file.n; p++) {
        const char *before = g->test && !g->kept_back && t->told_apart ? "test-" : "";

        if (!belongs(g, p))
            continue;
        t->id_at[t->rows] = (uint32_t)*ids;
        *ids += (size_t)snprintf(t->id_text + *ids, PLACE_MAX, "%s%u", before, p) + 1;
        t->own.at[t->rows] = (uint32_t)*own;
        name(t->own.text + *own, g->of, p);
        *own += DIGEST_HEX_CHARS + 1;
        t->rows++;
    }
}

static size_t count(const struct growth *g)
{
    size_t n = 0;

    for (uint32_t p = 0; p < g->of->file.n; p++)
        n += belongs(g, p);
    return n;
}

/* A table of labelled rows says of each whether it is there, though all were. */
static enum status fill(struct table *t, const struct growth *g, size_t parts, struct error *err)
{
    size_t n = 0, ids, own;
    uint32_t twice[2], first;
    enum status s;

    for (size_t i = 0; i < parts; i++)
        n += count(&g[i]);
    s = make_room(t, n, err);
    if (s == STATUS_IO)
        return s;
    if (s != STATUS_OK)
        return error_set(err, s, "no memory for %zu rows that are not here", n);
    ids = table_ids_bytes(t);
    own = own_bytes(t);
    first = (uint32_t)own;
    for (size_t i = 0; i < parts; i++)
        add(t, &g[i], &ids, &own);
    s = order_table(t, twice);
    if (s == STATUS_OK)
        s = order_own(t, twice);
    if (s != STATUS_OK)
        return error_set(err, s, "rows that are not here: %s", status_words(s));
    for (size_t i = 0; i < t->rows; i++)
        t->lacks[i] = t->own.at[i] >= first;
    log_info("%zu of %zu rows are not here: their part is a constant", n, t->rows);
    return s;
}

enum status absent_fill(const struct placed_pair *p, struct table *train, struct table *test,
                        double share, struct error *err)
{
    const struct growth of_train = {.of = &p->train, .share = &share},
                        of_test[2] = {
                            {.of = &p->train, .test = true, .kept_back = true, .share = &share},
                            {.of = &p->test, .test = true, .share = &share}};
    enum status s;

    if (!placed_lacks(p))
        return STATUS_OK;
    s = fill(train, &of_train, 1, err);
    if (s == STATUS_OK && (test->rows > 0 || p->test.file.labelled || share > 0))
        s = fill(test, of_test, 2, err);
    return s;
}
