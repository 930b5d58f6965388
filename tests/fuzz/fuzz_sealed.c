/* fuzz_sealed.c -- any bytes as a sealed file, as the file of its key, and a sealed file changed
 * anywhere.
 *
 * Input: byte 0 chooses: 0, the rest is a file; 1, the rest is a key's file; else a length to cut
 * to and places to change in a file that was sealed well.
 *
 * Laws: what opens is what was sealed, whole and under its label; everything else is refused in
 * words that do not quote it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sealed.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { FILE_MAX = 1 << 12 };

static const uint8_t key[SEALED_KEY_BYTES] = {1, 2, 3};
static const char label[] = "vfl-party p1 of a plan", secret[] = "weights and biases";

/* A well sealed file, made once, in memory. */
static size_t sealed_file(uint8_t out[FILE_MAX])
{
    static uint8_t file[FILE_MAX];
    static size_t n;
    const char *path = scratch_path("sealed");
    int fd;

    if (n == 0) {
        CHECK(sealed_write(path, key, label, secret, sizeof secret, NULL) == STATUS_OK);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0);
        n = (size_t)read(fd, file, sizeof file);
        CHECK(n > sizeof secret && n < sizeof file);
        close(fd);
    }
    memcpy(out, file, n);
    return n;
}

/* Does it open, to what was sealed? */
static bool opens(const uint8_t *bytes, size_t n)
{
    /* A file by name: what is kept is never opened through a link, as one in memory would be. */
    const char *path = scratch_write("changed", bytes, n);
    char got[SEALED_LABEL_MAX] = "";
    struct error err = {0};
    struct buf out;
    enum status s;

    buf_init(&out, FILE_MAX);
    s = sealed_read(path, key, got, &out, &err);
    CHECK(s == STATUS_OK || s == STATUS_CONFIG || s == STATUS_LIMIT || s == STATUS_IO);
    if (s == STATUS_OK)
        CHECK(strcmp(got, label) == 0 && out.len == sizeof secret &&
              memcmp(out.data, secret, sizeof secret) == 0);
    else
        feed_check_words(err.text);
    buf_deinit(&out);
    return s == STATUS_OK;
}

static void changed(struct feed *f)
{
    uint8_t file[FILE_MAX], good[FILE_MAX];
    const size_t whole = sealed_file(file), n = whole - feed_number(f, 2) % (whole + 1);

    (void)sealed_file(good);
    for (uint32_t i = 0; i < 4 && f->left > 0 && n > 0; i++) {
        const size_t at = feed_number(f, 2) % n;

        file[at] ^= feed_byte(f);
    }
    CHECK(opens(file, n) == (n == whole && memcmp(file, good, n) == 0));
}

/* 64 digits, and perhaps one line's end and what is behind it. */
static bool is_key(const uint8_t *text, size_t n, uint8_t out[SEALED_KEY_BYTES])
{
    char digits[2 * SEALED_KEY_BYTES + 1];

    if (n < 2 * SEALED_KEY_BYTES)
        return false;
    memcpy(digits, text, sizeof digits - 1);
    digits[sizeof digits - 1] = 0;
    if (strspn(digits, "0123456789abcdefABCDEF") != sizeof digits - 1)
        return false;
    if (n > sizeof digits - 1 && strchr("\r\n", text[sizeof digits - 1]) == NULL)
        return false;
    for (size_t i = 0; i < SEALED_KEY_BYTES; i++)
        CHECK(sscanf(digits + 2 * i, "%2hhx", &out[i]) == 1);
    return true;
}

static void key_file(const struct feed *f)
{
    uint8_t got[SEALED_KEY_BYTES], expected[SEALED_KEY_BYTES];
    char path[FEED_PATH_MAX];
    const int fd = feed_file(path, f->at, f->left);
    struct error err = {0};
    enum status s;

    CHECK(fchmod(fd, 0600) == 0);
    s = sealed_key_load(got, path, &err);
    CHECK(s == STATUS_OK || s == err.status);
    if (s == STATUS_OK)
        CHECK(is_key(f->at, f->left, expected) && memcmp(got, expected, sizeof got) == 0);
    else
        feed_check_words(err.text);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};

    switch (feed_byte(&f)) {
    case 0: (void)opens(f.at, f.left); break;
    case 1: key_file(&f); break;
    default: changed(&f); break;
    }
    return 0;
}
