/* test_tls.c -- who is let in, who is not, and what each side is told about it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls.h"

#include "tests/unit/net/world.h"

#include <sys/stat.h>
#include <unistd.h>

enum { HOUR = 3600, ALERT_NO_ALPN = 120, ALERT_VERSION = 70, ALERT_NO_CERT = 116 };

static struct test_pki pki, other;
static struct net_tls *server_tls, *client_tls;
static char both_cas[TEST_PKI_PATH_MAX];

static void append_file(FILE *out, const char *path)
{
    FILE *in = fopen(path, "r");
    int c;

    assert_non_null(in);
    while ((c = fgetc(in)) != EOF)
        fputc(c, out);
    fclose(in);
}

static int setup(void **state)
{
    struct net_identity id;
    FILE *f;

    (void)state;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_init(&other, scratch_dir(), "other-ca");
    test_pki_issue(&pki, &(struct test_cert){.name = "server", .eku = TEST_EKU_SERVER});
    test_pki_issue(&pki, &(struct test_cert){.name = "p1"});
    test_pki_issue(&other, &(struct test_cert){.name = "foreign"});
    snprintf(both_cas, sizeof both_cas, "%s", scratch_path("both.pem"));
    f = fopen(both_cas, "w");
    append_file(f, pki.ca);
    append_file(f, other.ca);
    fclose(f);
    id = world_identity(&pki, "server", pki.ca, NULL);
    server_tls = world_tls(true, &id);
    id = world_identity(&pki, "p1", pki.ca, "");
    client_tls = world_tls(false, &id);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_tls_free(server_tls);
    net_tls_free(client_tls);
    test_pki_deinit(&pki);
    test_pki_deinit(&other);
    return 0;
}

static void assert_says(const struct error *err, enum status s, const char *words)
{
    if (err->status != s || strstr(err->text, words) == NULL)
        fail_msg("expected status %d and '%s', got %d: %s", (int)s, words, (int)err->status,
                 err->text);
}

/* --- what the server makes of clients ------------------------------------------------------------
 */

struct client_case {
    struct test_cert cert; /* no name: no certificate */
    struct test_pki *issuer;
    const char *alpn;
    bool tls12;
    enum status status;
    const char *words;
    int alert;
};

static struct error serve(struct net_tls *tls, struct test_peer *peer)
{
    struct world *w = world_new(tls, NULL);
    struct error err;

    peer->port = world_port(w);
    test_peer_start(peer);
    world_until_count(w, &w->server_closed, 1);
    test_peer_join(peer);
    err = w->server_ends[0].err;
    if (w->server_ends[0].opened)
        assert_int_equal(err.status, STATUS_NET);
    world_free(w);
    return err;
}

static void run_client_case(struct client_case *k)
{
    struct test_peer peer = {
        .alpn = k->alpn, .tls12 = k->tls12, .hang_up = k->status == STATUS_NET};
    struct error err;

    if (k->cert.name != NULL) {
        test_pki_issue(k->issuer != NULL ? k->issuer : &pki, &k->cert);
        peer.cert = test_pki_path(&pki, k->cert.name, "pem");
        peer.key = test_pki_path(&pki, k->cert.name, "key");
    }
    err = serve(server_tls, &peer);
    assert_says(&err, k->status, k->words);
    assert_says(&err, k->status, "127.0.0.1:");
    assert_int_equal(peer.alert, k->alert);
    assert_int_equal(peer.received, 0);
}

#define CLIENT_CASE(law, ...)                                                                      \
    static void law(void **state)                                                                  \
    {                                                                                              \
        struct client_case k = {__VA_ARGS__};                                                      \
        (void)state;                                                                               \
        run_client_case(&k);                                                                       \
    }

CLIENT_CASE(test_server_admits_a_good_client, .cert = {.name = "good"}, .alpn = "vfl/1",
            .status = STATUS_NET, .words = "peer closed the connection")
CLIENT_CASE(test_server_refuses_no_certificate, .alpn = "vfl/1", .status = STATUS_AUTH,
            .words = "peer sent no certificate", .alert = ALERT_NO_CERT)
CLIENT_CASE(test_server_refuses_another_ca, .cert = {.name = "stray"}, .issuer = &other,
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "not issued by this side's CA",
            .alert = 48)
