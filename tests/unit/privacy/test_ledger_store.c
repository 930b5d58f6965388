/* test_ledger_store.c -- what is charged is on the disk, what is refused is nowhere, and what is on
 * the disk is believed only when it is sound.
 *
 * Crashes are children that reserve and are killed without closing; a full disk is a limit on file
 * sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_store.h"

#include "common/base/file.h"
#include "common/privacy/ledger_inside.h"
#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/sealed_ledger.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_refused(const char *path, const char *text)
{
    struct error err = {0};
    struct ledger *l;

    assert_int_equal(ledger_open(&l, path, KEY, &err), STATUS_IO);
    assert_null(l);
    if (strstr(err.text, text) == NULL || strstr(err.text, path) == NULL)
        fail_msg("'%s' does not say '%s' of %s", err.text, text, path);
    for (const char *c = err.text; *c != 0; c++)
        assert_in_range(*c, 0x20, 0x7e);
}

/* --- crashes and disks ------------------------------------------------------------------- */

/* Runs `act` in a child that dies by `sig` right after it, without closing anything. */
static void in_dying_child(void (*act)(const char *path), const char *path, int sig)
{
    pid_t child = fork();
    int how;

    assert_true(child >= 0);
    if (child == 0) {
        act(path);
        raise(sig);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == sig);
}

static void reserve_all(const char *path)
{
    struct error err = {0};
    struct ledger *l;
    uint32_t *slots;

    if (ledger_open(&l, path, KEY, &err) != STATUS_OK ||
        ledger_bind(l, &slots, NULL, row_ids(), ROWS_MAX, &err) != STATUS_OK ||
        ledger_use(l, &PBM, &err) != STATUS_OK ||
        try_reserve(l, block(LEDGER_TRAIN, slots, ROWS_MAX), 0, 0, &err) != STATUS_OK)
        _exit(2);
}

static void append_without_commit(const char *path)
{
    struct error err = {0};
    struct ledger *l;

    if (ledger_open(&l, path, KEY, &err) != STATUS_OK ||
        ledger_store_begin(&l->store, &err) != STATUS_OK ||
        ledger_store_append(&l->store, &(struct ledger_record){.text = "set 7"}, &err) != STATUS_OK)
        _exit(2);
}

static void test_a_reservation_survives_a_kill_right_after_it(void **state)
{
    const char *path = scratch_path("killed.db");
    struct ledger *l;

    (void)state;
    in_dying_child(reserve_all, path, SIGKILL);
    l = open_at(path);
    assert_int_equal(total_of(l), ROWS_MAX);
    ledger_close(l);
    in_dying_child(reserve_all, path,
                   SIGKILL); /* and again, from a file that has a log to replay */
    in_dying_child(reserve_all, path, SIGKILL);
    l = open_at(path);
    assert_int_equal(total_of(l), 3 * ROWS_MAX);
    assert_int_equal(most_of(l), 3);
    ledger_close(l);
}

static void test_a_kill_before_the_commit_leaves_the_old_counts(void **state)
{
    const char *path = make_ledger("uncommitted.db");
    struct ledger *l;

    (void)state;
    in_dying_child(append_without_commit, path, SIGKILL);
    l = open_at(path);
    assert_int_equal(total_of(l), ROWS_MAX + 20);
    assert_int_equal(most_of(l), 3);
    ledger_close(l);
}

/* The C library's own are hidden by these, for SQLite too. */
static unsigned syncs;

int fsync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

static void test_each_reservation_is_synced_once_before_it_returns(void **state)
{
    struct ledger *l = open_at(make_ledger("synced.db"));
    uint32_t *slots = bind_rows(l, ROWS_MAX);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 1); /* the first one starts a new log */
    for (unsigned i = 0; i < 5; i++) {
        syncs = 0;
        reserve(l, LEDGER_TRAIN, slots, ROWS_MAX);
        assert_int_equal(syncs, 1);
    }
    syncs = 0;
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, 1), 1, 0, &err), STATUS_BUDGET);
    assert_int_equal(syncs, 0);
    mem_free(slots);
    ledger_close(l);
}

/* A frame of the write-ahead log is a page of 4096 bytes and 24 more; one page is that of the head,
 * one that of the records, and now and then a new one is begun. */
