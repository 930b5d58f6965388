/* safetensors.h -- a net as a plain safetensors file that numpy and PyTorch read without our code.
 *
 * Tensors "layer.0.weight" (in x out, F32), "layer.0.bias" (out), ... in that order; of a
 * polynomial "w1", "w2", ... (inputs x outputs), one for each power; behind them "stand_in" (rows x
 * width) where the net has a table.  The header is padded with
 * spaces to 8 bytes.  The same weights give the same bytes, so their SHA-256 names the model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_SAFETENSORS_H
#define COLONNADE_NN_SAFETENSORS_H

#include "common/base/buf.h"
#include "common/nn/net.h"

enum status safetensors_print(const struct nn_net *n, struct buf *out) MUST_USE;
/* The same with "__metadata__" first: `metadata` is a JSON object of strings, braces included. */
enum status safetensors_print_with(const struct nn_net *n, const char *metadata,
                                   struct buf *out) MUST_USE;
/* The metadata of a file as it stands, braces included, into the bytes; empty when it has none.
 * *data_bytes: of its tensors.  STATUS_DATA when it is no safetensors file. */
struct safetensors_text;
enum status safetensors_metadata(struct safetensors_text *metadata, size_t *data_bytes,
                                 const uint8_t *bytes, size_t n, struct error *err) MUST_USE;
/* STATUS_DATA when a value of the data part is not finite, whatever net it may be of; what is no
 * safetensors file at all is left to the next. */
enum status safetensors_numbers(const uint8_t *bytes, size_t n, struct error *err) MUST_USE;
/* Reads the weights back into a net of the same shape; STATUS_DATA when the file does not fit it.
 * Of dense layers, PyTorch's own are taken, too: of a torch.nn.Sequential of Linear layers with one
 * activation between each two, "0.weight" (out x in), "0.bias", "2.weight", ... */
enum status safetensors_parse(struct nn_net *n, const void *bytes, size_t len,
                              struct error *err) MUST_USE;

#endif
