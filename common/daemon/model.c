/* model.c -- safetensors files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/model.h"

#include "common/base/file.h"
#include "common/nn/safetensors.h"

#include <limits.h>
#include <stdio.h>

enum status model_write(const struct nn_net *n, const char *state, const char *export_file,
                        char sha256[DIGEST_HEX_CHARS + 1], struct error *err)
{
    uint8_t digest[DIGEST_BYTES];
    char path[PATH_MAX];
    struct buf model;
    enum status s;

    buf_init(&model, SIZE_MAX); /* a model that could be trained can be written */
    s = safetensors_print(n, &model);
    if (s != STATUS_OK) {
        buf_deinit(&model);
        return error_set(err, s, "model: %s", status_words(s));
    }
    digest_sha256(digest, model.data, model.len);
    digest_hex(sha256, digest, sizeof digest);
    snprintf(path, sizeof path, "%s/model.safetensors", state);
    s = file_write_atomic(path, model.data, model.len, 0600, err);
    if (s == STATUS_OK && export_file != NULL)
        s = file_write_atomic(export_file, model.data, model.len, 0600, err);
    buf_deinit(&model);
    return s;
}
