/* scores.c -- one line for each row.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/scores.h"

#include "common/base/file.h"

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

    if (s != STATUS_OK)
        return s;
    close(fd);
    if (!there)
        unlink(path);
    return STATUS_OK;
}

enum status scores_open(struct scores *s, const char *path, bool labelled, struct error *err)
{
    enum status st = file_create(&s->f, path, 0600, err);

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
    fwrite(id, 1, n, s->f);
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
    const bool bad = fflush(s->f) != 0 || ferror(s->f) != 0 || fsync(fileno(s->f)) != 0;

    if (fclose(s->f) != 0 || bad)
        return error_set(err, STATUS_IO, "%s: it could not be written", s->path);
    return STATUS_OK;
}
