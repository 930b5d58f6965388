/* predicted.c -- data.predict, read by the schema and the scale of a model that there is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/predicted.h"

#include "common/daemon/absent.h"
#include "common/daemon/models.h"
#include "common/data/group.h"
#include "common/data/intake.h"

#include <string.h>

/* data.predict as the model wants it: by the schema that its training rows have made. */
static enum status read_predicted(struct party_inputs *in, struct error *err)
{
    const char *column = in->config.group, *time = in->config.time;
    const char *path = in->config.data_predict;
    const struct intake_want want = {.source.table = in->config.table,
                                     .places = placed_places(&in->listed.placed.test),
                                     .group = column[0] != 0 ? column : NULL,
                                     .time = time[0] != 0 ? time : NULL,
                                     .kind = SCHEMA_NUMBER,
                                     .complete = true,
                                     .mapped = in->config.data_mapped,
                                     .limits = &INTAKE_LIMITS};
    struct schema none = {0}; /* of a model of IDX files */
    struct schema *schema = in->model.schema.n > 0 ? &in->model.schema : &none;
    size_t unseen = 0, filled = 0;
    enum status s = intake_read(&in->test, schema, path, &want, err);

    schema_deinit(&none);
    if (s == STATUS_OK) {
        s = package_prepare(&in->model, &in->test, &unseen, &filled, err);
        if (s != STATUS_OK)
            error_wrap(err, "%s: the model of run %s", path, in->model.run);
    }
    if (s == STATUS_OK)
        party_inputs_say_unexpected(path, unseen, filled);
    return s;
}

static enum status read_predicted_persons(struct party_inputs *in, struct error *err)
{
    const struct group_from from = {.path = in->config.data_predict,
                                    .places = placed_places(&in->listed.placed.test),
                                    .source.table = in->config.table,
                                    .id = in->model.schema.id,
                                    .column = in->config.group};
    struct group g = {0};
    enum status s = group_read(&g, &from, &in->test, err);

    if (s == STATUS_OK)
        s = group_number(&g, err);
    if (s == STATUS_OK)
        s = persons_init(&in->persons, &g, 0, err);
    group_deinit(&g);
    return s;
}

enum status predicted_model(struct party_inputs *in, const char *run, struct error *err)
{
    enum status s;

    in->predicts = true;
    if (in->config.data_predict[0] == 0)
        return error_set(err, STATUS_CONFIG, "data.predict: there is none, for --predict");
    s = models_load(in->config.state, run, &in->model, err);
    if (s == STATUS_OK && in->model.role != PACKAGE_BOTTOM)
        s = error_set(err, STATUS_CONFIG, "%s/models: run %s has a head", in->config.state,
                      in->model.run);
    return s;
}

enum status predicted_places(struct party_inputs *in, const char *alignment, const uint8_t *places,
                             struct error *err)
{
    struct placed *p = &in->listed.placed.test;
    enum status s = placed_open(p, in->config.state, alignment, err);

    if (s != STATUS_OK)
        return s;
    if (places != NULL && memcmp(p->places.digest, places, sizeof p->places.digest) != 0)
        return error_set(err, STATUS_CONFIG,
                         "alignment %s: this side's is of another making than the server's: let "
                         "all sides align again",
                         alignment);
    p->asked = true;
    p->may_lack = p->file.labelled;
    placed_by_id(p, in->config.align.key);
    return absent_check_group(&in->listed.placed, &in->config, err);
}

enum status predicted_rows(struct party_inputs *in, struct error *err)
{
    struct placed_pair *placed = &in->listed.placed;
    enum status s = read_predicted(in, err);

    if (s == STATUS_OK && in->config.group[0] != 0)
        s = read_predicted_persons(in, err);
    if (s == STATUS_OK)
        party_inputs_limit(in);
    if (s == STATUS_OK)
        placed_show(&placed->test, &in->test, in->config.data_predict);
    if (s == STATUS_OK)
        s = absent_fill(placed, &in->train, &in->test, 0, err);
    placed_close_pair(placed);
    return s;
}

enum status predicted_inputs(struct party_inputs *in, const char *run, const char *alignment,
                             struct error *err)
{
    enum status s = predicted_model(in, run, err);

    if (s == STATUS_OK && alignment != NULL)
        s = predicted_places(in, alignment, NULL, err);
    return s == STATUS_OK ? predicted_rows(in, err) : s;
}
