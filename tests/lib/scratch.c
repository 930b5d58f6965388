/* scratch.c -- a temporary folder, emptied and removed at exit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/scratch.h"

#include "common/base/check.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <zlib.h>

enum { PATHS = 4, DIR_MAX = 1024 };

static char dir[DIR_MAX];
static pid_t owner;

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_dir(void)
{
    if (getpid() == owner)
        CHECK(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

const char *scratch_dir(void)
{
    const char *base = getenv("TMPDIR");

    if (dir[0] != 0)
        return dir;
    snprintf(dir, sizeof dir, "%s/colonnade-test.XXXXXX", base != NULL ? base : "/tmp");
    CHECK(mkdtemp(dir) != NULL);
    owner = getpid();
    atexit(remove_dir);
    return dir;
}

const char *scratch_path(const char *name)
{
    static char path[PATHS][PATH_MAX];
    static unsigned turn;
    char *out = path[turn++ % PATHS];

    snprintf(out, PATH_MAX, "%s/%s", scratch_dir(), name);
    return out;
}

const char *scratch_write(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");

    CHECK(f != NULL);
    CHECK(fwrite(bytes, 1, n, f) == n);
    CHECK(fclose(f) == 0);
    return path;
}

const char *scratch_write_text(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

const char *scratch_write_gzip(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    gzFile f = gzopen(path, "wb9");

    CHECK(f != NULL && n <= INT_MAX);
    CHECK(n == 0 || gzwrite(f, bytes, (unsigned)n) == (int)n);
    CHECK(gzclose(f) == Z_OK);
    return path;
}

const char *scratch_write_sqlite(const char *name, const char *statements)
{
    const char *path = scratch_path(name);
    sqlite3 *db;

    unlink(path);
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 30);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 30);
    if (sqlite3_exec(db, statements, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", name, sqlite3_errmsg(db));
        abort();
    }
    CHECK(sqlite3_close(db) == SQLITE_OK);
    return path;
}

long long scratch_ask_sqlite(const char *name, const char *query)
{
    sqlite3 *db;
    sqlite3_stmt *asked;
    long long number;

    CHECK(sqlite3_open(scratch_path(name), &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, query, -1, &asked, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(asked) == SQLITE_ROW);
    number = sqlite3_column_int64(asked, 0);
    CHECK(sqlite3_finalize(asked) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK);
    return number;
}
