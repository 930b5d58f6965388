/* safetensors.c -- eight bytes of header length, a JSON header, the tensors back to back.
 *
 * Reading checks all of the file before the first weight is written: a file that does not fit
 * leaves the net as it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/safetensors.h"

#include "common/base/finite.h"
#include "common/nn/layer.h"
#include "common/nn/safetensors_header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors are little-endian");

enum {
    LENGTH_BYTES = 8,
    HEADER_MAX = 1 << 26,
    TENSORS_MAX = 4 * NN_LAYERS_MAX + 1 + NN_EMBEDDED_MAX
};
_Static_assert((int)NN_DEGREE_MAX < (int)TENSORS_MAX, "a tensor for each power");

static size_t of_layer(const struct nn_net *n, size_t i)
{
    return layer_tensors(&n->layer[i]);
}

static size_t tensors(const struct nn_net *n)
{
    size_t sum = n->spec.table.rows > 0;

    for (size_t i = 0; i < n->spec.layers; i++)
        sum += of_layer(n, i);
    return sum;
}

static struct layer_tensor table_of(const struct nn_net *n)
{
    const struct nn_layer *l = &n->layer[n->spec.layers];

    return (struct layer_tensor){.values = l->w,
                                 .count = nn_layer_params(l),
                                 .rank = 2,
                                 .shape = {l->in, l->out},
                                 .name = "stand_in"};
}

static struct layer_tensor tensor_of(const struct nn_net *n, size_t index)
{
    for (size_t i = 0; i < n->spec.layers; i++) {
        if (index < of_layer(n, i))
            return n->layer[i].kind->tensor(&n->layer[i], i, index);
        index -= of_layer(n, i);
    }
    return table_of(n);
}

static enum status print_header(const struct nn_net *n, const char *metadata, struct buf *out)
{
    size_t offset = 0;
    enum status s = buf_printf(out, "{");

    if (s == STATUS_OK && metadata != NULL) {
        s = buf_printf(out, "\"__metadata__\":");
        if (s == STATUS_OK)
            s = buf_append(out, metadata, strlen(metadata));
        if (s == STATUS_OK && tensors(n) > 0)
            s = buf_printf(out, ",");
    }

    for (size_t i = 0; i < tensors(n) && s == STATUS_OK; i++) {
        const struct layer_tensor t = tensor_of(n, i);
        const size_t end = offset + t.count * sizeof(float);

        s = buf_printf(out, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%llu", i == 0 ? "" : ",",
                       t.name, (unsigned long long)t.shape[0]);
        for (size_t d = 1; d < t.rank && s == STATUS_OK; d++)
            s = buf_printf(out, ",%llu", (unsigned long long)t.shape[d]);
        if (s == STATUS_OK)
            s = buf_printf(out, "],\"data_offsets\":[%zu,%zu]}", offset, end);
        offset = end;
    }
    return s == STATUS_OK ? buf_printf(out, "}") : s;
}

static enum status print_all(const struct nn_net *n, const char *metadata, struct buf *out)
{
    static const char padding[LENGTH_BYTES] = "        ";
    const size_t start = out->len;
    uint64_t length = 0;
    enum status s = buf_append(out, &length, sizeof length);

    if (s == STATUS_OK)
        s = print_header(n, metadata, out);
    if (s == STATUS_OK)
        s = buf_append(out, padding,
                       (LENGTH_BYTES - (out->len - start) % LENGTH_BYTES) % LENGTH_BYTES);
    if (s != STATUS_OK)
        return s;
    length = out->len - start - sizeof length;
    memcpy(out->data + start, &length, sizeof length);
    for (size_t i = 0; i < tensors(n) && s == STATUS_OK; i++) {
        const struct layer_tensor t = tensor_of(n, i);

        s = buf_append(out, t.values, t.count * sizeof(float));
    }
    return s;
}

enum status safetensors_print_with(const struct nn_net *n, const char *metadata, struct buf *out)
{
    const size_t start = out->len;
    enum status s;

    nn_net_fetch(n);
    s = print_all(n, metadata, out);
    if (s != STATUS_OK)
        out->len = start;
    return s;
}

enum status safetensors_print(const struct nn_net *n, struct buf *out)
{
    return safetensors_print_with(n, NULL, out);
}

/* Where each of our tensors lies in the data part. */
struct places {
    size_t count;
    int found[TENSORS_MAX];
    int turned[TENSORS_MAX]; /* its dimensions in PyTorch's order */
    uint64_t begin[TENSORS_MAX], end[TENSORS_MAX];
};

