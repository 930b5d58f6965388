/* bookkeeping.c -- what bookkeeping.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/bookkeeping.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static float values[3];
static char ids[] = "a\0b\0c";
static uint32_t at[] = {0, 2, 4};
const uint8_t books_plan[LEDGER_DIGEST_BYTES];

struct party_inputs books_in;

void books_opened(struct books *b, double epsilon)
{
    struct error err = {0};

    books_in = (struct party_inputs){
        .train = {.rows = 3, .cols = 1, .x = values, .id_text = ids, .id_at = at}};
    snprintf(books_in.config.state, sizeof books_in.config.state, "%s", scratch_dir());
    books_in.config.policy.epsilon_adversary = ADVERSARY_SERVER;
    books_in.config.policy.epsilon_adjacency = ADJACENCY_RECORD_FROZEN;
    books_in.config.policy.epsilon_value = epsilon;
    assert_int_equal(books_open(b, &books_in, &err), STATUS_OK);
    b->delta = 1e-5;
}

enum status books_pay(struct books *b, const uint32_t *rows, size_t n)
{
    struct action_charge c = {
        .mechanism = {.kind = ACCOUNT_PBM,
                      .trials = 4,
                      .beta = 0.1,
                      .bottom = ACCOUNT_FROZEN,
                      .coordinates = 2,
                      .parties = 3,
                      .colluders = 1},
        .purpose = PURPOSE_TRAIN,
        .plan = books_plan,
        .rounds = 3,
        .rows = rows,
        .n = n,
    };
    const uint64_t before = ledger_sequence(b->ledger);
    struct error err = {0};
    const enum status s = books_charge(b, &c, &err);

    assert_true(s == STATUS_OK || strstr(err.text, "policy.max_epsilon") != NULL);
    assert_int_equal(ledger_sequence(b->ledger), before + (s == STATUS_OK ? 3 : 0));
    return s;
}

void books_forget(void)
{
    unlink(scratch_path("ledger.db"));
    unlink(scratch_path("ledger.begun"));
}

void books_expect_held(const struct books *b, uint64_t releases, uint64_t most)
{
    struct ledger_totals t;

    ledger_totals(b->ledger, &t);
    assert_int_equal(t.releases[LEDGER_TRAIN], releases);
    assert_int_equal(t.participations_max, most);
}
