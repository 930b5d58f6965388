/* play.c -- both runs of a pair.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/play.h"

#include "tests/interference/hostile.h"
#include "tests/interference/keyed.h"
#include "tests/interference/questions.h"
#include "tests/sim/fast_crypto.h"

#include <string.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { BEFORE = 3, BEHIND = 3 };

void play_init(struct play *y)
{
    memset(y, 0, sizeof *y);
    trace_init(&y->run[0]);
    trace_init(&y->run[1]);
}

void play_deinit(struct play *y)
{
    trace_deinit(&y->run[0]);
    trace_deinit(&y->run[1]);
}

static void play_side(struct play *y, const struct pair *p, int side)
{
    const char *broken;
    bool aligned = true;
    struct sim *s;

    fast_crypto_place(p->seed); /* keys, nonces: the same on both sides */
    hostile_begin(p);
    s = sim_new(&p->options);
    pair_arrange(p, s, side);
    trace_begin(&y->run[side], s);
    if (p->kind == PAIR_PREDICTS)
        questions_play(p, s);
    else if (p->kind == PAIR_ALIGNS)
        aligned = keyed_play(p, s, side);
    else
        sim_run(s, HOUR_US);
    broken = sim_broken(s);
    if (broken != NULL)
        snprintf(y->broken, sizeof y->broken, "run %c: %s", 'A' + side, broken);
    else if (!aligned)
        snprintf(y->broken, sizeof y->broken, "run %c: another alignment than it should be: %.200s",
                 'A' + side, sim_server_end(s)->error.text);
    sim_free(s);
}

bool play_pair(struct play *y, const struct pair *p)
{
    y->broken[0] = 0;
    play_side(y, p, 0);
    play_side(y, p, 1);
    y->at = trace_differ(&y->run[0], &y->run[1]);
    y->released = y->run[0].released && y->run[1].released;
    y->refused = !y->run[0].released && y->run[0].failed;
    return y->at == SIZE_MAX && y->broken[0] == 0;
}

void play_print(const struct play *y, const struct pair *p, bool all, FILE *to)
{
    const size_t from = all || y->at < BEFORE ? 0 : y->at - BEFORE;

    pair_print(p, to);
    if (y->broken[0] != 0)
        fprintf(to, "  an invariant broke: %s\n", y->broken);
    if (y->at == SIZE_MAX && !all)
        return;
    for (int side = 0; side < 2; side++) {
        fprintf(to, "  run %c%s\n", 'A' + side, y->at == SIZE_MAX ? "" : " differs:");
        trace_print(&y->run[side], from, all ? SIZE_MAX : y->at + BEHIND, to);
    }
    if (y->at != SIZE_MAX)
        fprintf(to, "  first difference: event %zu\n", y->at);
}