static bool same_shape(const struct safetensors_entry *e, const struct layer_tensor *t, int turned)
{
    bool same = e->rank == t->rank;

    for (size_t d = 0; d < t->rank && same; d++)
        same = e->shape[d] == t->shape[turned ? t->torch_axis[d] : d];
    return same;
}

static enum status place_entry(struct places *p, const struct nn_net *n,
                               const struct safetensors_entry *e, uint64_t data_len,
                               struct error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct layer_tensor t = tensor_of(n, i);

        const int torch = t.torch[0] != 0 && safetensors_text_is(&e->name, t.torch);

        if (!torch && !safetensors_text_is(&e->name, t.name))
            continue;
        if (p->found[i])
            return error_set(err, STATUS_DATA, "%s stands twice", t.name);
        p->turned[i] = torch && t.rank >= 2;
        if (!safetensors_text_is(&e->dtype, "F32") || !same_shape(e, &t, p->turned[i]))
            return error_set(err, STATUS_DATA, "%s has another type or shape than the plan's model",
                             t.name);
        if (e->end > data_len || e->end - e->begin != t.count * sizeof(float))
            return error_set(err, STATUS_DATA, "%s lies outside of the file or has a wrong size",
                             t.name);
        p->found[i] = 1;
        p->begin[i] = e->begin;
        p->end[i] = e->end;
        return STATUS_OK;
    }
    return error_set(err, STATUS_DATA, "a tensor that the plan's model does not have");
}

/* Every tensor is there, none overlaps another, and no byte is left over. */
static enum status check_places(const struct places *p, const struct nn_net *n, uint64_t data_len,
                                struct error *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (!p->found[i])
            return error_set(err, STATUS_DATA, "%s is missing", tensor_of(n, i).name);
        for (size_t j = 0; j < i; j++)
            if (p->begin[i] < p->end[j] && p->begin[j] < p->end[i])
                return error_set(err, STATUS_DATA, "%s overlaps %s", tensor_of(n, i).name,
                                 tensor_of(n, j).name);
        total += p->end[i] - p->begin[i];
    }
    if (total != data_len)
        return error_set(err, STATUS_DATA, "bytes that belong to no tensor");
    return STATUS_OK;
}

enum status safetensors_numbers(const uint8_t *bytes, size_t n, struct error *err)
{
    uint64_t header;
    uint32_t strange = 0;

    if (n < LENGTH_BYTES)
        return STATUS_OK;
    memcpy(&header, bytes, LENGTH_BYTES);
    if (header > n - LENGTH_BYTES)
        return STATUS_OK;
    for (size_t at = LENGTH_BYTES + header; at + sizeof(float) <= n; at += sizeof(float)) {
        float value;

        memcpy(&value, bytes + at, sizeof value);
        strange |= ~finite_mask(value);
    }
    if (strange == 0)
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "it holds a value that is not finite");
}

static enum status check_values(const struct places *p, const struct nn_net *n, const uint8_t *data,
                                struct error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct layer_tensor t = tensor_of(n, i);

        for (uint64_t at = p->begin[i]; at < p->end[i]; at += sizeof(float)) {
            float value;

            memcpy(&value, data + at, sizeof value);
            if (!isfinite(value))
                return error_set(err, STATUS_DATA, "%s holds a value that is not finite", t.name);
            if (t.square && value < 0)
                return error_set(err, STATUS_DATA, "%s holds a value below 0", t.name);
        }
    }
    return STATUS_OK;
}

