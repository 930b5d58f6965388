/* fuzz_cifar.c -- any bytes as batches of CIFAR, one file twice over.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/cifar.h"
#include "tests/fuzz/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t pixels[CIFAR_PIXELS], label = 0;
    char path[FEED_PATH_MAX], list[2 * FEED_PATH_MAX];
    struct error err = {0};
    struct cifar c;
    enum status s;
    int fd;

    if (size == 0)
        return 0;
    fd = feed_file(path, data + 1, size - 1);
    snprintf(list, sizeof list, "%s,%s", path, path);
    s = cifar_open(&c, list, (enum cifar_label)(data[0] % 3), &err);
    if (s == STATUS_OK)
        CHECK(c.rows * (CIFAR_PIXELS + c.labels) >= 2 && c.rows % 2 == 0);
    for (size_t i = 0; s == STATUS_OK && i < c.rows; i++) {
        s = cifar_next(&c, pixels, &label, &err);
        CHECK(s != STATUS_OK || label < (c.labels == 1 ? 10 : c.chosen == 0 ? 20 : 100));
    }
    if (s != STATUS_OK)
        CHECK(s == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0);
    cifar_close(&c);
    close(fd);
    return 0;
}
