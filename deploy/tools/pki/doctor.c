/* doctor.c -- goes through what can be wrong with this side, says whose it is and what to do.
 *
 * Looks from one host; it sends nothing but a TLS handshake (reach.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/doctor.h"

#include "common/config/config.h"
#include "common/crypto/cert.h"
#include "common/crypto/crl.h"
#include "common/crypto/digest.h"
#include "common/flow/roster.h"
#include "deploy/tools/pki/child.h"
#include "deploy/tools/pki/findings.h"
#include "deploy/tools/pki/look.h"
#include "deploy/tools/pki/put.h"
#include "deploy/tools/pki/reach.h"
#include "deploy/tools/pki/when.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SETS_MAX = 256, DAEMON_S = 600, QUICK_S = 10, DAY_S = 86400, SOON_DAYS = 30 };

static const char usage[] =
    "usage: vfl doctor -c FILE [--set key.path=value]...\n"
    "FILE is the configuration of a party or of the server.  Exit code 0: nothing found; 2: this "
    "side must act;\n"
    "3: another side must; 4: the network.\n";
static const char here[] = "this one", roster_maker[] = "whoever made the roster";

struct doctor {
    const char *file, *set[SETS_MAX];
    size_t sets;
    bool server;
    struct config_identity identity;
    char roster_path[CONFIG_PATH_MAX], address[CONFIG_PATH_MAX], pinned[65];
    struct roster roster;
    struct cert cert;
    char name[CERT_NAME_MAX + 1];
    uint8_t key[LOOK_KEY_BYTES];
};

/* --- the daemon's own word --- */

/* The last line of the output without its time and "error: ". */
static void last_line(char *out, size_t size, const struct buf *text)
{
    size_t end = text->len, start;
    const char *line, *error;

    while (end > 0 && text->data[end - 1] == '\n')
        end--;
    for (start = end; start > 0 && text->data[start - 1] != '\n';)
        start--;
    snprintf(out, size, "%.*s", (int)(end - start), (const char *)text->data + start);
    line = out;
    error = strstr(line, " error: ");
    if (error != NULL)
        memmove(out, error + 8, strlen(error + 8) + 1);
}

/* "# ... rows ..." of what -n prints. */
static void rows_line(char *out, size_t size, const struct buf *text)
{
    const char *at = text->len > 0 ? (const char *)text->data : "", *end = at + text->len;

    snprintf(out, size, "all");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop != NULL ? stop : end) - at);

        if (n > 2 && at[0] == '#' && memmem(at, n, "rows", 4) != NULL) {
            snprintf(out, size, "%.*s", (int)n - 2, at + 2);
            return;
        }
        at += n + 1;
    }
}

/* "# alignment ...": how many ids differ, and whose job it is. */
static void show_alignments(const struct buf *text)
{
    static const char mark[] = "# alignment";
    const char *at = text->len > 0 ? (const char *)text->data : "", *end = at + text->len;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop != NULL ? stop : end) - at);

        if (n >= sizeof mark && memcmp(at, mark, sizeof mark - 1) == 0)
            finding_hint("%.*s", (int)n - 2, at + 2);
        at += n + 1;
    }
}

static bool ask_daemon(const struct doctor *d)
{
    char program[PATH_MAX] = "", said[1024], *slash, *argv[2 * SETS_MAX + 8];
    const char *role = d->server ? "server" : "party";
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 32);
    struct buf out;
    size_t k = 0;
    int code;

    program[n > 0 ? n : 0] = 0;
    slash = strrchr(program, '/');
    sprintf(slash != NULL ? slash + 1 : program, "vfl-%s", role);
    argv[k++] = program;
    argv[k++] = (char *)(uintptr_t) "-c";
    argv[k++] = (char *)(uintptr_t)d->file;
    for (size_t i = 0; i < d->sets; i++) {
        argv[k++] = (char *)(uintptr_t) "--set";
        argv[k++] = (char *)(uintptr_t)d->set[i];
    }
    argv[k++] = (char *)(uintptr_t) "-n";
    argv[k] = NULL;
    code = child_run(&out, argv, DAEMON_S);
    if (code == 0) {
        rows_line(said, sizeof said, &out);
        finding_good("vfl-%s accepts configuration, roster, key and data: %s", role, said);
        show_alignments(&out);
    } else if (code < 0) {
        finding_bad(FINDING_HERE, here, "install it whole", "%s %s", program,
                    code == CHILD_LATE ? "does not come to an end" : "does not run");
    } else {
        last_line(said, sizeof said, &out);
        finding_bad(FINDING_HERE, here,
                    "correct the configuration, or the file it names; then run this again", "%s",
                    said);
    }
    buf_deinit(&out);
    return code == 0;
}

static enum status read_config(struct doctor *d, struct error *err)
{
    static struct config_server s;
    static struct config_party p;
    enum status st = d->server ? config_load_server(&s, d->file, d->set, d->sets, err)
                               : config_load_party(&p, d->file, d->set, d->sets, err);

