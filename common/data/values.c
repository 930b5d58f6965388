/* values.c -- growing memory by a copy, and a file where it is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/values.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <sys/mman.h>

/* A file is never empty. */
static bool bytes_of(size_t n, size_t *bytes)
{
    return !__builtin_mul_overflow(n > 0 ? n : 1, sizeof(float), bytes);
}

static enum status grow_memory(float **x, size_t old, size_t bytes)
{
    float *grown = mem_grow(*x, old * sizeof **x, bytes);

    if (grown == NULL)
        return STATUS_MEMORY;
    *x = grown;
    return STATUS_OK;
}

static enum status grow_file(struct values *v, float **x, size_t bytes, struct error *err)
{
    const bool first = v->file.data == NULL;
    enum status s;

    if (!mem_admit())
        return STATUS_MEMORY;
    s = first ? mapped_make_unnamed(&v->file, v->folder, bytes, err)
              : mapped_resize(&v->file, bytes, v->folder, err);
    if (s != STATUS_OK) {
        error_wrap(err, "data.mapped");
        return s;
    }
    (void)madvise(v->file.data, v->file.n, MADV_DONTDUMP); /* records, in no core file */
    if (first)
        (void)madvise(v->file.data, v->file.n, MADV_SEQUENTIAL);
    *x = (void *)v->file.data;
    return STATUS_OK;
}

enum status values_grow(struct values *v, float **x, size_t old, size_t n, struct error *err)
{
    size_t bytes;

    CHECK(n >= old);
    if (*x != NULL && n == old)
        return STATUS_OK;
    if (!bytes_of(n, &bytes))
        return STATUS_MEMORY;
    return v->folder != NULL && v->folder[0] != 0 ? grow_file(v, x, bytes, err)
                                                  : grow_memory(x, old, bytes);
}

void values_cut(struct values *v, float **x, size_t n)
{
    size_t bytes;

    if (v->file.data == NULL || !bytes_of(n, &bytes) || bytes >= v->file.n)
        return;
    (void)!mapped_resize(&v->file, bytes, v->folder, NULL); /* or it is as it was */
    *x = (void *)v->file.data;
}

enum status values_settle(const struct values *v, struct error *err)
{
    enum status s;

    if (v->file.data == NULL)
        return STATUS_OK;
    /* Without it a page that could not be written would be dropped, and read again as zeros. */
    s = mapped_sync(&v->file, err);
    if (s != STATUS_OK)
        error_wrap(err, "data.mapped");
    (void)madvise(v->file.data, v->file.n, MADV_RANDOM);
    return s;
}

void values_free(struct values *v, float *x)
{
    if (v->file.data == NULL)
        mem_free(x);
    mapped_close(&v->file);
}
