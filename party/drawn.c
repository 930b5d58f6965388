/* drawn.c -- the sums, their noise, and the file that they stay in.
 *
 *   a sealed file (common/crypto/sealed.h) of: digest (32), number of the draw (32), then each
 *   noised number (8, little-endian)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/drawn.h"

#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/crypto/sealed.h"
#include "common/crypto/secret.h"
#include "common/data/schema_text.h"
#include "common/privacy/ledger_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LABEL "vfl-party/1 statistics"

enum { HEAD_BYTES = 2 * DIGEST_BYTES, NUMBER_BYTES = 8, NAME_BYTES = 16 };

/* Where a draw is, and under which key. */
struct place {
    char path[CONFIG_PATH_MAX + 64];
    uint8_t key[SEALED_KEY_BYTES];
};

enum status drawn_begin(struct drawn *d, const struct config_party *config, const struct schema *s,
                        struct error *err)
{
    enum status status;

    *d = (struct drawn){.config = config};
    status = statistics_init(&d->statistics, s, strcmp(config->scale, "dp") == 0, err);
    if (status != STATUS_OK)
        return error_wrap(err, "data.schema: %s", config->schema);
    if (d->statistics.queries > 0)
        d->rho = statistics_rho(&d->statistics, s);
    return STATUS_OK;
}

void drawn_deinit(struct drawn *d)
{
    statistics_deinit(&d->statistics);
    secret_wipe(d->digest, sizeof d->digest);
    *d = (struct drawn){0};
}

/* --- what it is a draw of --- */

/* By what this side calls them, in that order: places are others in each alignment. */
static void add_rows(struct digest *d, const struct table *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        const size_t row = t->own.any ? t->own.order[i] : i;
        const char *id = table_own_id(t, row);

        digest_update(d, id, strlen(id) + 1);
        digest_update(d, t->x + row * t->cols, t->cols * sizeof *t->x);
    }
}

/* The schema is all that it says, budget and clips among it. */
static enum status take_digest(struct drawn *d, const struct schema *s, const struct table *t,
                               struct error *err)
{
    uint8_t numbers[24];
    struct digest digest;
    struct buf text;
    enum status status;

    buf_init(&text, SCHEMA_TEXT_MAX);
    status = schema_print(s, &text);
    le_put(numbers, d->statistics.numbers, 8);
    le_put(numbers + 8, t->rows, 8);
    le_put(numbers + 16, (uint64_t)d->statistics.sigma[STATISTICS_OF_MOMENTS], 8);
    digest_begin(&digest);
    digest_update(&digest, "vfl/statistics/1", sizeof "vfl/statistics/1");
    digest_update(&digest, numbers, sizeof numbers);
    digest_update(&digest, text.data, text.len);
    add_rows(&digest, t);
    digest_final(&digest, d->digest);
    digest_deinit(&digest);
    buf_deinit(&text);
    return status == STATUS_OK ? status
                               : error_set(err, status, "data.schema: %s", status_words(status));
}

/* The name tells nobody without the key what it is of. */
static enum status find_place(struct place *p, const struct drawn *d, struct error *err)
{
    static const char seal[] = "vfl/statistics/1 seal";
    const char *state = d->config->state;
    uint8_t key[LEDGER_KEY_BYTES], name[DIGEST_BYTES];
    char ledger[CONFIG_PATH_MAX], hex[2 * NAME_BYTES + 1];
    enum status s;

    snprintf(ledger, sizeof ledger, "%.*s/ledger.db", CONFIG_PATH_MAX - 16, state);
    s = ledger_key_load(key, ledger, d->config->state_key, err);
    if (s != STATUS_OK)
        return s;
    s = digest_hmac(name, key, sizeof key, d->digest, sizeof d->digest);
    if (s == STATUS_OK)
        s = digest_hmac(p->key, key, sizeof key, seal, sizeof seal);
    secret_wipe(key, sizeof key);
    digest_hex(hex, name, NAME_BYTES);
    snprintf(p->path, sizeof p->path, "%.*s/statistics/%s", CONFIG_PATH_MAX - 16, state, hex);
    return s == STATUS_OK ? s : error_set(err, s, "statistics: %s", status_words(s));
}

/* --- the file --- */

static bool exists(const char *path)
{
    struct stat is;

    return lstat(path, &is) == 0 || errno != ENOENT;
}

static enum status load(struct drawn *d, const struct place *p, struct error *err)
{
    const size_t bytes = HEAD_BYTES + d->statistics.numbers * NUMBER_BYTES;
    char label[SEALED_LABEL_MAX];
    const uint8_t *at;
    struct buf file;
    enum status s;

    buf_init(&file, bytes + SEALED_LABEL_MAX + DIGEST_BYTES); /* with what seals it */
    s = sealed_read(p->path, p->key, label, &file, err);
    if (s == STATUS_OK && (strcmp(label, LABEL) != 0 || file.len != bytes ||
                           memcmp(file.data, d->digest, sizeof d->digest) != 0))
        s = error_set(err, STATUS_CONFIG, "%s: no statistics of these rows and this schema",
                      p->path);
    if (s == STATUS_OK) {
        memcpy(d->draw, file.data + DIGEST_BYTES, sizeof d->draw);
        at = file.data + HEAD_BYTES;
        for (size_t i = 0; i < d->statistics.numbers; i++)
            d->statistics.number[i] = (int64_t)le_take(&at, NUMBER_BYTES);
    }
    secret_buf_deinit(&file);
    return s == STATUS_OK ? s : error_wrap(err, "statistics: dp");
}