static void test_a_reservation_writes_two_pages_whatever_it_releases(void **state)
{
    const char *path = make_ledger("pages.db");
    struct ledger *l = open_at(path);
    struct ledger_block b = block(LEDGER_TRAIN, NULL, ROWS_MAX);
    uint32_t *slots = NULL;
    struct stat before, after;
    struct error err = {0};
    char log[256];

    (void)state;
    snprintf(log, sizeof log, "%s-wal", path);
    use(l, &PBM);
    assert_int_equal(ledger_bind(l, &slots, &b.set, row_ids(), ROWS_MAX, &err), STATUS_OK);
    b.scheduled = true;
    b.stretch = (struct ledger_stretch){
        .law = {.kind = LEDGER_PLACES, .rows = ROWS_MAX, .segments = 1}, .count = ROWS_MAX};
    assert_int_equal(ledger_reserve(l, &b, NULL, &err), STATUS_OK);
    assert_int_equal(stat(log, &before), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(ledger_reserve(l, &b, NULL, &err), STATUS_OK);
    assert_int_equal(stat(log, &after), 0);
    assert_in_range(after.st_size - before.st_size, 1, (10 * 2 + 2) * (4096 + 24));
    mem_free(slots);
    ledger_close(l);
}

/* Files may grow to `bytes`; beyond, writes fail as on a full disk. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_full_disk_charges_nothing_and_is_survived(void **state)
{
    const char *path = make_ledger("full.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, ROWS_MAX), *more = NULL;
    static const char *const unknown[] = {"new"};
    struct account_entry other = PBM;
    struct error err = {0};

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    use(l, &PBM);
    limit_files(1024);
    assert_int_equal(try_reserve(l, block(LEDGER_TRAIN, slots, ROWS_MAX), 0, 0, &err), STATUS_IO);
    assert_int_equal(total_of(l), ROWS_MAX + 20);
    assert_int_equal(most_of(l), 3);
    assert_int_equal(give_back(l, block(LEDGER_EVALUATE, slots, 10), &err), STATUS_IO);
    assert_int_equal(total_of(l), ROWS_MAX + 20);
    assert_int_equal(most_of(l), 3);
    assert_int_equal(ledger_bind(l, &more, NULL, unknown, 1, &err), STATUS_IO);
    assert_null(more);
    other.parties = 9;
    assert_int_equal(ledger_use(l, &other, &err), STATUS_IO);
    limit_files(RLIM_INFINITY);
    signal(SIGXFSZ, SIG_DFL);

    assert_int_equal(ledger_bind(l, &more, NULL, unknown, 1, &err), STATUS_OK);
    reserve(l, LEDGER_PREDICT, more, 1); /* by PBM still */
    mem_free(more);
    mem_free(slots);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(total_of(l), ROWS_MAX + 21);
    ledger_close(l);
}

static void test_a_second_opener_is_refused(void **state)
{
    const char *path = make_ledger("shared.db");
    struct ledger *l = open_at(path);
    pid_t child;
    int how;

    (void)state;
    assert_refused(path, "in use");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error err = {0};
        struct ledger *mine;
        bool refused = ledger_open(&mine, path, KEY, &err) == STATUS_IO &&
                       strstr(err.text, "in use by another process") != NULL;

        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    ledger_close(l);
    l = open_at(path); /* and let go of at the end */
    ledger_close(l);
}

/* --- files that are not a sound ledger --------------------------------------------------- */