static enum status find_places(struct places *p, const struct nn_net *n, const char *header,
                               size_t header_len, uint64_t data_len, struct error *err)
{
    struct safetensors_header h;
    struct safetensors_entry e;
    int more;

    memset(p, 0, sizeof *p);
    p->count = tensors(n);
    safetensors_header_init(&h, header, header_len);
    while ((more = safetensors_header_next(&h, &e)) == 1) {
        const enum status s = place_entry(p, n, &e, data_len, err);

        if (s != STATUS_OK)
            return s;
    }
    if (more < 0)
        return error_set(err, STATUS_DATA, "the header is not that of a safetensors file");
    return check_places(p, n, data_len, err);
}

static enum status header_length(uint64_t *header_len, const uint8_t *bytes, size_t n,
                                 struct error *err)
{
    if (n < LENGTH_BYTES)
        return error_set(err, STATUS_DATA, "shorter than a safetensors file");
    memcpy(header_len, bytes, sizeof *header_len);
    if (*header_len > HEADER_MAX || *header_len > n - LENGTH_BYTES)
        return error_set(err, STATUS_DATA, "a header of %llu bytes does not fit",
                         (unsigned long long)*header_len);
    return STATUS_OK;
}

enum status safetensors_metadata(struct safetensors_text *metadata, size_t *data_bytes,
                                 const uint8_t *bytes, size_t n, struct error *err)
{
    struct safetensors_header h;
    struct safetensors_entry e;
    uint64_t header_len = 0;
    enum status s = header_length(&header_len, bytes, n, err);
    int more;

    if (s != STATUS_OK)
        return s;
    safetensors_header_init(&h, (const char *)bytes + LENGTH_BYTES, (size_t)header_len);
    while ((more = safetensors_header_next(&h, &e)) == 1)
        continue;
    if (more < 0)
        return error_set(err, STATUS_DATA, "the header is not that of a safetensors file");
    *metadata = h.metadata;
    *data_bytes = n - LENGTH_BYTES - (size_t)header_len;
    return STATUS_OK;
}

/* Values whose dimensions stand in PyTorch's order into ours. */
static void take_transposed(struct layer_tensor *t, const uint8_t *from)
{
    size_t step[LAYER_RANK_MAX], at[LAYER_RANK_MAX] = {0};

    for (size_t d = 0; d < t->rank; d++) {
        step[d] = 1;
        for (size_t k = t->torch_axis[d] + (size_t)1; k < t->rank; k++)
            step[d] *= t->shape[k];
    }
    for (size_t i = 0; i < t->count; i++, from += sizeof(float)) {
        size_t to = 0;

        for (size_t d = 0; d < t->rank; d++)
            to += at[d] * step[d];
        memcpy(&t->values[to], from, sizeof(float));
        for (size_t d = t->rank; d-- > 0 && ++at[d] == t->shape[t->torch_axis[d]];)
            at[d] = 0;
    }
}

enum status safetensors_parse(struct nn_net *n, const void *bytes, size_t len, struct error *err)
{
    const uint8_t *file = bytes;
    struct places p;
    uint64_t header_len = 0;
    enum status s = header_length(&header_len, file, len, err);

    if (s != STATUS_OK)
        return s;
    file += LENGTH_BYTES;
    len -= LENGTH_BYTES + (size_t)header_len;
    s = find_places(&p, n, (const char *)file, (size_t)header_len, len, err);
    file += header_len;
    if (s == STATUS_OK)
        s = check_values(&p, n, file, err);
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < p.count; i++) {
        struct layer_tensor t = tensor_of(n, i);

        if (p.turned[i])
            take_transposed(&t, file + p.begin[i]);
        else
            memcpy(t.values, file + p.begin[i], t.count * sizeof(float));
    }
    nn_net_give(n);
    return STATUS_OK;
}
