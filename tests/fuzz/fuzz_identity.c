/* fuzz_identity.c -- any bytes as one of the files of an identity, the others being good: refused
 * in words, or still the identity that the other files make.
 *
 * Input: byte 0 which file, and whether a server reads it; byte 1 whether the rest is the file, or
 * changes in the good one: places (2 bytes) and what to add there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/net.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { FILES = 4, FILE_MAX = 8192 };

/* Of a certificate that is good for both roles: cert, key, ca, crl. */
struct files {
    char path[FILES][TEST_PKI_PATH_MAX];
    uint8_t bytes[FILES][FILE_MAX];
    size_t n[FILES];
    uint8_t spki[NET_SPKI_BYTES];
};

static struct net_identity identity_of(const struct files *f)
{
    return (struct net_identity){f->path[0], f->path[1], f->path[2], f->path[3]};
}

static void read_file(struct files *f, size_t which)
{
    const int fd = open(f->path[which], O_RDONLY | O_CLOEXEC);
    ssize_t n;

    CHECK(fd >= 0);
    n = read(fd, f->bytes[which], FILE_MAX);
    CHECK(n > 0 && n < FILE_MAX);
    f->n[which] = (size_t)n;
    close(fd);
}

static const struct files *good(void)
{
    static struct files f;
    struct net_identity id;
    struct test_pki pki;
    struct net_tls *t;
    int64_t expires;

    if (f.n[0] > 0)
        return &f;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_issue(&pki, &(struct test_cert){.name = "both", .eku = TEST_EKU_BOTH});
    test_pki_crl(&pki, NULL, 0, 86400);
    snprintf(f.path[0], TEST_PKI_PATH_MAX, "%s", test_pki_path(&pki, "both", "pem"));
    snprintf(f.path[1], TEST_PKI_PATH_MAX, "%s", test_pki_path(&pki, "both", "key"));
    snprintf(f.path[2], TEST_PKI_PATH_MAX, "%s", pki.ca);
    snprintf(f.path[3], TEST_PKI_PATH_MAX, "%s", pki.crl);
    test_pki_deinit(&pki);
    for (size_t i = 0; i < FILES; i++)
        read_file(&f, i);
    id = identity_of(&f);
    CHECK(net_tls_new(&t, true, &id, NULL) == STATUS_OK);
    net_tls_own(t, f.spki, &expires);
    net_tls_free(t);
    return &f;
}

static size_t change(struct feed *f, uint8_t file[FILE_MAX], const struct files *from, size_t which)
{
    memcpy(file, from->bytes[which], from->n[which]);
    while (f->left >= 3) {
        const size_t at = feed_number(f, 2) % from->n[which];

        file[at] = (uint8_t)(file[at] + feed_byte(f));
    }
    return from->n[which];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct files *all = good();
    struct feed f = {data, size};
    const uint8_t which = feed_byte(&f), whole = feed_byte(&f);
    struct net_identity id = identity_of(all);
    const char **path[FILES] = {&id.cert, &id.key, &id.ca, &id.crl};
    uint8_t file[FILE_MAX], spki[NET_SPKI_BYTES];
    char name[FEED_PATH_MAX];
    struct error err = {0};
    struct net_tls *t;
    int64_t expires;
    size_t n;
    int fd;

    if (f.left > FILE_MAX)
        return 0;
    n = f.left;
    if (whole % 2 == 0)
        n = change(&f, file, all, which % FILES);
    else
        feed_bytes(&f, file, n);
    fd = feed_file(name, file, n);
    CHECK(fchmod(fd, 0600) == 0);
    *path[which % FILES] = name;
    if (net_tls_new(&t, which & 0x80, &id, &err) == STATUS_OK) {
        net_tls_own(t, spki, &expires);
        CHECK(memcmp(spki, all->spki, sizeof spki) == 0);
        net_tls_free(t);
    } else {
        CHECK(err.status == STATUS_IDENTITY);
        feed_check_words(err.text);
    }
    close(fd);
    return 0;
}
