/* cert.h -- certificates as they are read: whose they are, for which role, and whether a CA and its
 * revocation list stand behind them.
 *
 * A file is judged in this order: one PEM certificate and nothing secret, then cert_check (chain,
 * dates, revocation, role, key), then cert_name.  Nothing of a certificate is text for anybody
 * before cert_name has returned it: subjects, and names that break the rule, are never shown as
 * they stand.  How TLS judges its peers is common/net/tls_cert.c, by the same rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_CERT_H
#define COLONNADE_CRYPTO_CERT_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/crypto/cert_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CERT_FILE_MAX = 65536,
    CERT_KEY_BYTES = 32,
    CERT_SERIAL_HEX_MAX = 40,
    CERT_CRL_MAX = 1 << 20
};

/* A party connects (clientAuth), the server is connected to (serverAuth). */
enum cert_role { CERT_PARTY, CERT_SERVER };

struct cert {
    void *x509; /* NULL: none */
};

/* The first certificate of a PEM text.  STATUS_CONFIG: there is none, or the text holds a private
 * key, too, or is longer than CERT_FILE_MAX; a word about it in *err. */
enum status cert_parse(struct cert *c, const void *text, size_t n, struct error *err) MUST_USE;
/* The same of a file, named in front of the words. */
enum status cert_load(struct cert *c, const char *path, struct error *err) MUST_USE;
void cert_deinit(struct cert *c); /* safe on a zeroed struct */

/* The name: the one DNS name of its subjectAltName, beside which there is no other of any kind.
 * STATUS_CONFIG when there is none, another one, or it breaks the rule of cert_name.h. */
enum status cert_name(char out[CERT_NAME_MAX + 1], const struct cert *c,
                      struct error *err) MUST_USE;
/* Whether its extendedKeyUsage names this role.  Without one it names none. */
bool cert_has_role(const struct cert *c, enum cert_role role);
/* SHA-256 of its SubjectPublicKeyInfo, as a roster has it.  STATUS_CRYPTO: no memory. */
enum status cert_key(uint8_t out[CERT_KEY_BYTES], const struct cert *c) MUST_USE;
/* Seconds since 1970; false when a date of it is none. */
bool cert_dates(int64_t *from, int64_t *until, const struct cert *c);
/* The same of one date, an ASN1_TIME; for crl.c. */
bool cert_seconds(int64_t *out, const void *asn1_time);
/* Upper-case hexadecimal; false when it is longer than X.509 allows (20 bytes). */
bool cert_serial(char out[CERT_SERIAL_HEX_MAX + 1], const struct cert *c);
bool cert_is_ca(const struct cert *c);
/* How long a chain below this CA may be; -1: as long as it likes. */
long cert_path_len(const struct cert *c);
/* PEM, behind what is in `out`. */
enum status cert_print(struct buf *out, const struct cert *c) MUST_USE;
/* Whose it is and whose it was issued by, as RFC 2253 has it, all but printable ASCII escaped: to
 * be read by people, and by nothing else. */
enum status cert_print_subject(struct buf *out, const struct cert *c) MUST_USE;
enum status cert_print_issuer(struct buf *out, const struct cert *c) MUST_USE;

/* A CA and, unless crl is NULL, its revocation list, which then must be there and not expired. */
struct cert_authority {
    void *store;      /* NULL: none */
    struct cert self; /* its certificate */
    bool has_crl;
};

enum status cert_authority_load(struct cert_authority *a, const char *ca, const char *crl,
                                struct error *err) MUST_USE;
void cert_authority_deinit(struct cert_authority *a); /* safe on a zeroed struct */

/* Is this an Ed25519 certificate of this CA for this role, now, and not revoked?  STATUS_CONFIG
 * with the reason in words of this program. */
enum status cert_check(const struct cert_authority *a, const struct cert *c, enum cert_role role,
                       struct error *err) MUST_USE;

/* What cert_check says no to, asked apart: for who explains (vfl doctor). */
bool cert_signed_by(const struct cert_authority *a,
                    const struct cert *c); /* whatever became of it */
bool cert_revoked(const struct cert_authority *a, const struct cert *c);

#endif
