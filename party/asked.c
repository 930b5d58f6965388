/* asked.c -- rows to predict, for one model after another.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/asked.h"

void asked_deinit(struct asked *a)
{
    books_close(&a->books);
    party_inputs_deinit(&a->in);
    a->in = (struct party_inputs){.predicts = false};
}

enum status asked_for(struct asked *a, const struct party_inputs *party, const struct books *whole,
                      const char *run, struct party_answers *out, struct error *err)
{
    enum status s;

    asked_deinit(a);
    a->in.config = party->config;
    a->in.roster = party->roster;
    a->in.self = party->self;
    package_init(&a->in.model);
    s = party_inputs_model(&a->in, run, err);
    if (s != STATUS_OK)
        return s;
    s = party_inputs_predicted(&a->in, err);
    if (s == STATUS_OK)
        s = books_share(&a->books, whole, &a->in, err);
    *out = (struct party_answers){&a->in.model, &a->in.test, &a->in.persons, s != STATUS_OK};
    return s;
}