CLIENT_CASE(test_server_refuses_a_self_signed_certificate,
            .cert = {.name = "self", .self_signed = true}, .alpn = "vfl/1", .status = STATUS_AUTH,
            .words = "not issued by this side's CA", .alert = 48)
CLIENT_CASE(test_server_refuses_expired, .cert = {.name = "old", .from_s = -9, .until_s = -1},
            .alpn = "vfl/1", .status = STATUS_AUTH,
            .words = "certificate not accepted: certificate has expired", .alert = 45)
CLIENT_CASE(test_server_refuses_not_yet_valid,
            .cert = {.name = "early", .from_s = HOUR, .until_s = 2 * HOUR}, .alpn = "vfl/1",
            .status = STATUS_AUTH, .words = "not yet valid", .alert = 42)
CLIENT_CASE(test_server_refuses_a_server_certificate,
            .cert = {.name = "srv", .eku = TEST_EKU_SERVER}, .alpn = "vfl/1", .status = STATUS_AUTH,
            .words = "extendedKeyUsage", .alert = 43)
CLIENT_CASE(test_server_refuses_unstated_purpose, .cert = {.name = "any", .eku = TEST_EKU_NONE},
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "extendedKeyUsage", .alert = 43)
CLIENT_CASE(test_server_refuses_rsa, .cert = {.name = "rsa", .key = TEST_KEY_RSA}, .alpn = "vfl/1",
            .status = STATUS_AUTH, .words = "not Ed25519", .alert = 42)
CLIENT_CASE(test_server_refuses_p256, .cert = {.name = "p256", .key = TEST_KEY_P256},
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "not Ed25519", .alert = 42)
CLIENT_CASE(test_server_refuses_tls12, .cert = {.name = "tls12"}, .alpn = "vfl/1", .tls12 = true,
            .status = STATUS_PROTOCOL, .words = "does not speak TLS 1.3", .alert = ALERT_VERSION)
CLIENT_CASE(test_server_refuses_no_alpn, .cert = {.name = "noalpn"}, .status = STATUS_PROTOCOL,
            .words = "vfl/1", .alert = ALERT_NO_ALPN)
CLIENT_CASE(test_server_refuses_wrong_alpn, .cert = {.name = "h2"}, .alpn = "h2",
            .status = STATUS_PROTOCOL, .words = "vfl/1", .alert = ALERT_NO_ALPN)

static void test_server_offers_nothing_to_resume(void **state)
{
    struct test_peer peer = {.alpn = "vfl/1",
                             .cert = test_pki_path(&pki, "p1", "pem"),
                             .key = test_pki_path(&pki, "p1", "key"),
                             .bytes = "\0\0\0\1x",
                             .n = 5,
                             .hang_up = true};

    (void)state;
    (void)serve(server_tls, &peer);
    assert_true(peer.shaken);
    assert_false(peer.got_ticket);
}

static void test_garbage_is_a_protocol_violation(void **state)
{
    /* The third looks like the beginning of an SSL 2 hello. */
    static const char *const garbage[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x80\x10\x01",
                                          "\x16\x03\x01\xff\xff\x01 too long a record",
                                          "\x17\x03\x03\x01\x10 not a handshake"};

    (void)state;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        uint8_t bytes[400] = {0};
        struct test_peer peer = {.plain = true, .bytes = bytes, .n = sizeof bytes};
        struct error err;
        memcpy(bytes, garbage[i], strlen(garbage[i]));
        err = serve(server_tls, &peer);
        assert_says(&err, STATUS_PROTOCOL, "does not speak TLS");
    }
}

static void test_crl_shuts_out_the_revoked_only(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, pki.crl);
    long serial = test_pki_issue(&pki, &(struct test_cert){.name = "revoked"});
    struct test_peer peer = {.alpn = "vfl/1",
                             .cert = test_pki_path(&pki, "revoked", "pem"),
                             .key = test_pki_path(&pki, "revoked", "key")};
    struct test_peer good = {.alpn = "vfl/1",
                             .cert = test_pki_path(&pki, "p1", "pem"),
                             .key = test_pki_path(&pki, "p1", "key"),
                             .hang_up = true};
    struct net_tls *t;
    struct error err;

    (void)state;
    test_pki_crl(&pki, &serial, 1, HOUR);
    t = world_tls(true, &id);
    err = serve(t, &peer);
    assert_says(&err, STATUS_AUTH, "revoked");
    assert_int_equal(peer.alert, 44);
    err = serve(t, &good);
    assert_int_equal(err.status, STATUS_NET);
    net_tls_free(t);
}

