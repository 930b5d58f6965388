/* crowd.c -- many pairs, in children that say where they are in memory shared with their parent.
 *
 * A pair that crashes, hangs or breaks an invariant ends its child, and is a difference: the next
 * child goes on behind it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/crowd.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/task.h"
#include "tests/interference/pair.h"
#include "tests/interference/plan.h"
#include "tests/interference/play.h"
#include "tests/lib/instrumented.h"
#include "tests/lib/scratch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Pairs that were refused before anything say little: of many, so many reach a release at least. */
enum { MANY = 1000, RELEASED_PERCENT_MIN = 70, TASK_PERCENT_MIN = 5 };
enum { FIRST = 1, SHOW = 3 };
enum { HANGS_S = 120, BATCH = 2000 };
enum { AGGREGATIONS = 4, BOTTOMS = 3, VIEWS = 2, STRAGGLERS = 3 };

enum { ONE_OF = INSTRUMENTED ? 20 : 1 };

/* What children leave to their parent. */
struct board {
    uint64_t now, done; /* the seed under way; pairs that came to their end */
    uint64_t differences, crashes, released, refused, troubled, recovered, too_long, wider, deep;
    uint64_t placed, lacking;
    uint64_t kind[AGGREGATIONS][BOTTOMS][VIEWS][STRAGGLERS];
    uint64_t once, strict, encoding[PLAN_ENCODINGS], task[PLAN_TASKS];
    uint64_t validated, patient, evaluated; /* with rows kept back; what differs is evaluated */
    bool moved[PLAN_KEYS_N];
};

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count(struct board *b, const struct pair *p, const struct play *y)
{
    const struct plan *plan = &p->plan;

    b->released += y->released;
    b->refused += y->refused;
    b->troubled += p->rules_n > 0;
    b->recovered += p->rules_n > 0 && y->released && !y->run[0].failed;
    b->too_long += y->run[0].too_long;
    b->once += plan->training.releases == RELEASES_ONCE;
    b->strict += p->strict;
    b->wider += p->more > 0;
    b->deep += p->deep;
    b->placed += p->placed;
    b->lacking += p->lacks;
    b->encoding[plan->protocol.encoding]++;
    b->task[plan->model.task]++;
    b->validated += plan->data.validate > 0;
    b->patient += plan->training.patience > 0;
    b->evaluated += p->evaluated;
    pair_plan_moved(p, b->moved);
    b->kind[plan->protocol.aggregation][p->bottom[p->victim].train][plan->protocol.local_view]
           [plan->protocol.straggler]++;
}

/* The child's life: pairs from b->now on. */
static void play_some(struct board *b, const struct crowd *c, uint64_t behind, double until)
{
    static struct pair p;
    struct play y;

    play_init(&y);
    sim_keep_pages();
    for (; b->now < behind && (until == 0 || seconds() < until); b->now++) {
        alarm(HANGS_S);
        pair_draw(&p, b->now, c->kind);
        if (!play_pair(&y, &p)) {
            printf("FAIL  pair %" PRIu64 " differs\n", b->now);
            if (b->differences++ < c->show)
                play_print(&y, &p, false, stdout);
            (void)fflush(stdout);
        }
        if (y.run[0].too_long)
            printf("FAIL  pair %" PRIu64 " is longer than what is compared\n", b->now);
        count(b, &p, &y);
        b->done++;
    }
    play_deinit(&y);
}

static void crashed(struct board *b, const struct crowd *c, int status)
{
    static struct pair p;

    b->crashes++;
    b->done++;
    if (WIFSIGNALED(status))
        printf("FAIL  pair %" PRIu64 " dies of signal %d (%s)\n", b->now, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else
        printf("FAIL  pair %" PRIu64 " ends its process with %d\n", b->now, WEXITSTATUS(status));
    if (b->differences + b->crashes <= c->show) {
        pair_draw(&p, b->now, c->kind);
        pair_print(&p, stdout);
    }
    b->now++;
}

/* One child; false: enough. */
static bool run_child(struct board *b, const struct crowd *c, double until)
{
    const uint64_t end = c->first + c->pairs, behind = end - b->now > BATCH ? b->now + BATCH : end;
    int status;
    pid_t child;

    (void)fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        play_some(b, c, behind, until);
        (void)fflush(stdout);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0)
        crashed(b, c, status);
    return b->now < end && (until == 0 || seconds() < until);
}

static void print_kinds(const struct board *b)
{
    static const char *const aggregations[] = {"masked", "coded", "fedvs", "clear"},
                             *const bottoms[] = {"raw", "frozen", "dp"},
                             *const views[] = {"stale", "refreshed"},
                             *const stragglers[] = {"wait", "drop", "async"};

    for (size_t a = 0; a < AGGREGATIONS; a++)
        for (size_t m = 0; m < BOTTOMS; m++) {
            printf("  %-6s %-6s", aggregations[a], bottoms[m]);
            for (size_t v = 0; v < VIEWS; v++)
                for (size_t s = 0; s < STRAGGLERS; s++)
                    if (b->kind[a][m][v][s] > 0)
                        printf("  %s %s %" PRIu64, views[v], stragglers[s], b->kind[a][m][v][s]);
            printf("\n");
        }
}

