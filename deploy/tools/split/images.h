/* images.h -- IDX files of images and labels, cut into those of parties.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_IMAGES_H
#define COLONNADE_TOOLS_SPLIT_IMAGES_H

#include "deploy/tools/split/split.h"

enum status images_split(struct split *s);

#endif
