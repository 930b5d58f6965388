/* test_ledger_crash.c -- a process that dies, or whose disk fails, at any call by which the ledger
 * becomes durable: what it was told is charged is charged, and each commit is there whole or not
 * at all.
 *
 * The C library's own calls are hidden by those below, for SQLite too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_store.h"

#include "common/base/file.h"
#include "tests/unit/privacy/ledgers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- faults --- */

enum fault { COUNT, KILL_BEFORE, KILL_AFTER, KILL_HALF, FAIL_IO, FAIL_FULL, FAULTS };

static struct {
    enum fault what;
    long at, calls;
} fault;

/* Is this the call?  Dies right here when it should be before it. */
static bool is_hit(void)
{
    bool hit = ++fault.calls == fault.at;

    if (hit && fault.what == KILL_BEFORE)
        kill(getpid(), SIGKILL);
    return hit;
}

static long ended(bool hit, long result)
{
    if (hit && (fault.what == KILL_AFTER || fault.what == KILL_HALF))
        kill(getpid(), SIGKILL);
    return result;
}

static bool fails(bool hit)
{
    if (!hit || (fault.what != FAIL_IO && fault.what != FAIL_FULL))
        return false;
    errno = fault.what == FAIL_IO ? EIO : ENOSPC;
    return true;
}

