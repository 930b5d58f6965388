/* fuzz_ledger.c -- a ledger's file changed anywhere, or any bytes instead of it: refused, or what
 * records have spent is told as before.
 *
 * Input: byte 0: 0, the rest is the file; else places (3 bytes) and what to add there: 2, in a file
 * of the first version.
 *
 * Laws: one byte changed is noticed, or changes nothing that is told; whatever is accepted takes a
 * reservation, and has grown by it when it is opened again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/privacy/ledger.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/unit/privacy/old_ledger.h"

#include <fcntl.h>

enum { IDS = 6, FILE_MAX = 1 << 17, CHANGES_MAX = 4 };

static const char *const ids[IDS] = {"1", "2", "3", "44", "alice", "bob"};
static const uint8_t peer[LEDGER_DIGEST_BYTES] = {7}, digest[LEDGER_DIGEST_BYTES] = {9};

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

static struct sample present, old;

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

    return s == STATUS_OK ? ledger_reserve(l, &b, 0, 0, err) : s;
}

/* Binds the ids, which a changed file may have as others. */
static enum status tell(struct ledger *l, struct told *t, uint32_t **slots, struct error *err)
{
    enum status s = ledger_bind(l, slots, ids, IDS, err);

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

static void make_old(void)
{
    struct ledger *l;
    uint32_t *slots;

    forget();
    old_run(path(), OLD_TABLES);
    old_run(path(), "INSERT INTO records VALUES (0, '1'), (1, '2'), (2, '3'), (3, '44'), "
                    "(4, 'alice'), (5, 'bob')");
    old_run(path(), "INSERT INTO mechanisms VALUES (0, 'pbm', 16, 0.1, 0, 0, 0, 0, 16, 5, 1), "
                    "(1, 'gaussian', 0, 0, 2.5, 1, 1, 0, 16, 5, 2)");
    old_chunk(path(), 0, 0, 0, 0, IDS);
    old_chunk(path(), 0, 1, 0, 2, 3);
    old_chunk(path(), 1, 0, 0, 1, 1);
    keep_file(&old);
    CHECK(ledger_open(&l, path(), NULL) == STATUS_OK);
    CHECK(tell(l, &old.told, &slots, NULL) == STATUS_OK);
    mem_free(slots);
    ledger_close(l);
}

static void make(void)
{
    struct ledger *l;
    uint32_t *slots;

    CHECK(ledger_open(&l, path(), NULL) == STATUS_OK);
    CHECK(ledger_bind(l, &slots, ids, IDS, NULL) == STATUS_OK);
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
    CHECK(ledger_open(&l, path(), NULL) == STATUS_OK);
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
    enum status s = ledger_open(&l, path(), &err);

    if (s != STATUS_OK) {
        CHECK(s == STATUS_IO && err.status == s);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_MAX];
    struct feed f = {data, size};
    const struct sample *from;
    uint32_t changes = 0;
    uint8_t kind;

    if (present.n == 0) {
        make();
        make_old();
    }
    kind = feed_byte(&f);
    if (kind == 0) {
        put_file(f.at, f.left);
        try_file(NULL);
        forget();
        return 0;
    }
    from = kind == 2 ? &old : &present;
    memcpy(file, from->file, from->n);
    for (; changes < CHANGES_MAX && f.left > 0; changes++) {
        const size_t at = feed_number(&f, 3) % from->n;

        file[at] = (uint8_t)(file[at] + feed_byte(&f));
    }
    put_file(file, from->n);
    try_file(changes <= 1 ? from : NULL);
    forget();
    return 0;
}
