/* fuzz_ledger.c -- a ledger's file changed anywhere, any bytes instead of it, or any records in it
 * by somebody who has the key: refused, or what records have spent is told as before.
 *
 * Input: byte 0: 0, the rest is the file; 2, records that follow those of a sound ledger, sealed:
 * lines of text, each with the number of bytes behind it in the first byte; else places (3 bytes)
 * and what to add there.
 *
 * Laws: without the key, changed bytes are noticed, or change nothing that is told, however many
 * they are; whatever is accepted takes a reservation, and has grown by it when it is opened again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/privacy/ledger.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/unit/privacy/sealed_ledger.h"

#include <fcntl.h>

enum { IDS = 6, FILE_MAX = 1 << 17, CHANGES_MAX = 4 };

static const char *const ids[IDS] = {"1", "2", "3", "44", "alice", "bob"};
static const uint8_t peer[LEDGER_DIGEST_BYTES] = {7}, digest[LEDGER_DIGEST_BYTES] = {9},
                     key[LEDGER_KEY_BYTES] = {11};

/* What a ledger tells. */
struct told {
    struct ledger_totals totals;
    uint32_t spent[IDS];
    uint64_t sequence, seen;
    size_t entries;
    struct account_entry entry[ACCOUNT_MECHANISMS_MAX];
};

/* A file, and what it tells. */
struct sample {
    uint8_t file[FILE_MAX];
    size_t n;
    struct told told;
};

static struct sample present;

static const char *path(void)
{
    static char p[512];

    snprintf(p, sizeof p, "%s/ledger", scratch_dir());
    return p;
}

static const struct account_entry *mechanism(void)
{
    static const struct account_entry e = {.kind = ACCOUNT_PBM,
                                           .trials = 16,
                                           .beta = 0.25,
                                           .clip = 1,
                                           .coordinates = 4,
                                           .parties = 3,
                                           .colluders = 1};
    return &e;
}

static enum status reserve(struct ledger *l, const uint32_t *slots, size_t n, struct error *err)
{
    const struct ledger_block b = {.plan = digest,
                                   .data = digest,
                                   .at_s = 1000000000,
                                   .purpose = LEDGER_TRAIN,
                                   .rounds = 2,
                                   .slots = slots,
                                   .n = n};
    enum status s = ledger_use(l, mechanism(), err);

    return s == STATUS_OK ? ledger_reserve(l, &b, NULL, err) : s;
}

/* Binds the ids, which a changed file may have as others. */
static enum status tell(struct ledger *l, struct told *t, uint32_t **slots, struct error *err)
{
    enum status s = ledger_bind(l, slots, NULL, ids, IDS, err);

    memset(t, 0, sizeof *t);
    if (s != STATUS_OK)
        return s;
    ledger_totals(l, &t->totals);
    for (size_t i = 0; i < IDS; i++)
        t->spent[i] = ledger_spent(l, (*slots)[i]);
    t->sequence = ledger_sequence(l);
    t->seen = ledger_seen(l, peer);
    t->entries = ledger_entries(l, t->entry);
    return STATUS_OK;
}

static bool same(const struct told *a, const struct told *b)
{
    bool yes = a->sequence == b->sequence && a->seen == b->seen && a->entries == b->entries &&
               a->totals.records == b->totals.records &&
               a->totals.participations_max == b->totals.participations_max &&
               memcmp(a->totals.releases, b->totals.releases, sizeof a->totals.releases) == 0 &&
               memcmp(a->spent, b->spent, sizeof a->spent) == 0;

    for (size_t i = 0; yes && i < a->entries; i++) {
        const struct account_entry *x = &a->entry[i], *y = &b->entry[i];

        yes = x->kind == y->kind && x->trials == y->trials && x->beta == y->beta &&
              x->clip == y->clip && x->clear == y->clear && x->concat == y->concat &&
              x->bottom == y->bottom && x->coordinates == y->coordinates &&
              x->parties == y->parties && x->colluders == y->colluders &&
              x->releases == y->releases && x->participations_max == y->participations_max;
    }
    return yes;
}

static void forget(void)
{
    char more[600];

    unlink(path());
    snprintf(more, sizeof more, "%s-wal", path());
    unlink(more);
    snprintf(more, sizeof more, "%s-shm", path());
    unlink(more);
    snprintf(more, sizeof more, "%s.begun", path()); /* of a ledger without an ending of its name */
    unlink(more);
}

