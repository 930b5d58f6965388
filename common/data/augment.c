/* augment.c -- line by line: the same steps for all moves of the same size.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/augment.h"

#include <string.h>

static void move_line(float *to, const float *from, uint32_t width, const struct augment_move *move)
{
    for (uint32_t x = 0; x < width; x++) {
        const int64_t at = (int64_t)x - move->right;

        if (at < 0 || at >= width)
            to[x] = 0;
        else
            to[x] = from[move->mirror ? width - 1 - (size_t)at : (size_t)at];
    }
}

void augment_image(float *to, const float *from, const struct augment_shape *shape,
                   const struct augment_move *move)
{
    const size_t width = shape->width, plane = width * shape->height;

    for (uint32_t c = 0; c < shape->channels; c++) {
        for (uint32_t y = 0; y < shape->height; y++) {
            const int64_t at = (int64_t)y - move->down;
            float *line = to + c * plane + y * width;

            if (at < 0 || at >= shape->height)
                memset(line, 0, width * sizeof *line);
            else
                move_line(line, from + c * plane + (size_t)at * width, shape->width, move);
        }
    }
}
