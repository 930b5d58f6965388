/* feed.h -- an input of a fuzz target read as choices, and a part of it as a file.
 *
 * What is not there reads as zero, so that every input means something and a shorter one means
 * less.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FUZZ_FEED_H
#define COLONNADE_TESTS_FUZZ_FEED_H

#include "common/base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The name that libFuzzer and tests/lib/fuzz_replay.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct feed {
    const uint8_t *at;
    size_t left;
};

/* The next `bytes` <= 8 bytes, little-endian. */
static inline uint64_t feed_number(struct feed *f, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes && f->left > 0; i++) {
        v |= (uint64_t)*f->at++ << 8 * i;
        f->left--;
    }
    return v;
}

static inline uint8_t feed_byte(struct feed *f)
{
    return (uint8_t)feed_number(f, 1);
}

/* least .. most, of one byte. */
static inline uint32_t feed_among(struct feed *f, uint32_t least, uint32_t most)
{
    return least + feed_byte(f) % (most - least + 1);
}

/* n bytes, zeros behind the end. */
static inline void feed_bytes(struct feed *f, void *out, size_t n)
{
    const size_t some = f->left < n ? f->left : n;

    memset(out, 0, n);
    if (some > 0)
        memcpy(out, f->at, some);
    f->at += some;
    f->left -= some;
}

/* All that is left as a text that ends in 0; false when it does not fit or holds a 0. */
static inline bool feed_text(struct feed *f, char *out, size_t room)
{
    if (f->left >= room || memchr(f->at, 0, f->left) != NULL)
        return false;
    memcpy(out, f->at, f->left);
    out[f->left] = 0;
    return true;
}

enum { FEED_PATH_MAX = 64 };

/* A file of these bytes in memory; close() ends it.  path names it for whoever opens files. */
static inline int feed_file(char path[FEED_PATH_MAX], const void *bytes, size_t n)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, FEED_PATH_MAX, "/proc/self/fd/%d", fd);
    return fd;
}

/* What an error may say: printable, and something. */
static inline void feed_check_words(const char *text)
{
    CHECK(text[0] != 0);
    for (const char *c = text; *c != 0; c++)
        CHECK((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f);
}

#endif