    if (st != STATUS_OK)
        return st;
    d->identity = d->server ? s.identity : p.identity;
    memcpy(d->roster_path, d->server ? s.roster : p.roster, sizeof d->roster_path);
    memcpy(d->address, d->server ? s.listen : p.server, sizeof d->address);
    if (!d->server)
        memcpy(d->pinned, p.policy.roster_sha256, sizeof d->pinned);
    st = roster_load(&d->roster, d->roster_path, err);
    if (st == STATUS_OK)
        st = cert_load(&d->cert, d->identity.cert, err);
    if (st == STATUS_OK)
        st = cert_name(d->name, &d->cert, err);
    return st == STATUS_OK ? look_key(d->key, d->identity.cert, err) : st;
}

/* --- this side's certificate --- */

void doctor_dates(const char *what, const struct cert *c, bool theirs)
{
    const int64_t now = (int64_t)time(NULL);
    const enum finding code = theirs ? FINDING_THERE : FINDING_HERE;
    const char *side = theirs ? "the server" : here;
    char day[WHEN_SHOWN_CHARS + 1], today[WHEN_SHOWN_CHARS + 1];
    int64_t from, until;

    if (!cert_dates(&from, &until, c)) {
        finding_bad(code, side, "have it issued anew", "%s has no dates", what);
        return;
    }
    when_show(today, now);
    if (now < from) {
        when_show(day, from);
        finding_bad(code, side, "set the clock that is wrong (timedatectl), or wait",
                    "%s is not valid before %s; it is %s here", what, day, today);
    } else if (now > until) {
        when_show(day, until);
        finding_bad(code, side, "have it renewed (vfl pki renew): the key stays, so rosters stay",
                    "%s has expired on %s", what, day);
    } else {
        finding_good("%s is valid for %lld more days", what, (long long)((until - now) / DAY_S));
        if ((until - now) / DAY_S < SOON_DAYS)
            finding_hint("%s should be renewed soon (vfl pki renew)", what);
    }
}

static void check_crl(const struct doctor *d)
{
    const int64_t now = (int64_t)time(NULL);
    struct cert_authority a;
    struct error err = {0};
    struct crl_facts f;
    struct buf text;
    enum status s;

    s = put_read(&text, d->identity.crl, CERT_CRL_MAX, &err);
    if (s == STATUS_OK)
        s = crl_read(&f, NULL, text.data, text.len, &err);
    if (s == STATUS_OK && now > f.until)
        finding_bad(FINDING_HERE, here,
                    "ask whoever runs the CA for a fresh one (vfl pki crl), then SIGHUP",
                    "%s has expired", d->identity.crl);
    else if (s == STATUS_OK)
        finding_good("the CRL is valid for %lld more days", (long long)((f.until - now) / DAY_S));
    buf_deinit(&text);
    if (s == STATUS_OK)
        s = cert_authority_load(&a, d->identity.ca, d->identity.crl, &err);
    if (s != STATUS_OK) {
        finding_bad(FINDING_HERE, here, "ask whoever runs the CA for it", "%s", err.text);
        return;
    }
    if (cert_revoked(&a, &d->cert))
        finding_bad(FINDING_HERE, here,
                    "make a new key and request (vfl pki csr), then a new roster", "%s is revoked",
                    d->identity.cert);
    cert_authority_deinit(&a);
}

static void check_certificate(const struct doctor *d)
{
    uint8_t key[LOOK_KEY_BYTES];
    struct cert_authority a;
    struct error err = {0};

    if (look_key(key, d->identity.key, &err) != STATUS_OK)
        finding_bad(FINDING_HERE, here, "use the key that made the request", "%s", err.text);
    else if (memcmp(key, d->key, sizeof key) == 0)
        finding_good("the key belongs to the certificate (%s)", d->name);
    else
        finding_bad(FINDING_HERE, here, "use the key that made the request, or request again",
                    "%s is not the key of %s", d->identity.key, d->identity.cert);
    if (cert_authority_load(&a, d->identity.ca, NULL, &err) != STATUS_OK) {
        finding_bad(FINDING_HERE, here, "ask whoever runs the CA for its file", "%s", err.text);
        return;
    }
    if (cert_signed_by(&a, &d->cert))
        finding_good("the certificate is signed by %s", d->identity.ca);
    else
        finding_bad(FINDING_HERE, here, "ask whoever runs the CA for both files",
                    "%s is not signed by %s", d->identity.cert, d->identity.ca);
    doctor_dates("the certificate", &d->cert, false);
    doctor_dates("the CA", &a.self, false);
    cert_authority_deinit(&a);
    if (d->identity.crl[0] != 0)
        check_crl(d);
}

/* --- the roster --- */

