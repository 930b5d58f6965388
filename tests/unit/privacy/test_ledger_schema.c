/* test_ledger_schema.c -- a file that somebody without the key has changed, in whatever way, is
 * refused; and one that others could have changed is not even read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_schema.h"

#include "common/base/file.h"
#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/sealed_ledger.h"

#include <fcntl.h>
#include <unistd.h>

static void expect_refused(const char *path, const char *text, const char *after)
{
    struct error err = {0};
    struct ledger *l;
    enum status s = ledger_open(&l, path, KEY, &err);

    if (s != STATUS_IO || l != NULL || strstr(err.text, text) == NULL)
        fail_msg("after %s: status %d, '%s' does not say '%s'", after, (int)s, err.text, text);
}

/* --- contents --- */

static const char *const edits[] = {
    "DELETE FROM log",
    "DELETE FROM log WHERE serial = 1",
    "DELETE FROM log WHERE serial = 4",
    "DELETE FROM log WHERE serial = (SELECT max(serial) FROM log)",
    "DELETE FROM log WHERE text LIKE 'pay %'",
    "INSERT INTO log SELECT (SELECT max(serial) + 1 FROM log), text, bytes, mac FROM log "
    "WHERE serial = 6",
    "INSERT INTO log SELECT (SELECT max(serial) + 1 FROM log), text, bytes, mac FROM log "
    "WHERE serial = 2; UPDATE head SET serial = serial + 1",
    "UPDATE log SET serial = -serial; UPDATE log SET serial = 1 - serial",
    "UPDATE log SET serial = 1000 WHERE serial = 5; UPDATE log SET serial = 5 WHERE serial = 6; "
    "UPDATE log SET serial = 6 WHERE serial = 1000",
    "UPDATE log SET text = 'ids 0' WHERE serial = 1",
    "UPDATE log SET text = text || ' '",
    "UPDATE log SET text = text || char(0) WHERE serial = 5",
    "UPDATE log SET text = replace(text, 'pay', 'back') WHERE serial = 6",
    "UPDATE log SET text = replace(text, ' 2500 ', ' 0 ') WHERE text LIKE 'pay%'",
    "UPDATE log SET bytes = zeroblob(length(bytes))",
    "UPDATE log SET bytes = x'' WHERE serial = 2",
    "UPDATE log SET mac = zeroblob(32) WHERE serial = 3",
    "UPDATE log SET mac = zeroblob(31)",
    "UPDATE log SET mac = x''",
    "UPDATE log SET mac = (SELECT mac FROM log WHERE serial = 2) WHERE serial = 3",
    "DELETE FROM head",
    "UPDATE head SET one = 2",
    "INSERT INTO head SELECT 2, serial, number, mac FROM head",
    "UPDATE head SET serial = serial - 1",
    "UPDATE head SET number = number - 1",
    "UPDATE head SET number = number + 1",
    "UPDATE head SET mac = zeroblob(32)",
    "UPDATE head SET mac = (SELECT mac FROM log ORDER BY serial DESC LIMIT 1)",
    "UPDATE head SET serial = 5, number = 0; DELETE FROM log WHERE serial > 5",
};

static void test_each_edit_without_the_key_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const char *path = make_ledger("edited.db");

        sealed_run(path, edits[i]);
        expect_refused(path, "damaged", edits[i]);
        remove_ledger(path);
    }
}

/* Every column of every row, one at a time. */
static void test_each_value_that_is_changed_is_noticed(void **state)
{
    static const char *const columns[] = {"log.text",    "log.bytes",   "log.mac",
                                          "head.serial", "head.number", "head.mac"};
    static const char *const changes[] = {"text || '1'",    "CAST(bytes || x'01' AS BLOB)",
                                          "randomblob(32)", "serial + 1",
                                          "number + 1",     "randomblob(32)"};
    const uint64_t rows = sealed_number(make_ledger("values.db"), "SELECT max(serial) FROM log");

    (void)state;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const bool log = columns[c][0] == 'l';
        const char *name = strchr(columns[c], '.') + 1;

        for (uint64_t row = 1; row <= (log ? rows : 1); row++) {
            const char *path = make_ledger("value.db");
            char sql[256];

            snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s WHERE %s = %llu", log ? "log" : "head",
                     name, changes[c], log ? "serial" : "one", (unsigned long long)row);
            sealed_run(path, sql);
            expect_refused(path, "damaged", sql);
            remove_ledger(path);
        }
    }
}

