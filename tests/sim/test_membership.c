/* test_membership.c -- what a party's disk has to do for a round of predictions is the same
 * whichever of the ids have rows there: whoever watches the clock sees when an fsync is over, and
 * not who is a customer.
 *
 * Two parties that have the same number of rows, under other ids, are asked for the same ones; or
 * for places of labelled rows, of which each has others, and others have no more to spend.
 * The C library's calls are hidden by those below, for SQLite too, and noted down: which it is, of
 * which file, how many bytes, and where.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* --- what the disk does --- */

struct note {
    const char *call;
    char file[64];
    long long n, at;
};

enum { NOTES_MAX = 1 << 16 };
static struct note noted[2][NOTES_MAX];
static size_t notes[2];
static int noting = -1; /* for which of the two */

static void note(const char *call, const char *file, long long n, long long at)
{
    const char *name = strrchr(file, '/');
    struct note *to;

    if (noting < 0)
        return;
    if (notes[noting] == NOTES_MAX)
        abort();
    to = &noted[noting][notes[noting]++];
    *to = (struct note){.call = call, .n = n, .at = at};
    snprintf(to->file, sizeof to->file, "%s", name == NULL ? file : name + 1);
}

static void note_fd(const char *call, int fd, long long n, long long at)
{
    char link[64], path[512] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0)
        abort();
    note(call, path, n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    note_fd("write", fd, (long long)n, at);
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    return pwrite(fd, bytes, n, at);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    note_fd("write", fd, (long long)n, -1);
    return syscall(SYS_write, fd, bytes, n);
}