static void test_expired_crl_lets_nobody_in(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, pki.crl);
    struct net_tls *t;
    struct error err = {0};

    (void)state;
    test_pki_crl(&pki, NULL, 0, -HOUR);
    assert_int_equal(net_tls_new(&t, true, &id, &err), STATUS_IDENTITY);
    assert_says(&err, STATUS_IDENTITY, "CRL has expired");
}

/* --- what the client makes of servers
 * ------------------------------------------------------------- */

struct server_case {
    struct test_cert cert;
    struct test_pki *issuer;
    const char *alpn;
    bool tls12;
    enum status status;
    const char *words;
};

static void run_server_case(struct server_case *k)
{
    struct test_peer peer = {.server = true, .alpn = k->alpn, .tls12 = k->tls12};
    struct world *w = world_new(NULL, client_tls);
    char address[64];
    struct end *e;

    test_pki_issue(k->issuer != NULL ? k->issuer : &pki, &k->cert);
    peer.cert = test_pki_path(&pki, k->cert.name, "pem");
    peer.key = test_pki_path(&pki, k->cert.name, "key");
    peer.hang_up = true;
    test_peer_start(&peer);
    snprintf(address, sizeof address, "127.0.0.1:%d", peer.port);
    e = world_dial(w, address, "server");
    world_until(w, &e->closed);
    assert_int_equal(e->opened, k->status == STATUS_NET);
    assert_says(&e->err, k->status, k->words);
    assert_says(&e->err, k->status, address);
    test_peer_join(&peer);
    world_free(w);
}

#define SERVER_CASE(law, ...)                                                                      \
    static void law(void **state)                                                                  \
    {                                                                                              \
        struct server_case k = {__VA_ARGS__};                                                      \
        (void)state;                                                                               \
        run_server_case(&k);                                                                       \
    }

SERVER_CASE(test_client_admits_the_named_server,
            .cert = {.name = "s-good", .san = "server", .eku = TEST_EKU_SERVER}, .alpn = "vfl/1",
            .status = STATUS_NET, .words = "peer closed the connection")
SERVER_CASE(test_client_refuses_another_name,
            .cert = {.name = "s-name", .san = "p2", .eku = TEST_EKU_SERVER}, .alpn = "vfl/1",
            .status = STATUS_AUTH, .words = "does not carry the expected name")
SERVER_CASE(test_client_refuses_a_wildcard,
            .cert = {.name = "s-wild", .san = "*", .eku = TEST_EKU_SERVER}, .alpn = "vfl/1",
            .status = STATUS_AUTH, .words = "does not carry the expected name")
SERVER_CASE(test_client_does_not_look_at_the_subject,
            .cert = {.name = "s-cn", .subject = "server", .san = "p2", .eku = TEST_EKU_SERVER},
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "does not carry the expected name")
SERVER_CASE(test_client_refuses_another_ca,
            .cert = {.name = "s-ca", .san = "server", .eku = TEST_EKU_SERVER}, .issuer = &other,
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "not issued by this side's CA")
SERVER_CASE(test_client_refuses_an_expired_server,
            .cert = {.name = "s-old", .san = "server", .eku = TEST_EKU_SERVER, .until_s = -1},
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "has expired")
SERVER_CASE(test_client_refuses_a_party_as_server,
            .cert = {.name = "s-eku", .san = "server", .eku = TEST_EKU_CLIENT}, .alpn = "vfl/1",
            .status = STATUS_AUTH, .words = "extendedKeyUsage")
SERVER_CASE(test_client_refuses_a_tls12_server,
            .cert = {.name = "s-12", .san = "server", .eku = TEST_EKU_SERVER}, .alpn = "vfl/1",
            .tls12 = true, .status = STATUS_PROTOCOL, .words = "does not speak TLS 1.3")
SERVER_CASE(test_client_refuses_a_server_without_alpn,
            .cert = {.name = "s-alpn", .san = "server", .eku = TEST_EKU_SERVER},
            .status = STATUS_PROTOCOL, .words = "vfl/1")
SERVER_CASE(test_client_refuses_a_server_of_rsa,
            .cert = {.name = "s-rsa", .san = "server", .eku = TEST_EKU_SERVER, .key = TEST_KEY_RSA},
            .alpn = "vfl/1", .status = STATUS_AUTH, .words = "not Ed25519")

