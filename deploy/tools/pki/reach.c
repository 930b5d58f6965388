/* reach.c -- a TLS handshake through `openssl s_client`, and what came of it.
 *
 * The daemons' own TLS says that a peer is not accepted; this has to look at one that is not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/reach.h"

#include "common/crypto/cert.h"
#include "deploy/tools/pki/bundle_text.h"
#include "deploy/tools/pki/child.h"
#include "deploy/tools/pki/doctor.h"
#include "deploy/tools/pki/findings.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

enum { HANDSHAKE_S = 10 };

#define WORD(text) ((char *)(uintptr_t)(text))

static int handshake(struct buf *out, const char *address, const struct config_identity *id,
                     const char *name)
{
    char *argv[] = {WORD("openssl"),
                    WORD("s_client"),
                    WORD("-connect"),
                    WORD(address),
                    WORD("-tls1_3"),
                    WORD("-alpn"),
                    WORD("vfl/1"),
                    WORD("-cert"),
                    WORD(id->cert),
                    WORD("-key"),
                    WORD(id->key),
                    WORD("-CAfile"),
                    WORD(id->ca),
                    WORD("-verify_return_error"),
                    WORD("-servername"),
                    WORD(name),
                    NULL};

    return child_run(out, argv, HANDSHAKE_S);
}

static bool nobody_answers(const struct buf *said)
{
    static const char *const words[] = {"connect:errno", "refused",  "timed out",
                                        "unreachable",   "No route", "no route"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (child_said(said, words[i]))
            return true;
    }
    return false;
}

/* The words behind "verify error" on its line. */
static void verify_words(char *out, size_t size, const struct buf *said)
{
    static const char key[] = "verify error";
    const char *text = (const char *)said->data;
    const char *at = said->len > 0 ? memmem(text, said->len, key, sizeof key - 1) : NULL;

    out[0] = 0;
    if (at != NULL) {
        const size_t left = said->len - (size_t)(at - text) - (sizeof key - 1);

        at += sizeof key - 1;
        snprintf(out, size, "%.*s", (int)(left < 200 ? left : 200), at);
        out[strcspn(out, "\r\n")] = 0;
    }
}

static void no_certificate(const char *address, const struct buf *said)
{
    char why[256];

    if (child_said(said, "certificate verify failed") || child_said(said, "verify error")) {
        verify_words(why, sizeof why, said);
        finding_bad(FINDING_THERE, "the server",
                    "both sides must have certificates of one CA, and right clocks",
                    "its certificate does not hold%s", why);
    } else {
        finding_bad(FINDING_THERE, "the server", "is that its address and port?",
                    "%s does not speak TLS 1.3 as vfl-server does", address);
    }
}

static void judge(const struct cert *c, const char *address, const struct roster_entry *server)
{
    char name[CERT_NAME_MAX + 1];
    uint8_t key[CERT_KEY_BYTES];

    if (cert_name(name, c, NULL) != STATUS_OK)
        snprintf(name, sizeof name, "no name that a roster takes");
    if (cert_key(key, c) == STATUS_OK && memcmp(key, server->key, sizeof key) == 0)
        finding_good("the server has the key that the roster names");
    else
        finding_bad(FINDING_THERE, "the server, or whoever made the roster",
                    "compare roster digests; is that address the right server?",
                    "%s at %s has another key than the roster's", name, address);
    if (strcmp(name, server->name) == 0)
        finding_good("its certificate carries the name %s", name);
    else
        finding_bad(FINDING_THERE, "the server",
                    "the server needs a certificate for its name in the roster",
                    "its certificate carries %s, the roster says %s", name, server->name);
    doctor_dates("the server's certificate", c, true);
}

static bool has_address(const char *address)
{
    struct addrinfo *found = NULL;
    struct bundle_address a;
    bool is;

    if (!bundle_address_read(&a, address))
        return false;
    is = getaddrinfo(a.host, NULL, NULL, &found) == 0;
    if (found != NULL)
        freeaddrinfo(found);
    if (!is)
        finding_bad(FINDING_NET, "this one, or the name service",
                    "correct server: in the configuration, or the DNS", "%s has no address",
                    a.host);
    return is;
}

void reach_server(const char *address, const struct config_identity *id,
                  const struct roster_entry *server)
{
    struct error err = {0};
    struct buf said;
    struct cert c;
    int code;

    if (!has_address(address))
        return;
    code = handshake(&said, address, id, server->name);
    if (code == CHILD_NONE) {
        finding_hint("openssl is not installed: %s was not tried", address);
    } else if (code == CHILD_LATE || nobody_answers(&said)) {
        finding_bad(FINDING_NET, "the server or a firewall",
                    "is vfl-server running? is its TCP port open from here to there?",
                    "no answer from %s", address);
    } else {
        finding_good("%s answers", address);
        if (cert_parse(&c, said.data, said.len < CERT_FILE_MAX ? said.len : CERT_FILE_MAX, &err) ==
            STATUS_OK) {
            judge(&c, address, server);
            cert_deinit(&c);
        } else {
            no_certificate(address, &said);
        }
        if (child_said(&said, "alert bad certificate") || child_said(&said, "alert unknown ca") ||
            child_said(&said, "alert certificate"))
            finding_bad(FINDING_HERE, "this one", "compare CA and CRL of both sides",
                        "the server refuses this certificate");
    }
    buf_deinit(&said);
}
