/* pki.c -- vfl-pki: the certificates and the roster of a federation, and the folders of its hosts.
 *
 *   vfl-pki ca|csr|issue|renew|revoke|crl|show|fingerprint|roster|digest ...   (vfl pki)
 *   vfl-pki bundle ...                                                        (vfl bundle)
 *   vfl-pki doctor ...                                                        (vfl doctor)
 *   vfl-pki local --out DIR --parties M | value FILE KEY...     (what vfl cluster asks for)
 *
 * Ed25519 everywhere.  A party makes its key on its own host (`csr`), where it stays; whoever runs
 * the CA sees only the request.  A CA's signature admits nobody: the roster does, and its digest is
 * compared out of band.  Certificates, rosters and configurations of others are read, judged and
 * written here, in one process: no word of theirs is an argument or a line for another program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/bundle.h"
#include "deploy/tools/pki/doctor.h"
#include "deploy/tools/pki/hand.h"
#include "deploy/tools/pki/keep.h"
#include "deploy/tools/pki/local.h"
#include "deploy/tools/pki/look.h"
#include "deploy/tools/pki/members.h"
#include "deploy/tools/pki/put.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: vfl pki COMMAND ...\n"
    "On the host of whoever runs the CA:\n"
    "  ca --ca DIR [--name NAME] [--days N] [--start DATE]\n"
    "                                                 a new CA in DIR; DIR/ca.key never leaves it\n"
    "  issue --ca DIR --csr FILE --name NAME --role server|party --out FILE [--days N] [--start "
    "DATE]\n"
    "  renew --ca DIR --name NAME --out FILE [--days N] [--start DATE]\n"
    "                                                 the same key for longer: rosters stay as "
    "they are\n"
    "  revoke --ca DIR --name NAME                    all certificates of NAME; writes "
    "DIR/ca.crl\n"
    "  crl --ca DIR [--days N]                        a fresh DIR/ca.crl, before the old one "
    "expires\n"
    "  roster --out FILE --server CERT [--ca DIR] [--operator NAME=OPERATOR]... PARTY-CERT...\n"
    "                                                 writes the roster in this order, prints its "
    "digest;\n"
    "                                                 all must be certificates of DIR (./ca) for "
    "their role\n"
    "On each host:\n"
    "  csr --name NAME --key FILE --out FILE          makes the key (0600) unless it is there, and "
    "a request\n"
    "  show FILE...                                   names, role, validity of certificates and "
    "CRLs\n"
    "  fingerprint FILE                               SHA-256 of the public key, as in a roster\n"
    "  digest ROSTER                                  what all organisations compare over the "
    "telephone\n"
    "DATE is YYYY-MM-DD, 'YYYY-MM-DD HH:MM' (UTC), '3 days' or '3 days ago'.  --quiet: only what "
    "was asked for.\n";

static const char bundle_usage[] =
    "usage: vfl bundle --roster FILE --server CERT --address HOST:PORT --out DIR [--ca DIR]\n"
    "                  [--plan FILE] [--allow ADDRESS]... [--quiet] PARTY-CERT...\n"
    "\n"
    "Writes DIR/NAME for the server and each party of the roster: configuration, certificate, CA, "
    "CRL, roster, unit\n"
    "file and a README.txt that says where they go.  No private key is read or written; files of "
    "other names are left\n"
    "as they are, and links are not followed.\n"
    "  --ca       the CA's folder, ./ca; all must be its certificates, of the roster, for their "
    "role\n"
    "  --address  where parties find the server\n"
    "  --plan     YAML with model, protocol, training, privacy: goes into the server's "
    "configuration\n"
    "  --allow    addresses (10.1.0.0/16) the unit files let daemons speak with; otherwise a party "
    "may reach a numeric\n"
    "             --address alone, and everything else is open (any)\n";

static const struct command {
    const char *name, *who;
    const char *known; /* options */
    bool files;
    const char *help;
    enum status (*run)(const struct options *o, struct error *err);
} commands[] = {
    {"ca", "pki", "ca name days start", false, usage, hand_ca},
    {"csr", "pki", "name key out", false, usage, hand_csr},
    {"issue", "pki", "ca csr name role out days start", false, usage, hand_issue},
    {"renew", "pki", "ca name out days start", false, usage, hand_renew},
    {"revoke", "pki", "ca name", false, usage, hand_revoke},
    {"crl", "pki", "ca days", false, usage, hand_crl},
    {"show", "pki", "", true, usage, look_show},
    {"fingerprint", "pki", "", true, usage, look_fingerprint},
    {"roster", "pki", "ca out server operator", true, usage, members_roster},
    {"digest", "pki", "", true, usage, look_digest},
    {"bundle", "bundle", "ca roster server address out plan allow units", true, bundle_usage,
     bundle_run},
    {"local", "cluster: pki", "out parties", false, usage, local_run},
    {"value", "cluster", "", true, usage, local_value},
    {"folder", "--out", "", true, usage, keep_folder},
    {"place", "report", "", true, usage, keep_place},
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct options o;
    const struct command *c;
    struct error err = {0};
    enum status s;

    umask(077);
    if (argc < 2 || (c = find(argv[1])) == NULL) {
        const bool help =
            argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);

        if (argc >= 2 && strcmp(argv[1], "doctor") == 0)
            return doctor_run(argc - 2, argv + 2);
        fputs(usage, help ? stdout : stderr);
        return help ? 0 : status_exit_code(STATUS_CONFIG);
    }
    s = options_read(&o, argc - 2, argv + 2, c->known, &err);
    if (s == STATUS_OK && o.help) {
        fputs(c->help, stdout);
        return 0;
    }
    if (s == STATUS_OK && !c->files && o.files_n > 0)
        s = error_set(&err, STATUS_CONFIG, "unexpected argument %.80s", o.file[0]);
    if (s == STATUS_OK)
        s = c->run(&o, &err);
    if (s == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        s = error_set(&err, STATUS_IO, "standard output cannot be written");
    return s == STATUS_OK ? 0 : put_failure(c->who, &err);
}
