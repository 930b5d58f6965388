/* columns.c -- their names, in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/columns.h"

#include <stddef.h>
#include <string.h>

#define SIX(prefix)                                                                                \
    prefix "payload_up", prefix "payload_down", prefix "frame_up", prefix "frame_down",            \
        prefix "tls_up", prefix "tls_down"
#define SCORES(split) split "_loss", split "_accuracy", split "_auc", split "_auprc", split "_f1"

const char *const columns_results[] = {"epoch",   "round",       "seconds",       "train_s",
                                       SIX(""),   SIX("total_"), SCORES("train"), SCORES("test"),
                                       "epsilon", "epsilon_own", "status",        NULL};

const char *const columns_runs[] = {"status",
                                    "exit_code",
                                    "error",
                                    "plaintext",
                                    "epochs",
                                    "rounds",
                                    "void_rounds",
                                    "parties",
                                    SCORES("train"),
                                    SCORES("test"),
                                    "reached_metric",
                                    "reached_split",
                                    "reached_value",
                                    "reached_epoch",
                                    "reached_round",
                                    "reached_seconds",
                                    "reached_payload_bytes",
                                    "setup_s",
                                    "train_s",
                                    "evaluate_s",
                                    "total_s",
                                    "rounds_per_s",
                                    SIX(""),
                                    SIX("total_"),
                                    "formula_up",
                                    "formula_down",
                                    "epsilon",
                                    "epsilon_worst",
                                    "record",
                                    "epsilon_record",
                                    "epsilon_record_1",
                                    "head_sha256",
                                    "model_sha256",
                                    NULL};

static bool among(const char *const *list, const char *name)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

bool columns_has(const char *name)
{
    static const char *const before[] = {"experiment", "run", "case", "seed", NULL};

    return among(before, name) || among(columns_results, name) || among(columns_runs, name);
}