static void take_head(const char *path, uint8_t mac[32])
{
    sqlite3_stmt *get = NULL;
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT mac FROM head", -1, &get, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    memcpy(mac, sqlite3_column_blob(get, 0), 32);
    sqlite3_finalize(get);
    sqlite3_close(db);
}

/* Put back whole, record by record and with the head of that time: it is what it was.  The others
 * remember, by the number (party/train/witness.c). */
static void test_an_older_state_put_back_whole_is_an_older_ledger(void **state)
{
    const char *path = make_ledger("whole.db");
    const uint64_t serial = sealed_number(path, "SELECT serial FROM head"),
                   number = sealed_number(path, "SELECT number FROM head");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, ROWS_MAX);
    char sql[256], hex[65];
    uint8_t mac[32];

    (void)state;
    ledger_close(l);
    take_head(path, mac);
    digest_hex(hex, mac, sizeof mac);
    l = open_at(path);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, 100);
    assert_int_equal(ledger_sequence(l), number + 1);
    ledger_close(l);
    snprintf(sql, sizeof sql, "DELETE FROM log WHERE serial > %llu", (unsigned long long)serial);
    sealed_run(path, sql);
    expect_refused(path, "damaged", sql); /* with the head of a later time */
    snprintf(sql, sizeof sql, "UPDATE head SET serial = %llu, number = %llu, mac = x'%s'",
             (unsigned long long)serial, (unsigned long long)number, hex);
    sealed_run(path, sql);
    l = open_at(path);
    assert_int_equal(ledger_sequence(l), number);
    mem_free(slots);
    ledger_close(l);
}

/* --- what else is in the file --- */

static void test_anything_but_the_two_tables_is_refused(void **state)
{
    static const char *const sql[] = {
        "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log WHERE serial > 5; END",
        "CREATE TRIGGER t AFTER UPDATE ON head BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT * FROM log",
        "CREATE INDEX i ON log (text)",
        "CREATE TABLE more (a)",
        "CREATE TABLE sums (a INTEGER PRIMARY KEY AUTOINCREMENT)",
        "ANALYZE",
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "ALTER TABLE log ADD COLUMN name TEXT",
        "ALTER TABLE head RENAME COLUMN number TO numbers",
        "ALTER TABLE head RENAME TO heads",
        "DROP TABLE head",
        "DROP TABLE log",
        "DROP TABLE log; CREATE VIEW log AS SELECT 1 AS serial, '' AS text, x'' AS bytes, x'' AS "
        "mac",
        "CREATE TABLE copy AS SELECT * FROM head; DROP TABLE head; CREATE TABLE head (one INTEGER "
        "PRIMARY KEY, serial INTEGER NOT NULL, number INTEGER NOT NULL, mac BLOB NOT NULL); "
        "INSERT INTO head SELECT * FROM copy; DROP TABLE copy",
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', "
        "' STRICT ') WHERE name = 'log'",
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET tbl_name = 'head' WHERE name = 'log'",
    };

    (void)state;
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        const char *path = make_ledger("more.db");

        sealed_run(path, sql[i]);
        expect_refused(path, "damaged", sql[i]);
        remove_ledger(path);
    }
}

/* What is left of one of no byte, of one without tables, of none. */
static void test_a_ledger_that_was_lost_is_not_begun_again(void **state)
{
    static const char *const none =
        "DROP TABLE log; DROP TABLE head; PRAGMA application_id=0; PRAGMA user_version=0";

    (void)state;
    for (int how = 0; how < 3; how++) {
        const char *path = make_ledger("lost.db");

        if (how == 0)
            assert_int_equal(truncate(path, 0), 0);
        else if (how == 1)
            sealed_run(path, none);
        else
            assert_int_equal(unlink(path), 0);
        expect_refused(path, "lost or emptied", "once");
        expect_refused(path, "only to begin another on purpose, remove", "and again");
        remove_ledger(path);
        ledger_close(open_at(path)); /* on purpose */
        remove_ledger(path);
    }
}

/* Killed between the first commit and the mark, or made by a version that made none. */
static void test_a_ledger_without_a_mark_gets_one(void **state)
{
    const char *path = make_ledger("unmarked.db");

    (void)state;
    assert_int_equal(unlink(scratch_path("unmarked.begun")), 0);
    ledger_close(open_at(path));
    assert_int_equal(access(scratch_path("unmarked.begun"), F_OK), 0);
    private_file("killed.db", "", 0); /* killed before the first commit: nothing was begun */
    ledger_close(open_at(scratch_path("killed.db")));
}