static void print_board(const struct board *b, double took)
{
    static const char *const encodings[] = {"pbm",    "fixed",   "float32", "gaussian",
                                            "scalar", "lattice", "e8",      "topk"};
    const double n = b->done > 0 ? (double)b->done : 1;

    print_kinds(b);
    printf("  encodings:");
    for (size_t e = 0; e < PLAN_ENCODINGS; e++)
        printf(" %s %" PRIu64, encodings[e], b->encoding[e]);
    printf("\n  tasks:");
    for (size_t t = TASK_BINARY; t < PLAN_TASKS; t++)
        printf(" %s %" PRIu64, task_names[t], b->task[t]);
    printf("; once %" PRIu64 "; default policy %" PRIu64 "; deep %" PRIu64
           "; more features %" PRIu64 "; rows of alignments %" PRIu64
           ", rows that are not there %" PRIu64 "\n",
           b->once, b->strict, b->deep, b->wider, b->placed, b->lacking);
    printf("  rows kept back %" PRIu64 ", the best model of them %" PRIu64
           "; what differs is evaluated %" PRIu64 "\n",
           b->validated, b->patient, b->evaluated);
    printf("  %.1f %% reached a release, %.1f %% were refused before anything; %.1f %% had trouble "
           "(%" PRIu64 " of them went on to a good end); %.1f ms a pair\n",
           100 * (double)b->released / n, 100 * (double)b->refused / n,
           100 * (double)b->troubled / n, b->recovered, 1e3 * took / n);
}

/* What makes the figure say less than it seems to: so many failures more. */
static uint64_t too_little(const struct board *b, const struct crowd *c)
{
    uint64_t rare = 0;
    const bool alike = b->done >= MANY &&
                       ((c->kind == PAIR_TRAINS && (b->wider * 100 < b->done * TASK_PERCENT_MIN ||
                                                    b->deep * 100 < b->done * TASK_PERCENT_MIN)) ||
                        (c->kind != PAIR_ALIGNS && b->lacking * 100 < b->done * TASK_PERCENT_MIN));
    const bool unplaced = b->done >= MANY && b->placed * 100 < b->done * TASK_PERCENT_MIN;
    const bool idle = b->done >= MANY && b->released * 100 < b->done * RELEASED_PERCENT_MIN;
    const size_t unmoved =
        c->kind == PAIR_TRAINS && b->done >= MANY ? pair_plan_unmoved(b->moved) : 0;

    for (size_t t = TASK_BINARY; t < PLAN_TASKS; t++)
        rare += b->done >= MANY && b->task[t] * 100 < b->done * TASK_PERCENT_MIN;
    if (rare > 0)
        printf("FAIL  %" PRIu64 " tasks have fewer than %d %% of the pairs\n", rare,
               TASK_PERCENT_MIN);
    if (b->too_long > 0)
        printf("FAIL  %" PRIu64 " pairs were longer than what is compared\n", b->too_long);
    if (alike)
        printf("FAIL  fewer than %d %% of the pairs differ in their number of features, "
               "or are of deep bottoms\n",
               TASK_PERCENT_MIN);
    if (unplaced)
        printf("FAIL  fewer than %d %% of the pairs have rows of an alignment\n", TASK_PERCENT_MIN);
    if (idle)
        printf("FAIL  fewer than %d %% of the pairs reached a release\n", RELEASED_PERCENT_MIN);
    return b->too_long + idle + rare + alike + unplaced + unmoved;
}

uint64_t crowd_play(const struct crowd *c, uint64_t *pairs)
{
    struct board *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const double start = seconds(), until = c->seconds > 0 ? start + c->seconds : 0;
    uint64_t found;

    CHECK(b != MAP_FAILED);
    (void)scratch_dir(); /* a child's would stay */
    b->now = c->first;
    while (run_child(b, c, until)) {
    }
    print_board(b, seconds() - start);
    found = b->differences + b->crashes;
    *pairs = b->done;
    printf("%" PRIu64 " pairs, %" PRIu64 " differences (%" PRIu64 " of them crashes)\n", b->done,
           found, b->crashes);
    found += too_little(b, c);
    (void)munmap(b, sizeof *b);
    return found;
}

/* --- a program --- */

static int again(enum pair_kind kind, uint64_t seed)
{
    struct pair *p = mem_alloc(1, sizeof *p);
    struct play y;
    bool same;

    if (p == NULL)
        return 6;
    play_init(&y);
    pair_draw(p, seed, kind);
    pair_print(p, stdout);
    (void)fflush(stdout); /* it may crash */
    same = play_pair(&y, p);
    play_print(&y, p, true, stdout);
    play_deinit(&y);
    mem_free(p);
    printf("%d passed, %d failed\n", same, !same);
    return same ? 0 : 1;
}

int crowd_main(enum pair_kind kind, uint64_t most, int argc, char **argv)
{
    struct crowd c = {.kind = kind, .first = FIRST, .pairs = most / ONE_OF, .show = SHOW};
    uint64_t pairs = 0, found;

    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const uint64_t n = value != NULL ? strtoull(value, NULL, 10) : 0;

        if (value != NULL && strcmp(argv[i], "--seed") == 0)
            return again(kind, n);
        if (value != NULL && strcmp(argv[i], "--first") == 0) {
            c.first = n;
        } else if (value != NULL && strcmp(argv[i], "--pairs") == 0) {
            c.pairs = n;
        } else if (value != NULL && strcmp(argv[i], "--show") == 0) {
            c.show = (unsigned)n;
        } else if (value != NULL && strcmp(argv[i], "--seconds") == 0) {
            c.seconds = (double)n;
            c.pairs = UINT64_MAX - c.first;
        } else {
            fprintf(stderr,
                    "usage: %s [--seed N | --first N | --pairs N | --seconds N | "
                    "--show N]...\n",
                    argv[0]);
            return 2;
        }
    }
    found = crowd_play(&c, &pairs);
    printf("%llu passed, %llu failed\n", (unsigned long long)(pairs - found),
           (unsigned long long)found);
    return found > 0 || pairs == 0 ? 1 : 0;
}
