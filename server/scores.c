/* scores.c -- one line for each row.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/scores.h"

#include "common/base/file.h"
#include "common/config/plan.h"
#include "common/data/csv.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

static uint32_t columns_of(const struct scores *s)
{
    return s->loss == NN_LOSS_SIGMOID ? 2 : s->outputs;
}

enum status scores_check(const char *path, struct error *err)
{
    const bool there = access(path, F_OK) == 0;
    int fd;
    enum status s = file_open_own(&fd, path, O_WRONLY | O_CREAT, 0600, err);
    FILE *f;

    if (s != STATUS_OK)
        return s;
    close(fd);
    if (!there)
        unlink(path);
    s = file_begin(&f, path, 0600, err);
    if (s == STATUS_OK)
        file_give_up(f, path);
    return s;
}

enum status scores_open(struct scores *s, const char *path, bool labelled, struct error *err)
{
    enum status st = file_begin(&s->f, path, 0600, err);

    s->path = path;
    if (st != STATUS_OK)
        return st;
    fprintf(s->f, "%s%sid", s->first != NULL ? s->first : "", s->first != NULL ? "," : "");
    if (labelled && s->targets == 1)
        fputs(",label", s->f);
    for (uint32_t k = 0; labelled && s->targets > 1 && k < s->targets; k++)
        fprintf(s->f, ",label_%u", k);
    if (s->loss == NN_LOSS_SQUARED)
        fputs(",score", s->f);
    for (uint32_t k = 0; s->loss != NN_LOSS_SQUARED && k < columns_of(s); k++)
        fprintf(s->f, ",score_%u", k);
    fputc('\n', s->f);
    return STATUS_OK;
}

void scores_put(struct scores *s, const char *id, size_t n, const float *label, const float *score)
{
    float tempered[PLAN_CLASSES_MAX];

    if (score != NULL && s->calibrated.rows > 0) {
        calibrate_row(tempered, score, s->outputs,
                      s->loss == NN_LOSS_SIGMOIDS ? SCORE_OF_LABELS : SCORE_OF_CLASSES,
                      s->calibrated.temperature);
        score = tempered;
    }
    csv_put(s->f, id, n);
    for (uint32_t k = 0; label != NULL && k < s->targets; k++) {
        fputc(',', s->f);
        if (!isnan(label[k]))
            fprintf(s->f, "%.9g", (double)label[k]);
    }
    for (uint32_t k = 0; score == NULL && k < columns_of(s); k++)
        fputc(',', s->f);
    if (score != NULL && s->loss == NN_LOSS_SIGMOID)
        fprintf(s->f, ",%.9g", 1 - (double)score[0]);
    for (uint32_t k = 0; score != NULL && k < s->outputs; k++)
        fprintf(s->f, ",%.9g", (double)score[k]);
    fputc('\n', s->f);
}

enum status scores_close(struct scores *s, struct error *err)
{
    return file_end(s->f, s->path, err);
}
