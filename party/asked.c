/* asked.c -- rows to predict, for one model after another.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/asked.h"

#include "common/daemon/models.h"
#include "party/predicted.h"

void asked_deinit(struct asked *a)
{
    books_close(&a->books);
    party_inputs_deinit(&a->in);
    a->in = (struct party_inputs){.predicts = false};
}

enum status asked_for(struct asked *a, const struct party_inputs *party, const struct books *whole,
                      const struct prediction *about, struct party_answers *out, struct error *err)
{
    char run[PACKAGE_RUN_MAX + 1];
    enum status s;

    asked_deinit(a);
    a->in.config = party->config;
    a->in.roster = party->roster;
    a->in.self = party->self;
    package_init(&a->in.model);
    s = package_tells(about->trail, about->run, err);
    if (s == STATUS_OK)
        s = models_find(party->config.state, about->plan, about->trail, run, err);
    if (s == STATUS_OK)
        s = predicted_model(&a->in, run[0] != 0 ? run : about->run, err);
    if (s != STATUS_OK)
        return s;
    if (prediction_is_placed(about))
        s = predicted_places(&a->in, about->alignment, about->places, err);
    if (s != STATUS_OK && s != STATUS_DATA) /* an alignment that has none of its rows here, say */
        return s;
    if (s == STATUS_OK)
        s = predicted_rows(&a->in, err);
    if (s == STATUS_OK)
        s = books_share(&a->books, whole, &a->in, err);
    *out = (struct party_answers){&a->in.model, &a->in.test, &a->in.persons, s != STATUS_OK};
    return s;
}