/* The client's own handshake is over before the server has looked at its certificate. */
static void test_refused_client_learns_that_its_certificate_is_the_reason(void **state)
{
    struct net_identity id = world_identity(&other, "foreign", both_cas, NULL);
    struct net_tls *foreign = world_tls(false, &id);
    struct world *w = world_new(server_tls, foreign);
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");

    (void)state;
    world_until(w, &e->closed);
    assert_says(&e->err, STATUS_IDENTITY,
                "server refused this side's certificate (alert: unknown ca)");
    world_until_count(w, &w->server_closed, 1);
    assert_says(&w->server_ends[0].err, STATUS_AUTH, "not issued by this side's CA");
    world_free(w);
    net_tls_free(foreign);
}

/* --- this side's own files
 * ------------------------------------------------------------------------ */

static void refuse_identity(const struct net_identity *id, bool server, const char *words)
{
    struct net_tls *t = NULL;
    struct error err = {0};

    assert_int_equal(net_tls_new(&t, server, id, &err), STATUS_IDENTITY);
    assert_null(t);
    assert_says(&err, STATUS_IDENTITY, words);
}

static void test_own_identity_is_checked_at_the_start(void **state)
{
    struct net_identity id = world_identity(&pki, "p1", pki.ca, NULL);
    const char *loose;

    (void)state;
    id.cert = "";
    refuse_identity(&id, false, "identity.cert: missing");
    id.cert = scratch_path("absent.pem");
    refuse_identity(&id, false, "identity.cert: ");
    id = world_identity(&pki, "p1", pki.ca, NULL);
    id.key = test_pki_path(&other, "foreign", "key");
    refuse_identity(&id, false, "identity.key: ");
    id.key = pki.ca;
    refuse_identity(&id, false, "identity.key: ");
    id = world_identity(&other, "foreign", pki.ca, NULL);
    refuse_identity(&id, false, "not issued by this side's CA");
    id = world_identity(&pki, "p1", pki.ca, NULL);
    refuse_identity(&id, true, "extendedKeyUsage");
    test_pki_issue(&pki, &(struct test_cert){.name = "gone", .from_s = -9, .until_s = -1});
    id = world_identity(&pki, "gone", pki.ca, NULL);
    refuse_identity(&id, false, "has expired");
    id = world_identity(&pki, "p1", pki.ca, pki.ca);
    refuse_identity(&id, false, "identity.crl");
    test_pki_issue(&pki, &(struct test_cert){.name = "loose"});
    loose = test_pki_path(&pki, "loose", "key");
    assert_int_equal(chmod(loose, 0640), 0);
    id = world_identity(&pki, "loose", pki.ca, NULL);
    refuse_identity(&id, false, "readable by others");
}

static void test_own_key_digest_and_expiry_are_told(void **state)
{
    uint8_t spki[NET_SPKI_BYTES], renewed[NET_SPKI_BYTES];
    struct net_identity id;
    struct net_tls *t;
    int64_t left;

    (void)state;
    net_tls_own(client_tls, spki, &left);
    assert_true(left > 86400 - 600 && left <= 86400);
    test_pki_issue(&pki, &(struct test_cert){.name = "p1-renewed", .reuse_key_of = "p1"});
    id = world_identity(&pki, "p1-renewed", pki.ca, NULL);
    t = world_tls(false, &id);
    net_tls_own(t, renewed, &left);
    assert_memory_equal(spki, renewed, sizeof spki);
    net_tls_free(t);
}

static void test_peer_key_digest_and_names_are_those_of_its_certificate(void **state)
{
    struct world *w = world_new(server_tls, client_tls);
    struct end *e = world_dial(w, net_listener_address(w->listener), "server");
    uint8_t spki[NET_SPKI_BYTES];
    int64_t left;

    (void)state;
    world_until_count(w, &w->servers, 1);
    world_until(w, &e->opened);
    net_tls_own(client_tls, spki, &left);
    assert_memory_equal(w->server_ends[0].spki, spki, sizeof spki);
    net_tls_own(server_tls, spki, &left);
    assert_memory_equal(e->spki, spki, sizeof spki);
    assert_true(net_conn_has_name(w->server_ends[0].conn, "p1"));
    assert_false(net_conn_has_name(w->server_ends[0].conn, "p2"));
    assert_false(net_conn_has_name(w->server_ends[0].conn, ""));
    assert_false(net_conn_has_name(w->server_ends[0].conn, ".p1"));
    assert_true(net_conn_has_name(e->conn, "server"));
    world_free(w);
}