static enum status save(const struct drawn *d, const struct place *p, struct error *err)
{
    uint8_t number[NUMBER_BYTES];
    struct buf file;
    enum status s;

    buf_init(&file, HEAD_BYTES + d->statistics.numbers * NUMBER_BYTES);
    s = buf_append(&file, d->digest, sizeof d->digest);
    if (s == STATUS_OK)
        s = buf_append(&file, d->draw, sizeof d->draw);
    for (size_t i = 0; s == STATUS_OK && i < d->statistics.numbers; i++) {
        le_put(number, (uint64_t)d->statistics.number[i], sizeof number);
        s = buf_append(&file, number, sizeof number);
    }
    if (s != STATUS_OK)
        error_set(err, s, "%s: %s", p->path, status_words(s));
    else
        s = sealed_write(p->path, p->key, LABEL, file.data, file.len, err);
    secret_buf_deinit(&file);
    return s;
}

/* --- the draw --- */

static enum status draw(struct drawn *d, const struct schema *s, const struct table *train,
                        struct error *err)
{
    struct rng rng = {0};
    enum status status = rng_init_system(&rng);

    if (status != STATUS_OK)
        return error_set(err, status, "statistics: %s", status_words(status));
    statistics_sum(&d->statistics, s, train);
    status = statistics_draw(&d->statistics, &rng, err);
    rng_fill(&rng, d->draw, sizeof d->draw);
    rng_deinit(&rng);
    return status;
}

/* The one that is there, or a new one.  looks: or none. */
static enum status find(struct drawn *d, const struct schema *s, const struct table *train,
                        bool looks, struct error *err)
{
    struct place p;
    enum status status = find_place(&p, d, err);

    if (status != STATUS_OK)
        return status;
    if (exists(p.path)) {
        status = load(d, &p, err);
    } else if (!looks) {
        status = draw(d, s, train, err);
        if (status == STATUS_OK)
            status = save(d, &p, err);
    }
    secret_wipe(p.key, sizeof p.key);
    return status;
}

/* One process at a time makes the key of the ledger, and draws. */
static enum status find_alone(struct drawn *d, const struct schema *s, const struct table *train,
                              struct error *err)
{
    char path[CONFIG_PATH_MAX];
    int lock;
    enum status status;

    snprintf(path, sizeof path, "%.*s/statistics", CONFIG_PATH_MAX - 16, d->config->state);
    status = folder_make(path, err);
    snprintf(path, sizeof path, "%.*s/lock", CONFIG_PATH_MAX - 16, d->config->state);
    if (status == STATUS_OK)
        status = file_lock(&lock, path, err);
    if (status != STATUS_OK)
        return status;
    status = find(d, s, train, false, err);
    file_unlock(lock);
    return status;
}

/* Without a key there is no draw, and who only looks makes none. */
static enum status look(struct drawn *d, const struct schema *s, const struct table *train,
                        struct error *err)
{
    char key[CONFIG_PATH_MAX];

    snprintf(key, sizeof key, "%.*s/ledger.key", CONFIG_PATH_MAX - 16, d->config->state);
    return d->config->state_key[0] != 0 || exists(key) ? find(d, s, train, true, err) : STATUS_OK;
}

/* Records, or persons, that have rows to train on. */
static uint64_t counted(const struct persons *persons, const struct table *train)
{
    uint64_t n = 0;

    if (!persons_named(persons))
        return train->rows;
    for (size_t i = 0; i < persons->group.n; i++)
        n += persons->train[i] > 0;
    return n;
}

enum status drawn_make(struct drawn *d, struct schema *s, const struct table *train,
                       const struct persons *persons, bool looks, struct error *err)
{
    const bool named = persons_named(persons);
    enum status status = STATUS_OK;

    if (d->statistics.queries > 0) {
        if (s->delta * (double)train->rows >= 1)
            return error_set(err, STATUS_CONFIG,
                             "data.schema: %s: budget.delta %g is not below one over %zu rows",
                             d->config->schema, s->delta, train->rows);
        d->entry = statistics_entry(&d->statistics, d->rho, named);
        d->entry.releases = counted(persons, train);
        status = statistics_spend(&d->statistics, d->rho,
                                  named && persons->most > 1 ? persons->most : 1, err);
        if (status != STATUS_OK)
            return error_wrap(err, "data.schema: %s", d->config->schema);
        status = take_digest(d, s, train, err);
        if (status == STATUS_OK)
            status = looks ? look(d, s, train, err) : find_alone(d, s, train, err);
    }
    if (status == STATUS_OK && statistics_settle(&d->statistics, s, train->rows) != STATUS_OK)
        status = error_set(err, STATUS_MEMORY, "statistics: no memory");
    return status;
}

enum status drawn_scale(const struct drawn *d, struct scale *out, const struct schema *s,
                        size_t rows, struct error *err)
{
    const enum status status = statistics_scale(&d->statistics, s, rows, out);

    return status == STATUS_OK ? status
                               : error_set(err, status, "data.scale: %s", status_words(status));
}