int fsync(int fd)
{
    note_fd("sync", fd, 0, 0);
    return 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int ftruncate64(int fd, off_t n)
{
    note_fd("cut", fd, n, 0);
    return (int)syscall(SYS_ftruncate, fd, n);
}

int unlink(const char *path)
{
    note("unlink", path, 0, 0);
    return (int)syscall(SYS_unlink, path);
}

int rename(const char *from, const char *to)
{
    note("rename", to, 0, 0);
    return (int)syscall(SYS_rename, from, to);
}

/* --- two parties --- */

enum { PEOPLE = 400, ROWS = 200, ROUND_MAX = 300, ROUNDS = 60, PAIRS = 40 };

struct party {
    struct party_inputs in;
    struct books books;
    float x[ROWS];
    char text[ROWS * 8];
    uint32_t at[ROWS], row_of[PEOPLE];
    uint8_t lacks[ROWS]; /* places of labelled rows, all of which are asked for */
};

static struct party party[2];
static uint8_t plan[LEDGER_DIGEST_BYTES];
static uint64_t spared_in_all;

/* 200 of the 400, other ones at each. */
static void choose(struct party *p)
{
    uint32_t person[PEOPLE];
    size_t used = 0;

    for (uint32_t i = 0; i < PEOPLE; i++) {
        person[i] = i;
        p->row_of[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t k = i + (uint32_t)random() % (PEOPLE - i), who = person[k];

        person[k] = person[i];
        p->row_of[who] = i;
        p->at[i] = (uint32_t)used;
        used += (size_t)snprintf(p->text + used, 8, "p%u", who) + 1;
    }
}

static void clear(int which)
{
    static const char *const files[] = {"ledger.db", "ledger.begun", "ledger.key", ""};
    char path[600];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/party%d/%s", scratch_dir(), which, files[i]);
        (void)remove(path);
    }
}

static void open_party(int which, const struct config_policy *policy, bool labelled)
{
    struct party *p = &party[which];
    struct error err = {0};

    choose(p);
    p->in = (struct party_inputs){
        .config.policy = *policy,
        .test = {.rows = ROWS, .cols = 1, .x = p->x, .id_text = p->text, .id_at = p->at}};
    for (uint32_t i = 0; i < ROWS && labelled; i++)
        p->lacks[i] = random() % 3 == 0;
    p->in.test.lacks = labelled ? p->lacks : NULL;
    snprintf(p->in.config.state, sizeof p->in.config.state, "%s/party%d", scratch_dir(), which);
    clear(which);
    (void)mkdir(p->in.config.state, 0700);
    if (books_open(&p->books, &p->in, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    p->books.delta = 1e-5;
}

/* As party/predict/round.c asks for it: who has a row is charged, who has none is counted. */
static enum status ask(int which, uint64_t place, const uint32_t *people, uint32_t n, bool exact)
{
    struct party *p = &party[which];
    const bool labelled = p->in.test.lacks != NULL;
    uint8_t spared[ROUND_MAX];
    uint32_t rows[ROUND_MAX];
    struct action_charge c = {.mechanism = {.kind = ACCOUNT_PBM,
                                            .trials = 4,
                                            .beta = 0.1,
                                            .bottom = ACCOUNT_FROZEN,
                                            .coordinates = 2,
                                            .parties = 3,
                                            .colluders = 1},
                              .purpose = PURPOSE_EVALUATE_TEST,
                              .predicts = true,
                              .asked = n,
                              .places = n,
                              .plan = plan,
                              .place = place,
                              .rounds = 1,
                              .rows = rows,
                              .spared = labelled ? spared : NULL};
    struct error err = {0};
    enum status s;

    for (uint32_t i = 0; i < n; i++) {
        if (labelled)
            rows[c.n++] = people[i] % ROWS;
        else if (p->row_of[people[i]] != UINT32_MAX)
            rows[c.n++] = p->row_of[people[i]];
        else
            c.unknown++;
    }
    c.n = exact && c.unknown > 0 ? 0 : c.n;
    noting = which;
    s = books_charge(&p->books, &c, &err);
    noting = -1;
    assert_true(s == STATUS_OK || s == STATUS_BUDGET);
    for (size_t i = 0; i < c.n && labelled && s == STATUS_OK; i++)
        spared_in_all += spared[i];
    return s;
}

/* By another alignment, say: other records of each party have nothing left. */
static void spend(void)
{
    for (uint32_t round = 0; round < 12; round++) {
        for (int which = 0; which < 2; which++) {
            uint32_t people[ROWS / 2];

            for (uint32_t i = 0; i < ROWS / 2; i++)
                people[i] = (i + (which == 0 ? 0 : ROWS / 4)) % ROWS;
            assert_int_equal(ask(which, round, people, ROWS / 2, false), STATUS_OK);
        }
    }
}

static void expect_same(size_t from)
{
    for (size_t i = from; i < notes[0] && i < notes[1]; i++) {
        const struct note *a = &noted[0][i], *b = &noted[1][i];

        if (strcmp(a->call, b->call) != 0 || strcmp(a->file, b->file) != 0 || a->n != b->n ||
            a->at != b->at)
            fail_msg("%s %s %lld at %lld, and %s %s %lld at %lld", a->call, a->file, a->n, a->at,
                     b->call, b->file, b->n, b->at);
    }
    assert_int_equal(notes[0], notes[1]);
}

/* Rounds that are refused are within it: what is over a limit is written as what is not. */
static void test_the_disk_does_the_same_whoever_has_rows(void **state)
{
    size_t syncs = 0, refused = 0;
    uint64_t apart = 0;

    (void)state;
    srandom(4711);
    for (int pair = 0; pair < PAIRS; pair++) {
        const struct config_policy policy = {.unknown_ids = random() % 3 == 0 ? 500 : 1u << 30,
                                             .predict_rows_day = random() % 2 == 0 ? 1 << 20 : 0,
                                             .releases_record = random() % 3 == 0 ? 5 : 0};
        const bool labelled = pair % 4 == 3, exact = !labelled && random() % 4 == 0;

        open_party(0, &policy, labelled);
        open_party(1, &policy, labelled);
        if (labelled)
            spend();
        notes[0] = notes[1] = 0;
        for (uint64_t place = 0, round = 0; round < ROUNDS; round++) {
            const uint32_t n = 1 + (uint32_t)random() % (random() % 2 == 0 ? 3 : ROUND_MAX);
            uint32_t people[ROUND_MAX];
            const size_t before = notes[0];
            enum status s[2];

            for (uint32_t i = 0; i < n; i++)
                people[i] = (uint32_t)random() % PEOPLE;
            for (int which = 0; which < 2; which++)
                s[which] = ask(which, place, people, n, exact);
            expect_same(before);
            for (size_t i = before; i < notes[0]; i++)
                syncs += strcmp(noted[0][i].call, "sync") == 0;
            apart += ledger_asked(party[0].books.ledger).unknown !=
                     ledger_asked(party[1].books.ledger).unknown;
            refused += s[0] == STATUS_BUDGET || s[1] == STATUS_BUDGET;
            if (labelled)
                assert_int_equal(s[0], s[1]);
            if (s[0] != STATUS_OK || s[1] != STATUS_OK)
                break; /* told by the refusal, and the job is over */
            place += n;
        }
        books_close(&party[0].books);
        books_close(&party[1].books);
    }
    clear(0);
    clear(1);
    assert_true(syncs > PAIRS && refused > PAIRS / 4 && apart > PAIRS); /* it has looked */
    assert_true(spared_in_all > PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_disk_does_the_same_whoever_has_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
