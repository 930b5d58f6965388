/* images.c -- IDX files, pixel by pixel.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/images.h"

#include "common/base/mem.h"
#include "common/data/stream.h"
#include "common/data/table.h"
#include "deploy/tools/split/output.h"

#include <limits.h>
#include <string.h>

static enum status idx_fill(struct split *s, struct stream *in, uint8_t *out, size_t n)
{
    size_t got;
    enum status status = stream_read(in, out, n, &got, &s->err);

    if (status == STATUS_OK && got != n)
        status = error_set(&s->err, STATUS_DATA, "%s: ends too early", in->path);
    return status;
}

/* Type unsigned byte; 1 dimension (labels) or 2 to 4 (images); dim[1..3] = 1 where there is none.
 */
static enum status idx_header(struct split *s, struct stream *in, bool labels, uint32_t dim[4])
{
    uint8_t head[4 + 4 * 4];
    enum status status = idx_fill(s, in, head, 4);
    uint64_t product = 1;

    if (status != STATUS_OK)
        return status;
    if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] < (labels ? 1 : 2) ||
        head[3] > (labels ? 1 : 4))
        return error_set(&s->err, STATUS_DATA, "%s: no IDX file of unsigned bytes with %s",
                         in->path, labels ? "one dimension" : "two to four dimensions");
    status = idx_fill(s, in, head + 4, (size_t)head[3] * 4);
    for (int i = 0; i < 4; i++) {
        const uint8_t *b = head + 4 + 4 * i;

        dim[i] = i >= head[3]
                     ? 1
                     : (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        product *= i == 0 || product > TABLE_COLUMNS_MAX ? 1 : dim[i];
    }
    if (status == STATUS_OK &&
        (dim[0] == 0 || dim[0] > TABLE_ROWS_MAX || product == 0 || product > TABLE_COLUMNS_MAX))
        status = error_set(&s->err, STATUS_DATA, "%s: a dimension is 0 or too large", in->path);
    return status;
}

static void put_dim(FILE *f, uint32_t n)
{
    const uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                              (uint8_t)n};

    fwrite(bytes, 1, sizeof bytes, f);
}

/* Each party's file: two dimensions, rows x its pixels. */
static void idx_put_headers(struct split *s, int set, uint32_t rows)
{
    for (uint32_t p = 0; p < s->columns.parties; p++) {
        put_dim(s->features_out[set][p], 0x0802);
        put_dim(s->features_out[set][p], rows);
        put_dim(s->features_out[set][p], s->columns.first[p + 1] - s->columns.first[p]);
    }
}

/* Rows are numbered anew in each set, because a reader counts them so. */
static enum status idx_rows(struct split *s, struct stream *images, struct stream *labels,
                            uint32_t rows, int set)
{
    uint8_t *image = mem_alloc(s->features, 1), label = 0;
    enum status status = STATUS_OK;

    if (image == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (uint32_t row = 0; status == STATUS_OK && row < rows; row++) {
        char id[16], text[8];
        int to = set;

        status = idx_fill(s, images, image, s->features);
        if (status == STATUS_OK && labels != NULL)
            status = idx_fill(s, labels, &label, 1);
        if (status != STATUS_OK)
            break;
        snprintf(id, sizeof id, "%u", row);
        if (set < 0)
            to = output_set_of(id);
        snprintf(id, sizeof id, "%u", (unsigned)s->rows[to]++);
        snprintf(text, sizeof text, "%u", label);
        output_label(s, to, id, text);
        fputc('\n', s->labels_out[to]);
        for (uint32_t p = 0; p < s->columns.parties; p++)
            for (uint32_t i = s->columns.first[p]; i < s->columns.first[p + 1]; i++)
                fputc(image[s->columns.column[i]], s->features_out[to][p]);
    }
    mem_free(image);
    return status;
}

static enum status idx_prepare(struct split *s, const struct stream *images, const uint32_t dim[4])
{
    uint32_t features = dim[1] * dim[2] * dim[3];
    bool image = dim[2] > 1 && dim[3] == 1;

    if (s->features == 0)
        return output_open(s, &(struct output_shape){.features = features,
                                                     .height = image ? dim[1] : 0,
                                                     .width = image ? dim[2] : 0});
    if (features == s->features)
        return STATUS_OK;
    return error_set(&s->err, STATUS_DATA, "%s: %u pixels, the training images have %u",
                     images->path, features, s->features);
}

static enum status idx_pair(struct split *s, const char *pair, int set)
{
    char images_path[PATH_MAX];
    const char *comma = strchr(pair, ',');
    struct stream images = {0}, labels = {0};
    uint32_t dim[4], label_dim[4], tests = 0;
    enum status status;

    if (comma == NULL || comma[1] == 0 || comma == pair || comma - pair >= PATH_MAX)
        return error_set(&s->err, STATUS_CONFIG, "%s: expected IMAGES,LABELS", pair);
    snprintf(images_path, sizeof images_path, "%.*s", (int)(comma - pair), pair);
    status = stream_open(&images, images_path, &s->err);
    if (status == STATUS_OK)
        status = stream_open(&labels, comma + 1, &s->err);
    if (status == STATUS_OK)
        status = idx_header(s, &images, false, dim);
    if (status == STATUS_OK)
        status = idx_header(s, &labels, true, label_dim);
    if (status == STATUS_OK && dim[0] != label_dim[0])
        status = error_set(&s->err, STATUS_DATA, "%s: %u images but %u labels", images_path, dim[0],
                           label_dim[0]);
    if (status == STATUS_OK)
        status = idx_prepare(s, &images, dim);
    if (status != STATUS_OK)
        goto out;
    for (uint32_t row = 0; set < 0 && row < dim[0]; row++) {
        char id[16];

        snprintf(id, sizeof id, "%u", row);
        tests += (uint32_t)output_set_of(id);
    }
    if (set != 1)
        idx_put_headers(s, 0, dim[0] - tests);
    if (set != 0)
        idx_put_headers(s, 1, set < 0 ? tests : dim[0]);
    status = idx_rows(s, &images, &labels, dim[0], set);
out:
    stream_close(&images);
    stream_close(&labels);
    return status;
}

/* Images without labels, all of them in the first set. */
static enum status idx_alone(struct split *s, const char *path)
{
    struct stream images = {0};
    uint32_t dim[4];
    enum status status = stream_open(&images, path, &s->err);

    if (status == STATUS_OK)
        status = idx_header(s, &images, false, dim);
    if (status == STATUS_OK)
        status = idx_prepare(s, &images, dim);
    if (status == STATUS_OK) {
        idx_put_headers(s, 0, dim[0]);
        status = idx_rows(s, &images, NULL, dim[0], 0);
    }
    stream_close(&images);
    return status;
}

enum status images_split(struct split *s)
{
    enum status status;

    s->idx = true;
    if (s->o.idx_predict)
        return idx_alone(s, s->o.predict);
    status = idx_pair(s, s->o.idx_train, s->o.idx_test == NULL ? -1 : 0);
    if (status == STATUS_OK && s->o.idx_test != NULL)
        status = idx_pair(s, s->o.idx_test, 1);
    return status;
}
