/* misbehave_scripts.c -- the runs that misbehaviours disturb.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"

#define PATIENCE "protocol.patience_ms=2000"
/* p3 is lost before this message of its own. */
#define LOST(message, n)                                                                           \
    {                                                                                              \
        {                                                                                          \
            .act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_##message, .nth = (n)                   \
        }                                                                                          \
    }
#define SMALL(rows, every)                                                                         \
    .parties = MIS_PARTIES, .train_rows = (rows), .test_rows = 3, .checkpoint_rounds = (every),    \
    .unpacker = 1 << 15, .quiet = true

static struct mis_script scripts[MIS_SCRIPTS] = {
    [MIS_MASKED] = {.name = "masked",
                    .options = {SMALL(9, 2), .sets = {PATIENCE, "training.evaluate_train=true"}},
                    .rule = LOST(UPLOAD, 2),
                    .rules_n = 1},
    [MIS_CODED] = {.name = "coded",
                   .options = {SMALL(9, 2), .sets = {PATIENCE, "protocol.aggregation=coded"}},
                   .rule = LOST(SHARE, 2),
                   .rules_n = 1},
    [MIS_FEDVS] = {.name = "fedvs",
                   .options = {SMALL(4, 2), .motley = true,
                               .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
                               .sets = {PATIENCE, "protocol.aggregation=fedvs",
                                        "training.batch=2"}},
                   .rule = LOST(SHARE, 5),
                   .rules_n = 1},
    [MIS_CLEAR] = {.name = "clear",
                   .options = {SMALL(9, 2), .sets = {PATIENCE, "protocol.aggregation=clear"}},
                   .rule = LOST(UPLOAD, 2),
                   .rules_n = 1},
    [MIS_BEHIND] = {.name = "behind",
                    .options = {SMALL(15, 4), .sets = {PATIENCE}},
                    .rule = {{.act = SIM_KILL, .from = MIS_VICTIM, .kind = WIRE_UPLOAD, .nth = 4}},
                    .rules_n = 1},
    [MIS_DROP] = {.name = "drop",
                  .options = {SMALL(9, 2), .sets = {PATIENCE, "protocol.straggler=drop"}}},
    [MIS_IGNORE] = {.name = "ignore",
                    .options = {SMALL(9, 2), .sets = {PATIENCE, "protocol.straggler=drop",
                                                      "protocol.aggregation=clear"}}},
    [MIS_ONCE] = {.name = "once",
                  .options = {SMALL(9, 2), .party_sets = {"model.train=frozen"},
                              .sets = {PATIENCE, "training.releases=once"}},
                  .rule = LOST(UPLOAD, 2),
                  .rules_n = 1},
    [MIS_ASYNC] = {.name = "async",
                   .options = {SMALL(9, 2), .sets = {PATIENCE, "protocol.straggler=async",
                                                     "protocol.aggregation=clear"}}},
};

struct mis_script *mis_script(enum mis_which which)
{
    CHECK(which < MIS_SCRIPTS);
    return &scripts[which];
}