static ssize_t write_at(int fd, const void *bytes, size_t n, off_t at)
{
    bool hit = is_hit();

    if (fails(hit))
        return -1;
    if (hit && fault.what == KILL_HALF)
        n /= 2;
    return ended(hit, syscall(SYS_pwrite64, fd, bytes, n, at));
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return write_at(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    return write_at(fd, bytes, n, at);
}

/* A process that dies takes nothing of what it wrote with it: no need to wait for a disk. */
static int sync_file(void)
{
    bool hit = is_hit();

    return fails(hit) ? -1 : (int)ended(hit, 0);
}

int fdatasync(int fd)
{
    (void)fd;
    return sync_file();
}

int fsync(int fd)
{
    (void)fd;
    return sync_file();
}

int ftruncate64(int fd, off_t n)
{
    bool hit = is_hit();

    return fails(hit) ? -1 : (int)ended(hit, syscall(SYS_ftruncate, fd, n));
}

int unlink(const char *path)
{
    bool hit = is_hit();

    return fails(hit) ? -1 : (int)ended(hit, syscall(SYS_unlink, path));
}

/* --- a life --- */

enum { ACTS = 8, CRASH_ROWS = 1100 }; /* reaching into a second chunk */
static const uint8_t peer[LEDGER_DIGEST_BYTES] = {7};

/* What a ledger amounts to. */
struct state {
    uint64_t number, total, seen;
    uint32_t first; /* what the first record has spent */
};

static struct state state_of(const struct ledger *l, uint32_t slot)
{
    struct ledger_totals t;

    ledger_totals(l, &t);
    return (struct state){ledger_sequence(l),
                          t.releases[LEDGER_TRAIN] + t.releases[LEDGER_EVALUATE] +
                              t.releases[LEDGER_PREDICT],
                          ledger_seen(l, peer), t.records > 0 ? ledger_spent(l, slot) : 0};
}

/* One commit. */
static enum status act(struct ledger *l, const uint32_t *slots, int i)
{
    struct account_entry other = PBM;
    struct ledger_block b = block(LEDGER_TRAIN, slots, CRASH_ROWS);
    struct error err = {0};
    enum status s;

    b.rounds = 5;
    other.parties = 4;
    if (i == 2 || i == 4 || i == 6)
        if ((s = ledger_see(l, peer, 100u * (unsigned)i, &err)) != STATUS_OK)
            return s;
    switch (i) {
    case 0: return ledger_use(l, &PBM, &err);
    case 3: return ledger_return(l, &b, &err);
    case 4: return ledger_keep(l, &err);
    case 5: return ledger_use(l, &other, &err);
    case 6:
        b = block_of_run(9, 9, LEDGER_EVALUATE, slots, 600);
        return ledger_reserve(l, &b, NULL, &err);
    case 7: return ledger_forget(l, peer, &err);
    default: return ledger_reserve(l, &b, NULL, &err);
    }
}

/* What the child has come to, for its parent. */
struct note {
    int done; /* acts that it was told are committed */
    struct state state;
};

static void tell(int to, struct note n)
{
    if (syscall(SYS_write, to, &n, sizeof n) != sizeof n)
        _exit(9);
}

/* Goes on after a failure, as a daemon does not: the more can go wrong. */
static void live(const char *path, int to)
{
    struct error err = {0};
    struct note n = {0};
    struct ledger *l;
    uint32_t *slots;

    if (ledger_open(&l, path, KEY, &err) != STATUS_OK)
        _exit(6);
    if (ledger_bind(l, &slots, NULL, row_ids(), CRASH_ROWS, &err) != STATUS_OK)
        _exit(6);
    n.state = state_of(l, slots[0]);
    tell(to, n);
    for (int i = 0; i < ACTS; i++) {
        if (act(l, slots, i) != STATUS_OK) {
            n.state = state_of(l, slots[0]);
            tell(to, n);
            _exit(7);
        }
        n = (struct note){i + 1, state_of(l, slots[0])};
        tell(to, n);
    }
    mem_free(slots);
    ledger_close(l);
    _exit(0);
}

/* Runs a life with one fault.  *last: its last word, `done` being -1 when it had none.  Returns
 * whether the fault was met. */
static bool run(const char *path, enum fault what, long at, struct note *last)
{
    struct note n;
    int ends[2], how;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        fault.what = what;
        fault.at = at;
        fault.calls = 0;
        live(path, ends[1]);
    }
    close(ends[1]);
    *last = (struct note){.done = -1};
    while (read(ends[0], &n, sizeof n) == (ssize_t)sizeof n)
        *last = n;
    close(ends[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    if (what >= KILL_BEFORE && what <= KILL_HALF)
        return WIFSIGNALED(how);
    assert_true(WIFEXITED(how) && (WEXITSTATUS(how) == 0 || WEXITSTATUS(how) >= 6));
    return WEXITSTATUS(how) != 0;
}

static bool same(struct state a, struct state b)
{
    return a.number == b.number && a.total == b.total && a.seen == b.seen && a.first == b.first;
}

/* States after 0, 1, ... acts, without any fault. */
static void expected(const char *path, struct state want[ACTS + 1])
{
    struct error err = {0};
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, CRASH_ROWS);

    want[0] = state_of(l, slots[0]);
    for (int i = 0; i < ACTS; i++) {
        if (act(l, slots, i) != STATUS_OK)
            fail_msg("act %d: %s", i, err.text);
        want[i + 1] = state_of(l, slots[0]);
    }
    mem_free(slots);
    ledger_close(l);
}

/* A file as it was before the first fault; no bytes: none. */
static const char *fresh(const struct buf *bytes)
{
    const char *path = scratch_path("faulty.db"), *log = scratch_path("faulty.db-wal");

    (void)remove(log);
    remove_ledger(path);
    return bytes->len > 0 ? private_file("faulty.db", bytes->data, bytes->len) : path;
}

static void at_every_call(const char *original)
{
    struct state want[ACTS + 1];
    struct error err = {0};
    struct buf bytes;
    long met = 0;

    fault.at = 0;
    buf_init(&bytes, 1 << 20);
    if (original != NULL && file_read(original, &bytes, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    expected(fresh(&bytes), want);
    for (enum fault what = KILL_BEFORE; what < FAULTS; what++) {
        bool hit = true;

        for (long at = 1; hit; at++) {
            const char *path = fresh(&bytes);
            struct state now;
            struct note last;
            struct ledger *l;
            uint32_t *slots;
            int done;

            hit = run(path, what, at, &last);
            met += hit;
            done = last.done < 0 ? 0 : last.done;
            l = open_at(path);
            slots = bind_rows(l, CRASH_ROWS);
            now = state_of(l, slots[0]);
            /* What was committed is there; what was under way may be, too. */
            if (!same(now, want[done]) && (done == ACTS || !same(now, want[done + 1])))
                fail_msg("fault %d at call %ld, after act %d: number %llu, %llu releases, seen "
                         "%llu",
                         what, at, done, (unsigned long long)now.number,
                         (unsigned long long)now.total, (unsigned long long)now.seen);
            /* What was reported as failed has changed nothing in memory. */
            if (last.done >= 0 && !same(last.state, want[done]))
                fail_msg("fault %d at call %ld: act %d failed and left something", what, at, done);
            use(l, &PBM);
            reserve(l, LEDGER_TRAIN, slots, 1);
            mem_free(slots);
            ledger_close(l);
        }
    }
    assert_true(met > 100);
    buf_deinit(&bytes);
}

static void test_a_new_ledger_survives_a_fault_at_every_call(void **state)
{
    (void)state;
    at_every_call(NULL);
}

static void test_a_used_ledger_survives_a_fault_at_every_call(void **state)
{
    (void)state;
    at_every_call(make_ledger("used.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_ledger_survives_a_fault_at_every_call),
        cmocka_unit_test(test_a_used_ledger_survives_a_fault_at_every_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
