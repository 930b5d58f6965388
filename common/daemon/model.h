/* model.h -- a net as a readable file at the end of a run, and its name.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_MODEL_H
#define COLONNADE_DAEMON_MODEL_H

#include "common/base/status.h"
#include "common/crypto/digest.h"
#include "common/nn/net.h"

/* Writes state/model.safetensors (0600), and the same bytes to export_file unless that is NULL.
 * sha256: their digest in hexadecimal. */
enum status model_write(const struct nn_net *n, const char *state, const char *export_file,
                        char sha256[DIGEST_HEX_CHARS + 1], struct error *err) MUST_USE;

#endif