/* What passed before: a trigger that gives all back, and both accounts zeroed at once. */
static void test_a_trigger_that_zeroes_is_refused_before_it_can_run(void **state)
{
    const char *path = make_ledger("trigger.db");
    struct buf before, after;
    struct error err = {0};

    (void)state;
    sealed_run(path, "CREATE TRIGGER zero AFTER INSERT ON log BEGIN "
                     "UPDATE log SET text = replace(text, ' 2500 ', ' 0 '); END");
    buf_init(&before, 1 << 24);
    buf_init(&after, 1 << 24);
    assert_int_equal(file_read(path, &before, &err), STATUS_OK);
    expect_refused(path, "something else than a ledger's two tables", "a trigger");
    assert_int_equal(file_read(path, &after, &err), STATUS_OK);
    assert_int_equal(before.len, after.len); /* and untouched */
    assert_memory_equal(before.data, after.data, before.len);
    buf_deinit(&before);
    buf_deinit(&after);
}

/* --- whose file it is --- */

static void test_a_file_that_others_may_use_is_refused(void **state)
{
    static const mode_t modes[] = {0666, 0640, 0604, 0660, 0602, 0601, 0610, 0644};
    const char *path = make_ledger("mode.db");
    struct stat is;

    (void)state;
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600); /* as it is made */
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_refused(path, "others than its owner may use it", "a mode");
    }
    assert_int_equal(chmod(path, 0600), 0);
    ledger_close(open_at(path));
}

static void test_a_log_that_others_may_use_is_refused(void **state)
{
    const char *path = make_ledger("beside.db"), *log = scratch_path("beside.db-wal");

    (void)state;
    assert_int_equal(chmod(scratch_write("beside.db-wal", "", 0), 0666), 0);
    expect_refused(path, "others than its owner may use it", "a log of mode 666");
    assert_int_equal(unlink(log), 0);
    assert_int_equal(symlink("/etc/passwd", log), 0);
    expect_refused(path, "not a regular file", "a log that is a link");
    assert_int_equal(unlink(log), 0);
    ledger_close(open_at(path));
}

static void test_links_and_what_is_no_file_are_refused(void **state)
{
    const char *path = make_ledger("target.db"), *link_path = scratch_path("link.db");

    (void)state;
    assert_int_equal(symlink(path, link_path), 0);
    expect_refused(link_path, "a link", "a symbolic link");
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(symlink("/nonexistent/db", link_path), 0);
    expect_refused(link_path, "a link", "a link that leads nowhere");
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(link(path, link_path), 0);
    expect_refused(link_path, "another name", "a hard link");
    expect_refused(path, "another name", "a hard link to it");
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(mkfifo(link_path, 0600), 0); /* and it does not hang */
    expect_refused(link_path, "not a regular file", "a pipe");
    assert_int_equal(unlink(link_path), 0);
    ledger_close(open_at(path));
}

/* A folder may be reached by a link: the file is what counts. */
static void test_a_folder_may_be_a_link(void **state)
{
    char path[512];

    (void)state;
    assert_int_equal(mkdir(scratch_path("folder"), 0700), 0);
    assert_int_equal(symlink("folder", scratch_path("by-name")), 0);
    snprintf(path, sizeof path, "%s/ledger.db", scratch_path("by-name"));
    ledger_close(open_at(path));
    ledger_close(open_at(path));
    remove_ledger(path);
    assert_int_equal(unlink(scratch_path("by-name")), 0);
    assert_int_equal(rmdir(scratch_path("folder")), 0);
}

static void test_another_users_file_is_refused(void **state)
{
    const char *path = make_ledger("owner.db");

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, 12345, 12345), 0);
    expect_refused(path, "belongs to another user", "another owner");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_edit_without_the_key_is_refused),
        cmocka_unit_test(test_each_value_that_is_changed_is_noticed),
        cmocka_unit_test(test_an_older_state_put_back_whole_is_an_older_ledger),
        cmocka_unit_test(test_anything_but_the_two_tables_is_refused),
        cmocka_unit_test(test_a_ledger_that_was_lost_is_not_begun_again),
        cmocka_unit_test(test_a_ledger_without_a_mark_gets_one),
        cmocka_unit_test(test_a_trigger_that_zeroes_is_refused_before_it_can_run),
        cmocka_unit_test(test_a_file_that_others_may_use_is_refused),
        cmocka_unit_test(test_a_log_that_others_may_use_is_refused),
        cmocka_unit_test(test_links_and_what_is_no_file_are_refused),
        cmocka_unit_test(test_a_folder_may_be_a_link),
        cmocka_unit_test(test_another_users_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
