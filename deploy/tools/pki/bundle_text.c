/* bundle_text.c -- configurations, units and instructions of a host.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/bundle_text.h"

#include "common/config/key_print.h"
#include "common/config/key_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bundle_address_read(struct bundle_address *a, const char *text)
{
    const char *colon = strrchr(text, ':'), *host = text;
    struct in6_addr six;
    struct in_addr four;
    size_t n;

    if (!key_text_is_address(text, 1))
        return false;
    n = (size_t)(colon - text);
    *a = (struct bundle_address){.text = text};
    if (text[0] == '[') {
        host++;
        n -= 2;
    }
    if (n >= sizeof a->host || strlen(colon + 1) >= sizeof a->port)
        return false;
    memcpy(a->host, host, n);
    snprintf(a->port, sizeof a->port, "%s", colon + 1);
    a->numeric = inet_pton(AF_INET, a->host, &four) == 1 || inet_pton(AF_INET6, a->host, &six) == 1;
    /* Digits and dots that are no address are no name either. */
    return a->numeric || (text[0] != '[' && a->host[strspn(a->host, "0123456789.")] != 0 &&
                          a->host[0] != '-' && a->host[0] != '.');
}

bool bundle_is_network(const char *text)
{
    const char *slash = strchr(text, '/');
    const size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char address[INET6_ADDRSTRLEN];
    struct in6_addr six;
    struct in_addr four;
    int bits = -1;

    if (n >= sizeof address)
        return false;
    memcpy(address, text, n);
    address[n] = 0;
    if (slash != NULL) {
        const size_t digits = strlen(slash + 1);

        if (digits == 0 || digits > 3 || strspn(slash + 1, "0123456789") != digits)
            return false;
        bits = atoi(slash + 1);
    }
    if (inet_pton(AF_INET, address, &four) == 1)
        return bits <= 32;
    return inet_pton(AF_INET6, address, &six) == 1 && bits <= 128;
}

static enum status identity(struct buf *out, const char *role)
{
    return buf_printf(out,
                      "identity: {cert: %s.crt, key: %s.key, ca: ca.crt, crl: ca.crl}\n"
                      "roster: roster.yaml\nstate: state\n"
                      "# Seals an interrupted run, to go on later: "
                      "(umask 077; openssl rand -hex 32 >state.key)\n"
                      "# state_key: state.key\n",
                      role, role);
}

enum status bundle_server_yaml(struct buf *out, const struct bundle_address *a,
                               const struct buf *plan)
{
    enum status s =
        buf_printf(out,
                   "# Written by vfl bundle.  Check it with: vfl-server -c server.yaml -n\n"
                   "listen: \"0.0.0.0:%s\"\n",
                   a->port);

    if (s == STATUS_OK)
        s = identity(out, "server");
    if (s == STATUS_OK)
        s = buf_printf(out, "labels: {train: data/labels-train.csv, test: data/labels-test.csv}\n");
    if (s == STATUS_OK && plan->len > 0)
        s = buf_append(out, plan->data, plan->len);
    return s;
}

enum status bundle_party_yaml(struct buf *out, const struct bundle_address *a)
{
    enum status s = buf_printf(
        out, "# Written by vfl bundle.  Check it with: vfl-party -c party.yaml -n\nserver: ");

    if (s == STATUS_OK)
        s = key_print_quoted(a->text, out);
    if (s == STATUS_OK)
        s = buf_append(out, "\n", 1);
    if (s == STATUS_OK)
        s = identity(out, "party");
    if (s != STATUS_OK)
        return s;
    return buf_printf(
        out, "data: {train: data/train.csv, test: data/test.csv}\n\n"
             "# What you accept, whatever the server plans: docs/configuration.md lists all keys.\n"
             "policy:\n  min_parties: 3\n  min_m_eff: 2\n"
             "  encodings: [pbm, fixed, gaussian]\n  aggregations: [masked, coded, fedvs]\n"
             "  # Compare the digest with the other organisations first (README.txt), then fill it "
             "in:\n"
             "  # roster_sha256: \"...\"\n");
}

static enum status party_steps(struct buf *out)
{
    return buf_printf(
        out,
        "4. Compute the roster's digest HERE with \"vfl pki digest "
        "/etc/colonnade/roster.yaml\" and compare it with the\n"
        "   other organisations by a way that does not lead through whoever sent this folder. "
        "Only then write it\n"
        "   into policy.roster_sha256 in party.yaml; without it vfl-party speaks with no "
        "server but one on loopback.\n"
        "5. Read the policy in party.yaml. It is yours, no plan of the server overrides it.\n"
        "6. Put your columns to /etc/colonnade/data/train.csv and test.csv (first column id), "
        "then\n"
        "   chgrp -R colonnade /etc/colonnade/data; chmod -R o= /etc/colonnade/data\n"
        "7. Check:  vfl-party -c /etc/colonnade/party.yaml -n   and   vfl doctor -c "
        "/etc/colonnade/party.yaml\n"
        "8. Start:  systemctl daemon-reload; systemctl start vfl-party;  watch: journalctl -fu "
        "vfl-party\n");
}

static enum status server_steps(struct buf *out, const char *port)
{
    return buf_printf(
        out,
        "4. Put the labels to /etc/colonnade/data/labels-train.csv and labels-test.csv (columns "
        "id,label), then\n"
        "   chgrp -R colonnade /etc/colonnade/data; chmod -R o= /etc/colonnade/data\n"
        "5. Let TCP port %s in; nothing else.\n"
        "6. Check:  vfl-server -c /etc/colonnade/server.yaml -n\n"
        "7. Start:  systemctl daemon-reload; systemctl start vfl-server;  watch: journalctl -fu "
        "vfl-server\n",
        port);
}

enum status bundle_readme(struct buf *out, const char *name, enum cert_role role, const char *port)
{
    const char *word = role == CERT_SERVER ? "server" : "party";
    enum status s = buf_printf(
        out,
        "%s (%s)\n\n"
        "1. Install Colonnade. As root: groupadd --system colonnade; mkdir -p "
        "/etc/colonnade/data\n"
        "2. Copy this folder's files to /etc/colonnade, vfl-%s.service to /etc/systemd/system.\n"
        "3. Your private key is on this host already (you made it with \"vfl pki csr\"): put it "
        "to\n"
        "   /etc/colonnade/%s.key, owner root, mode 0600. Nobody else ever has it.\n"
        "   Beside it, for what is kept of a run: (umask 077; openssl rand -hex 32 "
        ">/etc/colonnade/state.key)\n",
        name, word, word, word);

    if (s != STATUS_OK)
        return s;
    return role == CERT_SERVER ? server_steps(out, port) : party_steps(out);
}

enum status bundle_unit(struct buf *out, const struct buf *unit, const char *allowed)
{
    static const char key[] = "IPAddressAllow=";
    const char *at = (const char *)unit->data;
    enum status s = STATUS_OK;

    for (size_t left = unit->len; s == STATUS_OK && left > 0;) {
        const char *stop = memchr(at, '\n', left);
        const size_t n = stop != NULL ? (size_t)(stop - at) + 1 : left;

        if (n >= sizeof key && memcmp(at, key, sizeof key - 1) == 0)
            s = buf_printf(out, "%slocalhost %s\n", key, allowed);
        else
            s = buf_append(out, at, n);
        at += n;
        left -= n;
    }
    return s;
}
