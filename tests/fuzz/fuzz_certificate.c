/* fuzz_certificate.c -- certificates that a CA may have been brought to sign, and such as nobody
 * signed.
 *
 * Input: byte 0 the certificate to begin with, byte 1 whether the CA signs what comes of it; the
 * rest places (2 bytes) and what to add there.
 *
 * Laws: what the CA did not sign is not accepted unless it says what one that it signed says; what
 * it did sign is accepted only as an Ed25519 key whose use for this role is written in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_cert.h"
#include "common/net/tls_context.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { KINDS = 6, DER_MAX = 4096 };

static const struct test_cert kinds[KINDS] = {
    {.name = "client"},
    {.name = "server", .eku = TEST_EKU_SERVER},
    {.name = "both", .eku = TEST_EKU_BOTH},
    {.name = "nothing", .eku = TEST_EKU_NONE},
    {.name = "curve", .key = TEST_KEY_P256},
    {.name = "past", .from_s = -7200, .until_s = -3600},
};

static struct {
    struct test_pki pki;
    struct net_tls *tls;
    uint8_t der[KINDS][DER_MAX], tbs[KINDS][DER_MAX];
    int der_n[KINDS], tbs_n[KINDS];
} made;

static void put_der(size_t k, X509 *x)
{
    unsigned char *at = made.der[k];

    CHECK(i2d_X509(x, NULL) <= DER_MAX);
    made.der_n[k] = i2d_X509(x, &at);
    at = made.tbs[k];
    made.tbs_n[k] = i2d_re_X509_tbs(x, &at);
    CHECK(made.der_n[k] > 0 && made.tbs_n[k] > 0);
}

static void make(void)
{
    struct net_identity id = {0};
    char cert[TEST_PKI_PATH_MAX], key[TEST_PKI_PATH_MAX];

    test_pki_init(&made.pki, scratch_dir(), "ca");
    for (size_t k = 0; k < KINDS; k++) {
        X509 *x = NULL;
        FILE *f;

        test_pki_issue(&made.pki, &kinds[k]);
        f = fopen(test_pki_path(&made.pki, kinds[k].name, "pem"), "r");
        CHECK(f != NULL && PEM_read_X509(f, &x, NULL, NULL) != NULL);
        fclose(f);
        put_der(k, x);
        X509_free(x);
    }
    snprintf(cert, sizeof cert, "%s", test_pki_path(&made.pki, "both", "pem"));
    snprintf(key, sizeof key, "%s", test_pki_path(&made.pki, "both", "key"));
    id = (struct net_identity){cert, key, made.pki.ca, NULL};
    CHECK(net_tls_new(&made.tls, true, &id, NULL) == STATUS_OK);
}

/* Does it say what one says that the CA has signed? */
static bool known(X509 *x)
{
    unsigned char *tbs = NULL;
    const int n = i2d_re_X509_tbs(x, &tbs);
    bool is = false;

    for (size_t k = 0; k < KINDS; k++)
        is = is || (n == made.tbs_n[k] && memcmp(tbs, made.tbs[k], (size_t)n) == 0);
    OPENSSL_free(tbs);
    return is;
}

static void check_accepted(X509 *x, bool signed_now, bool server)
{
    uint8_t spki[NET_SPKI_BYTES];

    CHECK(signed_now || known(x));
    CHECK(EVP_PKEY_get_base_id(X509_get0_pubkey(x)) == EVP_PKEY_ED25519);
    CHECK(X509_get_extension_flags(x) & EXFLAG_XKUSAGE);
    CHECK(X509_get_extended_key_usage(x) & (server ? XKU_SSL_SERVER : XKU_SSL_CLIENT));
    CHECK(X509_cmp_current_time(X509_get0_notBefore(x)) < 0);
    CHECK(X509_cmp_current_time(X509_get0_notAfter(x)) > 0);
    CHECK(tls_cert_spki(x, spki));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const size_t k = feed_byte(&f) % KINDS;
    const bool sign = feed_byte(&f) % 2 > 0;
    uint8_t der[DER_MAX];
    const unsigned char *at = der;
    X509 *x;

    if (made.tls == NULL)
        make();
    memcpy(der, made.der[k], (size_t)made.der_n[k]);
    while (f.left >= 3) {
        const size_t place = feed_number(&f, 2) % (size_t)made.der_n[k];

        der[place] = (uint8_t)(der[place] + feed_byte(&f));
    }
    x = d2i_X509(NULL, &at, made.der_n[k]);
    if (x != NULL && (!sign || X509_sign(x, made.pki.key, NULL) > 0)) {
        for (int server = 0; server < 2; server++) {
            struct error err = {0};

            if (tls_cert_check(made.tls->ctx, x, NULL, server, &err) == STATUS_OK) {
                check_accepted(x, sign, server);
            } else {
                CHECK(err.status == STATUS_AUTH);
                feed_check_words(err.text);
            }
        }
    }
    X509_free(x);
    ERR_clear_error();
    return 0;
}