static void put_file(const uint8_t *bytes, size_t n)
{
    int fd;

    forget();
    fd = open(path(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static void keep_file(struct sample *s)
{
    const int fd = open(path(), O_RDONLY | O_CLOEXEC);
    ssize_t n;

    CHECK(fd >= 0);
    n = read(fd, s->file, sizeof s->file);
    CHECK(n > 0 && n < FILE_MAX);
    s->n = (size_t)n;
    close(fd);
}

static void make(void)
{
    struct ledger *l;
    uint32_t *slots;

    CHECK(ledger_open(&l, path(), key, NULL) == STATUS_OK);
    CHECK(ledger_bind(l, &slots, NULL, ids, IDS, NULL) == STATUS_OK);
    CHECK(reserve(l, slots, IDS, NULL) == STATUS_OK);
    CHECK(reserve(l, slots, 3, NULL) == STATUS_OK);
    CHECK(ledger_see(l, peer, 77, NULL) == STATUS_OK && ledger_keep(l, NULL) == STATUS_OK);
    mem_free(slots);
    CHECK(tell(l, &present.told, &slots, NULL) == STATUS_OK);
    mem_free(slots);
    ledger_close(l);
    keep_file(&present);
}

/* Spends once more, and says so the next time. */
static void check_grows(struct ledger *l, const struct told *before, const uint32_t *slots)
{
    struct error err = {0};
    uint32_t *again;
    struct told after;

    if (reserve(l, slots, IDS, &err) != STATUS_OK) {
        feed_check_words(err.text);
        ledger_close(l);
        return;
    }
    ledger_close(l);
    CHECK(ledger_open(&l, path(), key, NULL) == STATUS_OK);
    CHECK(tell(l, &after, &again, NULL) == STATUS_OK);
    CHECK(after.sequence > before->sequence && after.seen == before->seen);
    for (size_t i = 0; i < IDS; i++)
        CHECK(after.spent[i] == before->spent[i] + 1);
    mem_free(again);
    ledger_close(l);
}

/* whole: it says what this sample does, or nothing; NULL: whatever it likes. */
static void try_file(const struct sample *whole)
{
    struct error err = {0};
    uint32_t *slots = NULL;
    struct ledger *l;
    struct told t;
    enum status s = ledger_open(&l, path(), key, &err);

    if (s != STATUS_OK) {
        /* Records sealed with the key may ask for more memory than there is. */
        CHECK((s == STATUS_IO || s == STATUS_MEMORY) && err.status == s);
        feed_check_words(err.text);
        return;
    }
    s = tell(l, &t, &slots, &err);
    if (s == STATUS_OK) {
        CHECK(whole == NULL || same(&t, &whole->told));
        check_grows(l, &t, slots);
    } else {
        feed_check_words(err.text);
        ledger_close(l);
    }
    mem_free(slots);
}

/* Records behind those of the sample, or instead of the last few. */
static void add_records(struct feed *f)
{
    sqlite3_stmt *put = NULL;
    sqlite3 *db = NULL;
    uint64_t number = present.told.sequence;

    CHECK(sqlite3_open(path(), &db) == SQLITE_OK);
    if (feed_byte(f) % 2 == 0)
        CHECK(sqlite3_exec(db, "DELETE FROM log WHERE serial > 1", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db,
                             "INSERT INTO log VALUES ((SELECT max(serial) + 1 FROM log), ?, ?, "
                             "zeroblob(32))",
                             -1, &put, NULL) == SQLITE_OK);
    number = feed_byte(f);
    while (f->left > 0) {
        const uint8_t bytes = feed_byte(f);
        const uint8_t *line = memchr(f->at, '\n', f->left);
        const size_t text = line == NULL ? f->left : (size_t)(line - f->at);
        uint8_t behind[256];

        CHECK(sqlite3_bind_text(put, 1, (const char *)f->at, (int)text, SQLITE_TRANSIENT) ==
              SQLITE_OK);
        f->at += text + (line != NULL);
        f->left -= text + (line != NULL);
        feed_bytes(f, behind, bytes);
        CHECK(sqlite3_bind_blob(put, 2, behind, bytes, SQLITE_TRANSIENT) == SQLITE_OK);
        CHECK(sqlite3_step(put) == SQLITE_DONE && sqlite3_reset(put) == SQLITE_OK);
    }
    sqlite3_finalize(put);
    sqlite3_close(db);
    sealed_anew(path(), key, number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_MAX];
    struct feed f = {data, size};
    uint8_t kind;

    if (present.n == 0)
        make();
    kind = feed_byte(&f);
    if (kind == 0) {
        put_file(f.at, f.left);
        try_file(NULL);
        forget();
        return 0;
    }
    if (kind == 2) {
        put_file(present.file, present.n);
        add_records(&f);
        try_file(NULL);
        forget();
        return 0;
    }
    memcpy(file, present.file, present.n);
    for (uint32_t changes = 0; changes < CHANGES_MAX && f.left > 0; changes++) {
        const size_t at = feed_number(&f, 3) % present.n;

        file[at] = (uint8_t)(file[at] + feed_byte(&f));
    }
    put_file(file, present.n);
    try_file(&present);
    forget();
    return 0;
}
