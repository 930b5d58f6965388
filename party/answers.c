/* answers.c -- rows to predict, for one model after another.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/answers.h"

#include "common/base/mem.h"

#include <string.h>

static size_t values(const struct answers *a)
{
    return a->in.test.rows * a->in.test.cols;
}

static enum status read_rows(struct answers *a, const struct party_inputs *in, struct error *err)
{
    enum status s;

    a->in.config = in->config;
    a->in.roster = in->roster;
    a->in.self = in->self;
    a->in.predicts = true;
    package_init(&a->in.model);
    buf_init(&a->in.weights, 0);
    s = party_inputs_read_predicted(&a->in, err);
    if (s != STATUS_OK)
        return s;
    a->raw = mem_alloc(values(a) + 1, sizeof *a->raw);
    if (a->raw == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %zu rows", a->in.test.rows);
    memcpy(a->raw, a->in.test.x, values(a) * sizeof *a->raw);
    return STATUS_OK;
}

enum status answers_open(struct answers **out, const struct party_inputs *in,
                         const struct books *whole, struct error *err)
{
    struct answers *a;
    enum status s;

    if (in->config.data_predict[0] == 0)
        return STATUS_OK;
    a = mem_alloc(1, sizeof *a);
    if (a == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    s = read_rows(a, in, err);
    if (s == STATUS_OK)
        s = books_share(&a->books, whole, &a->in, err);
    if (s == STATUS_OK)
        *out = a;
    else
        answers_close(a);
    return s;
}

void answers_close(struct answers *a)
{
    if (a == NULL)
        return;
    books_close(&a->books);
    mem_free(a->raw);
    party_inputs_deinit(&a->in);
    mem_free(a);
}

enum status answers_for(struct answers *a, const char *run, struct party_answers *out,
                        struct error *err)
{
    enum status s = party_inputs_load_model(&a->in, run, err);

    memcpy(a->in.test.x, a->raw, values(a) * sizeof *a->raw);
    if (s == STATUS_OK)
        s = party_inputs_fit_model(&a->in, err);
    if (s == STATUS_OK)
        *out = (struct party_answers){&a->in.model, &a->in.test, &a->in.persons};
    return s;
}
