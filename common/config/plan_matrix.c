/* plan_matrix.c -- the matrix of combinations for docs/configuration.md.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_matrix.h"

#include "common/base/check.h"
#include "common/config/encoding.h"
#include "common/config/key.h"
#include "common/config/plan.h"
#include "common/config/plan_keys.h"
#include "common/config/plan_rules.h"

#include <stdint.h>

/* The words and number of the choices of a key. */
static const char *const *choices_of(const char *path, uint32_t *n)
{
    int i = key_find(&plan_keys_text, path);
    const struct key *k;
    size_t offset;

    CHECK(i >= 0);
    k = key_at(&plan_keys_text, (size_t)i, &offset);
    for (*n = 0; k->choices[*n] != NULL; ++*n)
        continue;
    return k->choices;
}

/* A plan that passes by itself, so that only the combination under question can fail. */
static void start(struct plan *p)
{
    plan_defaults(p);
    p->shape.parties = 3;
    p->shape.train_rows = 1000;
    p->shape.test_rows = 100;
    p->shape.outputs = 2;
    p->protocol.fixed.bits = 12; /* the default is too wide for coded */
}

static enum status print_cell(const struct plan *p, struct buf *out)
{
    size_t number;

    if (plan_rules_broken(p, &number) == NULL)
        return buf_printf(out, " yes |");
    return buf_printf(out, " no: %d |", (int)number + 1);
}

static enum status print_header(struct buf *out)
{
    uint32_t fusions_n, stragglers_n;
    const char *const *fusions = choices_of("model.fusion", &fusions_n);
    const char *const *stragglers = choices_of("protocol.straggler", &stragglers_n);
    enum status s = buf_printf(out, "| aggregation | encoding |");

    for (uint32_t i = 0; s == STATUS_OK && i < fusions_n * stragglers_n; i++)
        s = buf_printf(out, " %s, %s |", fusions[i / stragglers_n], stragglers[i % stragglers_n]);
    if (s == STATUS_OK)
        s = buf_printf(out, "\n|");
    for (uint32_t i = 0; s == STATUS_OK && i < 2 + fusions_n * stragglers_n; i++)
        s = buf_printf(out, " --- |");
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status print_row(uint32_t aggregation, uint32_t encoding, struct buf *out)
{
    uint32_t fusions_n, stragglers_n, n;
    const char *const *aggregations = choices_of("protocol.aggregation", &n);
    const char *const *encodings = choices_of("protocol.encoding", &n);
    enum status s = buf_printf(out, "| %s | %s |", aggregations[aggregation], encodings[encoding]);

    choices_of("model.fusion", &fusions_n);
    choices_of("protocol.straggler", &stragglers_n);
    for (uint32_t i = 0; s == STATUS_OK && i < fusions_n * stragglers_n; i++) {
        struct plan p;

        start(&p);
        p.protocol.aggregation = (enum plan_aggregation)aggregation;
        p.protocol.encoding = (enum plan_encoding)encoding;
        p.model.fusion = (enum plan_fusion)(i / stragglers_n);
        p.protocol.straggler = (enum plan_straggler)(i % stragglers_n);
        s = print_cell(&p, out);
    }
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status print_encodings(struct buf *out)
{
    enum status s = buf_printf(out, "### Encodings\n\n| encoding | an embedding becomes | adds up "
                                    "under masks and in shares | noise |\n"
                                    "| --- | --- | --- | --- |\n");

    for (int i = 0; s == STATUS_OK && i < PLAN_ENCODINGS; i++) {
        const struct encoding *e = encoding_row((enum plan_encoding)i);

        s = buf_printf(out, "| %s | %s | %s | %s |\n", encoding_names[i], e->is,
                       e->integers ? "yes" : "no", e->noisy ? "yes" : "no");
    }
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status print_rule(size_t number, const struct plan_rule *r, struct buf *out)
{
    enum status s = buf_printf(out, "| %zu | `%s` |", number, r->key);

    for (size_t i = 0; i < PLAN_RULES_WITH_MAX && r->with[i] != NULL && s == STATUS_OK; i++)
        s = buf_printf(out, "%s `%s`", i == 0 ? "" : ",", r->with[i]);
    return s == STATUS_OK ? buf_printf(out, " | %s |\n", r->reason) : s;
}

static enum status print_rules(struct buf *out)
{
    const struct plan_rule *r;
    enum status s = buf_printf(out, "\n### Every rule\n\n"
                                    "The key to change, and what it does not go with.\n\n"
                                    "| no. | key | with | refused because |\n"
                                    "| --- | --- | --- | --- |\n");

    for (size_t i = 0; s == STATUS_OK && (r = plan_rules_at(i)) != NULL; i++)
        s = print_rule(i + 1, r, out);
    return s;
}

enum status plan_matrix(struct buf *out)
{
    uint32_t aggregations_n, encodings_n;
    enum status s;

    choices_of("protocol.aggregation", &aggregations_n);
    choices_of("protocol.encoding", &encodings_n);
    s = print_encodings(out);
    if (s != STATUS_OK)
        return s;
    s = buf_printf(
        out, "### Which combinations make sense\n\n"
             "A cell is one fusion and one straggler policy; `no: N` names the rule below.  Three "
             "parties, `fixed.bits` 12, all else at its default.\n\n");
    if (s == STATUS_OK)
        s = print_header(out);
    for (uint32_t i = 0; s == STATUS_OK && i < aggregations_n * encodings_n; i++)
        s = print_row(i / encodings_n, i % encodings_n, out);
    return s == STATUS_OK ? print_rules(out) : s;
}
