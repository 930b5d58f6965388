/* ledgers.h -- small ledgers for the tests of this room; a helper that fails ends the test.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_PRIVACY_LEDGERS_H
#define COLONNADE_TESTS_PRIVACY_LEDGERS_H

#include "common/base/mem.h"
#include "common/privacy/ledger.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct account_entry PBM = {.kind = ACCOUNT_PBM,
                                         .trials = 16,
                                         .beta = 0.1,
                                         .coordinates = 16,
                                         .parties = 5,
                                         .colluders = 1};

static const uint8_t KEY[LEDGER_KEY_BYTES] = {1, 2, 3, 4, 5};

enum { ROWS_MAX = 2500 };

/* "r0", "r1", ...: ROWS_MAX reaches into a third chunk. */
static inline const char *const *row_ids(void)
{
    static char text[ROWS_MAX][16];
    static const char *ids[ROWS_MAX];

    for (int i = 0; i < ROWS_MAX; i++) {
        snprintf(text[i], sizeof text[i], "r%d", i);
        ids[i] = text[i];
    }
    return ids;
}

static inline struct ledger *open_at(const char *path)
{
    struct error err = {0};
    struct ledger *l;

    if (ledger_open(&l, path, KEY, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return l;
}

/* As its owner does who wants another one: the mark that there was one goes too. */
static inline void remove_ledger(const char *path)
{
    char mark[4096];

    (void)remove(path);
    snprintf(mark, sizeof mark, "%.*s.begun", (int)(strrchr(path, '.') - path), path);
    (void)remove(mark);
}

static inline uint32_t *bind_rows(struct ledger *l, size_t rows)
{
    struct error err = {0};
    uint32_t *slots;

    if (ledger_bind(l, &slots, NULL, row_ids(), rows, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return slots;
}

static inline void use(struct ledger *l, const struct account_entry *m)
{
    struct error err = {0};

    if (ledger_use(l, m, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* One round of a plan and data set whose digests have these last bytes. */
static inline struct ledger_block block_of_run(uint8_t plan, uint8_t data,
                                               enum ledger_purpose purpose, const uint32_t *slots,
                                               size_t n)
{
    static uint8_t digest[256][LEDGER_DIGEST_BYTES];

    digest[plan][31] = plan;
    digest[data][31] = data;
    return (struct ledger_block){.plan = digest[plan],
                                 .data = digest[data],
                                 .at_s = 1700000000,
                                 .purpose = purpose,
                                 .rounds = 1,
                                 .slots = slots,
                                 .n = n};
}

static inline struct ledger_block block(enum ledger_purpose purpose, const uint32_t *slots,
                                        size_t n)
{
    return block_of_run(1, 2, purpose, slots, n);
}

/* Within limits; 0: none. */
static inline enum status try_reserve(struct ledger *l, struct ledger_block b, uint64_t record_max,
                                      uint64_t total_max, struct error *err)
{
    return ledger_reserve(
        l, &b, &(struct ledger_limits){.record_max = record_max, .total_max = total_max}, err);
}

static inline enum status give_back(struct ledger *l, struct ledger_block b, struct error *err)
{
    return ledger_return(l, &b, err);
}

static inline void reserve(struct ledger *l, enum ledger_purpose purpose, const uint32_t *slots,
                           size_t n)
{
    struct error err = {0};

    if (try_reserve(l, block(purpose, slots, n), 0, 0, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static inline uint64_t total_of(const struct ledger *l)
{
    struct ledger_totals t;

    ledger_totals(l, &t);
    return t.releases[LEDGER_TRAIN] + t.releases[LEDGER_EVALUATE] + t.releases[LEDGER_PREDICT] +
           t.releases[LEDGER_CONTRIBUTE] + t.releases[LEDGER_ALIGN] + t.releases[LEDGER_STATISTICS];
}

static inline uint64_t most_of(const struct ledger *l)
{
    struct ledger_totals t;

    ledger_totals(l, &t);
    return t.participations_max;
}

/* A file of these bytes that is its owner's alone. */
static inline const char *private_file(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_write(name, bytes, n);

    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

static const uint8_t PEER[LEDGER_DIGEST_BYTES] = {1, 2, 3};
enum { PEER_SEEN = 0x1234567 };

/* A file with ROWS_MAX records: all released once for training, the first ten twice more for
 * evaluation; and the number of a peer. */
static inline const char *make_ledger(const char *name)
{
    const char *path = scratch_path(name);
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, ROWS_MAX);

    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, ROWS_MAX);
    reserve(l, LEDGER_EVALUATE, slots, 10);
    if (ledger_see(l, PEER, PEER_SEEN, NULL) != STATUS_OK)
        fail_msg("no memory");
    reserve(l, LEDGER_EVALUATE, slots, 10);
    mem_free(slots);
    ledger_close(l);
    return path;
}

#endif
