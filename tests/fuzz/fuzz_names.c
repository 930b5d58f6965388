/* fuzz_names.c -- certificates that somebody hands in for a roster: what is in their
 * subjectAltName, and files that are none.
 *
 * Input: byte 0 even: the rest is the file; odd: the rest is the DER of a subjectAltName, in a
 * certificate that the CA has signed for a party, or for the server by its second bit.
 *
 * Laws: a name that is given out follows the rule, letter by letter, and a roster that is printed
 * with it is read back to the same name; a certificate is good for the role that it was made for
 * alone; refusals are printable words without anything of the certificate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert.h"
#include "common/flow/roster.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

enum { ALT_MAX = 600 };

static struct test_pki pki;
static struct cert_authority ca;

static void check_name(const char *name)
{
    static const char may[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    static struct roster r, again;
    char path[FEED_PATH_MAX];
    struct buf text;
    int fd;

    CHECK(strlen(name) >= 1 && strlen(name) <= CERT_NAME_MAX);
    CHECK(strspn(name, may) == strlen(name) && name[0] != '.' && name[0] != '-');
    memset(&r, 0, sizeof r);
    r.n = 1;
    memcpy(r.server.name, "its-server-is-called-so", 24);
    memcpy(r.server.operator_name, name, strlen(name) + 1);
    r.server.key[0] = 1;
    memcpy(r.party[0].name, name, strlen(name) + 1);
    memcpy(r.party[0].operator_name, name, strlen(name) + 1);
    r.party[0].key[0] = 2;
    if (strcmp(name, r.server.name) == 0)
        return;
    roster_seal(&r);
    buf_init(&text, 4096);
    CHECK(roster_print(&r, &text) == STATUS_OK);
    fd = feed_file(path, text.data, text.len);
    CHECK(roster_load(&again, path, NULL) == STATUS_OK);
    CHECK(memcmp(&again, &r, sizeof r) == 0);
    close(fd);
    buf_deinit(&text);
}

static void look_at(const struct cert *c)
{
    char name[CERT_NAME_MAX + 1];
    uint8_t key[CERT_KEY_BYTES];
    struct error err = {0};
    struct buf text;

    buf_init(&text, 1 << 20);
    if (cert_name(name, c, &err) == STATUS_OK)
        check_name(name);
    else
        feed_check_words(err.text);
    (void)cert_has_role(c, CERT_PARTY);
    if (cert_key(key, c) == STATUS_OK && cert_print_subject(&text, c) == STATUS_OK) {
        for (size_t i = 0; i < text.len; i++)
            CHECK(text.data[i] >= 0x20 && text.data[i] < 0x7f);
    }
    buf_deinit(&text);
}

static void try_signed(const struct feed *f, bool server)
{
    char alt[2 * ALT_MAX + 8] = "DER:";
    struct error err = {0};
    struct cert c;

    if (f->left == 0 || f->left > ALT_MAX)
        return;
    for (size_t i = 0; i < f->left; i++)
        snprintf(alt + 4 + 2 * i, 3, "%02x", f->at[i]);
    test_pki_issue(&pki, &(struct test_cert){.name = "any",
                                             .eku = server ? TEST_EKU_SERVER : TEST_EKU_CLIENT,
                                             .alt = alt});
    CHECK(cert_load(&c, test_pki_path(&pki, "any", "pem"), &err) == STATUS_OK);
    if (cert_check(&ca, &c, server ? CERT_SERVER : CERT_PARTY, &err) != STATUS_OK)
        feed_check_words(err.text); /* OpenSSL may refuse the extension itself */
    CHECK(cert_check(&ca, &c, server ? CERT_PARTY : CERT_SERVER, &err) == STATUS_CONFIG);
    feed_check_words(err.text);
    look_at(&c);
    cert_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const uint8_t how = feed_byte(&f);
    struct error err = {0};
    struct cert c;

    if (ca.store == NULL) {
        test_pki_init(&pki, scratch_dir(), "ca");
        CHECK(cert_authority_load(&ca, pki.ca, NULL, &err) == STATUS_OK);
    }
    if (how % 2 > 0) {
        try_signed(&f, how & 2);
    } else if (cert_parse(&c, f.at, f.left, &err) == STATUS_OK) {
        CHECK(cert_check(&ca, &c, CERT_PARTY, &err) == STATUS_CONFIG);
        look_at(&c);
        cert_deinit(&c);
    } else {
        CHECK(err.status == STATUS_CONFIG && c.x509 == NULL);
        feed_check_words(err.text);
    }
    return 0;
}
