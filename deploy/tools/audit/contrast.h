/* contrast.h -- what is not protected, measured: features from embeddings, labels from gradients.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_CONTRAST_H
#define COLONNADE_TOOLS_AUDIT_CONTRAST_H

#include "common/data/table.h"
#include "deploy/tools/audit/seen.h"

/* A server that knows the first party's features of `known` training records (1 .. rows - 1) fits a
 * linear map to them from what it saw of those records (in clear that party's embeddings, otherwise
 * the sums), and guesses the others'.  Prints R^2 over all other records, for the columns together
 * and the best of them. */
enum status contrast_features(const struct seen *s, const struct table *features, size_t known,
                              struct error *err) MUST_USE;

/* A party that sorts records by the side of the first one's gradient (under `factored` its row of
 * D) on which theirs is.  Prints how many labels of classes 0 and 1 come out right, whichever side
 * is called 1, beside always guessing the more frequent. */
enum status contrast_labels(const struct seen *s, const struct table *labels,
                            struct error *err) MUST_USE;

#endif
