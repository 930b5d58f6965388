/* cifar.c -- a file's length says how many records it has, before one of them is taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/cifar.h"

#include "common/data/table.h"

#include <stdio.h>
#include <string.h>

/* By how many labels a record has, and which. */
static const struct {
    const char *set;
    uint8_t classes[CIFAR_LABELS_MAX];
} kinds[] = {{"CIFAR-10", {10}}, {"CIFAR-100", {20, 100}}};

static enum status changed(const struct cifar *c, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s: the file changed while it was read", c->path);
}

/* All bytes of the present file, which is at its start again then. */
static enum status measure(struct cifar *c, size_t *bytes, struct error *err)
{
    uint8_t chunk[8192];
    size_t n;

    *bytes = 0;
    do {
        const enum status s = stream_read(&c->in, chunk, sizeof chunk, &n, err);

        if (s != STATUS_OK)
            return s;
        *bytes += n;
    } while (n == sizeof chunk);
    return stream_rewind(&c->in, err);
}

static enum status count(struct cifar *c, size_t *records, struct error *err)
{
    size_t bytes = 0;
    const enum status s = measure(c, &bytes, err);

    if (s != STATUS_OK)
        return s;
    if (bytes == 0)
        return error_set(err, STATUS_DATA, "%s: empty, where a batch of CIFAR has images", c->path);
    if (c->labels == 0)
        c->labels = bytes % (CIFAR_PIXELS + 1) != 0 && bytes % (CIFAR_PIXELS + 2) == 0 ? 2 : 1;
    if (bytes % (CIFAR_PIXELS + c->labels) != 0)
        return error_set(err, STATUS_DATA,
                         "%s: %zu bytes are no whole number of records of %s, which are %zu each",
                         c->path, bytes, kinds[c->labels - 1].set, CIFAR_PIXELS + c->labels);
    *records = bytes / (CIFAR_PIXELS + c->labels);
    return STATUS_OK;
}

/* The next file of the list, at its start. */
static enum status next_file(struct cifar *c, struct error *err)
{
    const size_t n = strcspn(c->rest, ",");
    const bool more = c->rest[n] == ',';
    struct error why = {0};
    enum status s;

    if (n == 0 || n >= sizeof c->path)
        return error_set(err, STATUS_CONFIG, "%s: expected FILE[,FILE...]", c->rest);
    stream_close(&c->in);
    memcpy(c->path, c->rest, n);
    c->path[n] = 0;
    c->rest += n + (c->rest[n] == ',' && c->rest[n + 1] != 0);
    c->record = 0;
    s = stream_open(&c->in, c->path, &why);
    if (s != STATUS_OK)
        return error_set(err, s, "%s%s", why.text,
                         more ? " (a comma parts files: names of files and folders have none)"
                              : "");
    return count(c, &c->left, err);
}

enum status cifar_open(struct cifar *c, const char *files, enum cifar_label label,
                       struct error *err)
{
    enum status s = STATUS_OK;
    size_t n = 0;

    *c = (struct cifar){.rest = files, .labels = label == CIFAR_ANY ? 0 : 2};
    do {
        s = n++ == CIFAR_FILES_MAX
                ? error_set(err, STATUS_CONFIG, "more than %d files of images", CIFAR_FILES_MAX)
                : next_file(c, err);
        if (s == STATUS_OK && c->left > TABLE_ROWS_MAX - c->rows)
            s = error_set(err, STATUS_DATA, "%s: more than %d images", c->path, TABLE_ROWS_MAX);
        if (s == STATUS_OK)
            c->rows += c->left;
    } while (s == STATUS_OK && *c->rest != 0);
    c->chosen = c->labels == 2 && label != CIFAR_COARSE;
    c->rest = files;
    c->left = 0;
    if (s != STATUS_OK)
        cifar_close(c);
    return s;
}

enum status cifar_next(struct cifar *c, uint8_t pixels[CIFAR_PIXELS], uint8_t *label,
                       struct error *err)
{
    uint8_t labels[CIFAR_LABELS_MAX];
    size_t n = 0, m = 0;
    enum status s = STATUS_OK;

    if (c->left == 0)
        s = *c->rest != 0 ? next_file(c, err) : changed(c, err);
    if (s == STATUS_OK)
        s = stream_read(&c->in, labels, c->labels, &n, err);
    if (s == STATUS_OK)
        s = stream_read(&c->in, pixels, CIFAR_PIXELS, &m, err);
    if (s != STATUS_OK)
        return s;
    if (n != c->labels || m != CIFAR_PIXELS)
        return changed(c, err);
    c->left--;
    c->record++;
    for (size_t i = 0; i < c->labels; i++)
        if (labels[i] >= kinds[c->labels - 1].classes[i])
            return error_set(err, STATUS_DATA, "%s: record %zu: label %u, where %s has 0 to %u",
                             c->path, c->record, labels[i], kinds[c->labels - 1].set,
                             kinds[c->labels - 1].classes[i] - 1);
    *label = labels[c->chosen];
    return STATUS_OK;
}

void cifar_close(struct cifar *c)
{
    stream_close(&c->in);
    c->in = (struct stream){0};
}
