/* encode_bare.c -- encodings without codes: floats as they are, and compressors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode_ops.h"

static enum status float_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    (void)e;
    (void)p;
    (void)parties;
    return STATUS_OK;
}

static enum status compress_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    (void)parties;
    compress_of(&e->compress, p);
    return compress_ready();
}

const struct encode_ops encode_float32 = {.init = float_init};

const struct encode_ops encode_scalar = {.init = compress_init};
const struct encode_ops encode_lattice = {.init = compress_init};
const struct encode_ops encode_e8 = {.init = compress_init};
const struct encode_ops encode_topk = {.init = compress_init};