static void check_digest(const struct doctor *d)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, d->roster.digest, sizeof d->roster.digest);
    if (d->server || strcmp(d->pinned, hex) == 0)
        finding_good("roster digest %s", hex);
    else if (d->pinned[0] == 0)
        finding_hint("policy.roster_sha256 is not set: no server but one on loopback is accepted. "
                     "Digest here: %s",
                     hex);
    else
        finding_bad(FINDING_HERE, here, "find out with the others which roster is the agreed one",
                    "policy.roster_sha256 is %s, the roster's digest %s", d->pinned, hex);
}

static void check_roster(const struct doctor *d)
{
    const int i = roster_find_name(&d->roster, d->name);
    const bool is_server = strcmp(d->roster.server.name, d->name) == 0;
    const struct roster_entry *e = is_server ? &d->roster.server
                                   : i >= 0  ? &d->roster.party[i]
                                             : NULL;

    if (e == NULL)
        finding_bad(FINDING_HERE, roster_maker,
                    "compare digests with the others; ask for the current roster",
                    "%s is not in %s", d->name, d->roster_path);
    else if (is_server != d->server)
        finding_bad(FINDING_HERE, roster_maker, "ask for a roster with the right roles",
                    "%s is no %s in %s", d->name, d->server ? "server" : "party", d->roster_path);
    else
        finding_good("the roster has %s as %s", d->name, d->server ? "server" : "party");
    if (e != NULL && memcmp(e->key, d->key, sizeof d->key) != 0)
        finding_bad(FINDING_HERE, roster_maker,
                    "a new key needs a new roster on every host; a renewed certificate (vfl pki "
                    "renew) does not",
                    "the roster has another key of %s", d->name);
    check_digest(d);
}

/* --- this host --- */

static void check_clock(void)
{
    char *argv[] = {(char *)(uintptr_t) "timedatectl", (char *)(uintptr_t) "show",
                    (char *)(uintptr_t) "-p",          (char *)(uintptr_t) "NTPSynchronized",
                    (char *)(uintptr_t) "--value",     NULL};
    struct buf out;

    if (child_run(&out, argv, QUICK_S) == 0) {
        if (child_said(&out, "yes"))
            finding_good("the clock of this host is synchronised");
        else if (child_said(&out, "no"))
            finding_hint("the clock of this host is not synchronised (timedatectl): certificates "
                         "may look expired or too new");
    }
    buf_deinit(&out);
}

static void check_listen(const struct doctor *d)
{
    const char *port = strrchr(d->address, ':') + 1;
    char filter[32],
        *argv[] = {(char *)(uintptr_t) "ss", (char *)(uintptr_t) "-Hltn", filter, NULL};
    struct buf out;

    snprintf(filter, sizeof filter, "sport = :%.5s", port);
    if (child_run(&out, argv, QUICK_S) == 0) {
        if (out.len > 0)
            finding_good("somebody listens on port %s here (vfl-server, if it is running)", port);
        else
            finding_hint("nobody listens on port %s here now; parties need it open: TCP, inwards",
                         port);
    }
    buf_deinit(&out);
}

/* --- all of it --- */

/* A party's file says where its server is. */
static enum status find_role(struct doctor *d, struct error *err)
{
    static const char key[] = "server:";
    struct buf text;
    enum status s = put_read(&text, d->file, PUT_TEXT_MAX, err);
    const char *at = text.len > 0 ? (const char *)text.data : "", *end = at + text.len;

    d->server = true;
    while (s == STATUS_OK && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        if ((size_t)(end - at) >= sizeof key - 1 && memcmp(at, key, sizeof key - 1) == 0)
            d->server = false;
        at = stop != NULL ? stop + 1 : end;
    }
    buf_deinit(&text);
    return s;
}

static enum status read_words(struct doctor *d, int argc, char **argv, struct error *err)
{
    if (argc < 2 || strcmp(argv[0], "-c") != 0)
        return error_set(err, STATUS_CONFIG, "-c FILE is needed (--help)");
    d->file = argv[1];
    for (int i = 2; i < argc; i += 2) {
        if (strcmp(argv[i], "--set") != 0 || i + 1 == argc || d->sets == SETS_MAX)
            return error_set(err, STATUS_CONFIG, "%.80s: --set key.path=value expected", argv[i]);
        d->set[d->sets++] = argv[i + 1];
    }
    return find_role(d, err);
}

int doctor_run(int argc, char **argv)
{
    static struct doctor d;
    struct error err = {0};

    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (read_words(&d, argc, argv, &err) != STATUS_OK)
        return put_failure("doctor", &err);
    check_clock();
    fflush(stdout);
    if (ask_daemon(&d)) {
        if (read_config(&d, &err) != STATUS_OK) {
            finding_bad(FINDING_HERE, here, "correct it, then run this again", "%s", err.text);
        } else {
            check_certificate(&d);
            check_roster(&d);
            if (d.server)
                check_listen(&d);
            else
                reach_server(d.address, &d.identity, &d.roster.server);
        }
    }
    cert_deinit(&d.cert);
    if (finding_code() == 0)
        puts("nothing wrong was found from here");
    return finding_code();
}