/* --- SIGHUP
 * ---------------------------------------------------------------------------------------- */

static void test_reload_finds_revoked_peers_among_live_connections(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, NULL);
    struct net_tls *t = world_tls(true, &id), *doomed;
    struct net_identity doomed_id;
    long serial = test_pki_issue(&pki, &(struct test_cert){.name = "doomed"});
    struct world *w;
    struct end *e;
    struct error err = {0};

    (void)state;
    doomed_id = world_identity(&pki, "doomed", pki.ca, NULL);
    doomed = world_tls(false, &doomed_id);
    w = world_new(t, doomed);
    e = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &w->server_ends[0].opened);
    assert_true(net_conn_recheck(w->server_ends[0].conn));
    test_pki_crl(&pki, &serial, 1, HOUR);
    id.crl = pki.crl;
    assert_int_equal(net_tls_reload(t, &id, &err), STATUS_OK);
    assert_false(net_conn_recheck(w->server_ends[0].conn));
    world_until(w, &w->server_ends[0].closed);
    assert_says(&w->server_ends[0].err, STATUS_AUTH, "revoked");
    world_until(w, &e->closed);
    world_free(w);
    net_tls_free(t);
    net_tls_free(doomed);
}

static void test_failed_reload_keeps_the_old_identity(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, NULL);
    struct net_tls *t = world_tls(true, &id);
    struct world *w = world_new(t, client_tls);
    struct error err = {0};
    struct end *e;

    (void)state;
    id.cert = scratch_path("absent.pem");
    assert_int_equal(net_tls_reload(t, &id, &err), STATUS_IDENTITY);
    e = world_dial(w, net_listener_address(w->listener), "server");
    world_until(w, &e->opened);
    world_free(w);
    net_tls_free(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_admits_a_good_client),
        cmocka_unit_test(test_server_refuses_no_certificate),
        cmocka_unit_test(test_server_refuses_another_ca),
        cmocka_unit_test(test_server_refuses_expired),
        cmocka_unit_test(test_server_refuses_not_yet_valid),
        cmocka_unit_test(test_server_refuses_a_server_certificate),
        cmocka_unit_test(test_server_refuses_unstated_purpose),
        cmocka_unit_test(test_server_refuses_rsa),
        cmocka_unit_test(test_server_refuses_p256),
        cmocka_unit_test(test_server_refuses_tls12),
        cmocka_unit_test(test_server_refuses_no_alpn),
        cmocka_unit_test(test_server_refuses_wrong_alpn),
        cmocka_unit_test(test_server_refuses_a_self_signed_certificate),
        cmocka_unit_test(test_server_offers_nothing_to_resume),
        cmocka_unit_test(test_garbage_is_a_protocol_violation),
        cmocka_unit_test(test_crl_shuts_out_the_revoked_only),
        cmocka_unit_test(test_expired_crl_lets_nobody_in),
        cmocka_unit_test(test_client_admits_the_named_server),
        cmocka_unit_test(test_client_refuses_another_name),
        cmocka_unit_test(test_client_refuses_a_wildcard),
        cmocka_unit_test(test_client_does_not_look_at_the_subject),
        cmocka_unit_test(test_client_refuses_another_ca),
        cmocka_unit_test(test_client_refuses_an_expired_server),
        cmocka_unit_test(test_client_refuses_a_party_as_server),
        cmocka_unit_test(test_client_refuses_a_tls12_server),
        cmocka_unit_test(test_client_refuses_a_server_without_alpn),
        cmocka_unit_test(test_client_refuses_a_server_of_rsa),
        cmocka_unit_test(test_refused_client_learns_that_its_certificate_is_the_reason),
        cmocka_unit_test(test_own_identity_is_checked_at_the_start),
        cmocka_unit_test(test_own_key_digest_and_expiry_are_told),
        cmocka_unit_test(test_peer_key_digest_and_names_are_those_of_its_certificate),
        cmocka_unit_test(test_reload_finds_revoked_peers_among_live_connections),
        cmocka_unit_test(test_failed_reload_keeps_the_old_identity),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
