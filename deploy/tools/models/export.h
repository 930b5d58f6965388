/* export.h -- vfl models export: the own part of a model as an ONNX file (common/onnx).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_MODELS_EXPORT_H
#define COLONNADE_TOOLS_MODELS_EXPORT_H

#include "common/base/status.h"

/* run "": the one in use.  The file is for this user alone, as the package is. */
enum status export_onnx(const char *state, const char *run, const char *path,
                        struct error *err) MUST_USE;

#endif
