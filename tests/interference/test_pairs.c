/* test_pairs.c -- runs on neighbours, under a server that lies: what parties let out is the same.
 *
 *   test_pairs [--first SEED] [--pairs N] [--seconds S] [--show N]
 *   test_pairs --seed SEED            this pair again, with every event of both runs
 *
 * Ends with "N passed, N failed"; exit 1: a difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "tests/interference/crowd.h"
#include "tests/interference/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 20000, FIRST = 1, SHOW = 3 };

/* Instrumented code is many times slower: there a sample says enough. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ONE_OF = 20 };
#else
enum { ONE_OF = 1 };
#endif

static int again(uint64_t seed)
{
    struct pair *p = mem_alloc(1, sizeof *p);
    struct play y;
    bool same;

    if (p == NULL)
        return 6;
    play_init(&y);
    pair_draw(p, seed);
    pair_print(p, stdout);
    (void)fflush(stdout); /* it may crash */
    same = play_pair(&y, p);
    play_print(&y, p, true, stdout);
    play_deinit(&y);
    mem_free(p);
    printf("%d passed, %d failed\n", same, !same);
    return same ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct crowd c = {.first = FIRST, .pairs = PAIRS / ONE_OF, .show = SHOW};
    uint64_t pairs = 0, found;

    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const uint64_t n = value != NULL ? strtoull(value, NULL, 10) : 0;

        if (value != NULL && strcmp(argv[i], "--seed") == 0)
            return again(n);
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
            fprintf(stderr, "usage: test_pairs [--seed N | --first N | --pairs N | --seconds N | "
                            "--show N]...\n");
            return 2;
        }
    }
    found = crowd_play(&c, &pairs);
    printf("%llu passed, %llu failed\n", (unsigned long long)(pairs - found),
           (unsigned long long)found);
    return found > 0 || pairs == 0 ? 1 : 0;
}