static void read_whole(const char *path, struct buf *out)
{
    struct error err = {0};

    buf_init(out, 1 << 24);
    if (file_read(path, out, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void test_other_files_are_refused_untouched(void **state)
{
    static const char text[] = "id,label\n1,0\n2,1\n";
    const char *csv = private_file("rows.csv", text, strlen(text));
    struct buf after;

    (void)state;
    assert_refused(csv, "not a ledger");
    read_whole(csv, &after);
    assert_int_equal(after.len, strlen(text));
    assert_memory_equal(after.data, text, after.len);
    buf_deinit(&after);
    assert_refused(scratch_dir(), "");
    assert_refused("/nonexistent/ledger.db", "No such file");
}

static void test_another_database_is_refused_untouched(void **state)
{
    const char *path = scratch_path("foreign.db");
    struct buf before, after;

    (void)state;
    sealed_run(path, "CREATE TABLE accounts (id, balance); INSERT INTO accounts VALUES (1, 2)");
    assert_int_equal(chmod(path, 0600), 0);
    read_whole(path, &before);
    assert_refused(path, "not a ledger");
    read_whole(path, &after);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    buf_deinit(&before);
    buf_deinit(&after);
}

static void test_other_versions_are_refused(void **state)
{
    const char *path = make_ledger("version.db");

    (void)state;
    sealed_run(path, "PRAGMA user_version = 5");
    assert_refused(path, "written by a later version of this program");
    for (int old = 1; old < 4; old++) {
        char sql[64];

        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", old);
        sealed_run(path, sql);
        assert_refused(path, "written by an earlier version of this program");
        assert_refused(path, "move it away"); /* and what to do */
    }
    sealed_run(path, "PRAGMA user_version = 0");
    assert_refused(path, "no version");
    sealed_run(path, "PRAGMA user_version = -1");
    assert_refused(path, "no version");
    sealed_run(path, "PRAGMA user_version = 4");
    ledger_close(open_at(path));
}

/* SQLite quotes the place where it stopped reading. */
static void test_what_a_damaged_file_says_is_made_printable(void **state)
{
    const char *path = make_ledger("words.db");

    (void)state;
    sealed_run(path,
               "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE ' || "
               "'head (a' || char(27) || ')' WHERE name = 'head'");
    assert_refused(path, "token: \"?");
}

/* The ledger as it was, or refused: what a flipped bit may never do is give budget back.  Returns
 * whether it could be opened. */
static bool assert_unchanged_or_refused(const char *path, size_t offset)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    struct error err = {0};
    struct ledger *l;
    uint32_t *slots;

    if (ledger_open(&l, path, KEY, &err) != STATUS_OK) {
        assert_int_equal(err.status, STATUS_IO);
        return false;
    }
    if (total_of(l) != ROWS_MAX + 20 || most_of(l) != 3 || ledger_entries(l, entries) != 1 ||
        entries[0].beta != 0.1 || entries[0].trials != 16 || entries[0].parties != 5 ||
        entries[0].coordinates != 16 || entries[0].colluders != 1 || entries[0].clear)
        fail_msg("damage at byte %zu changed the accounts unnoticed", offset);
    if (ledger_sequence(l) != 3 || ledger_seen(l, PEER) != PEER_SEEN ||
        entries[0].bottom != ACCOUNT_RAW || entries[0].steps != 0)
        fail_msg("damage at byte %zu changed numbers unnoticed", offset);
    slots = bind_rows(l, ROWS_MAX);
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        if (slots[i] != i || ledger_spent(l, i) != (i < 10 ? 3 : 1))
            fail_msg("damage at byte %zu moved a record unnoticed", offset);
    mem_free(slots);
    ledger_close(l);
    return true;
}

static void test_a_flipped_bit_is_refused_or_harmless(void **state)
{
    const char *whole = make_ledger("whole.db");
    struct buf bytes;
    size_t refused = 0;

    (void)state;
    read_whole(whole, &bytes);
    /* The file header byte by byte, the rest in steps that share no factor with its layout. */
    for (size_t offset = 0; offset < bytes.len; offset += offset < 100 ? 1 : 31) {
        const char *path;

        bytes.data[offset] ^= (uint8_t)(1U << (offset % 8));
        path = private_file("flipped.db", bytes.data, bytes.len);
        refused += !assert_unchanged_or_refused(path, offset);
        bytes.data[offset] ^= (uint8_t)(1U << (offset % 8));
    }
    assert_true(refused > 1000);
    buf_deinit(&bytes);
}

/* SQLite reads zeros where a page was cut off, so a cut through zeros is harmless.  (Cut to nothing
 * it is a new ledger, as after deleting it; that takes a witness elsewhere to see.) */
static void test_a_cut_file_is_refused_or_harmless(void **state)
{
    const char *whole = make_ledger("uncut.db");
    size_t refused = 0;
    struct buf bytes;

    (void)state;
    read_whole(whole, &bytes);
    for (size_t n = 100; n < bytes.len; n += 331)
        refused += !assert_unchanged_or_refused(private_file("cut.db", bytes.data, n), n);
    assert_true(refused > 100);
    buf_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reservation_survives_a_kill_right_after_it),
        cmocka_unit_test(test_a_kill_before_the_commit_leaves_the_old_counts),
        cmocka_unit_test(test_each_reservation_is_synced_once_before_it_returns),
        cmocka_unit_test(test_a_reservation_writes_two_pages_whatever_it_releases),
        cmocka_unit_test(test_a_full_disk_charges_nothing_and_is_survived),
        cmocka_unit_test(test_a_second_opener_is_refused),
        cmocka_unit_test(test_other_files_are_refused_untouched),
        cmocka_unit_test(test_another_database_is_refused_untouched),
        cmocka_unit_test(test_other_versions_are_refused),
        cmocka_unit_test(test_what_a_damaged_file_says_is_made_printable),
        cmocka_unit_test(test_a_flipped_bit_is_refused_or_harmless),
        cmocka_unit_test(test_a_cut_file_is_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
