/* test_tls_cert.c -- whose certificate is good enough, at either end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_cert.h"

#include "tests/unit/net/world.h"

enum { HOUR = 3600, ALERT_REVOKED = 44, ALERT_INTERNAL = 80, ALERT_NO_CERT = 116 };

static struct test_pki other; /* a CA that nobody here trusts */

static int setup_other(void **state)
{
    test_pki_init(&other, scratch_dir(), "other-ca");
    test_pki_issue(&other, &(struct test_cert){.name = "foreign"});
    return setup(state);
}

static int teardown_other(void **state)
{
    test_pki_deinit(&other);
    return teardown(state);
}

struct client_case {
    struct test_cert cert; /* no name: no certificate */
    struct test_pki *issuer;
    enum status status;
    const char *words;
    int alert;
};

static void run_client_case(struct client_case *k)
{
    struct test_peer peer = {.alpn = "vfl/1", .hang_up = k->status == STATUS_NET};
    struct error err;

    if (k->cert.name != NULL) {
        test_pki_issue(k->issuer != NULL ? k->issuer : &pki, &k->cert);
        peer.cert = test_pki_path(&pki, k->cert.name, "pem");
        peer.key = test_pki_path(&pki, k->cert.name, "key");
    }
    err = end_of(server_tls, &peer, NULL, NULL);
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

CLIENT_CASE(test_server_admits_a_good_client, .cert = {.name = "good"}, .status = STATUS_NET,
            .words = "peer closed the connection")
CLIENT_CASE(test_server_refuses_no_certificate, .status = STATUS_AUTH,
            .words = "peer sent no certificate", .alert = ALERT_NO_CERT)
CLIENT_CASE(test_server_refuses_another_ca, .cert = {.name = "stray"}, .issuer = &other,
            .status = STATUS_AUTH, .words = "not issued by this side's CA", .alert = 48)
CLIENT_CASE(test_server_refuses_a_self_signed_certificate,
            .cert = {.name = "self", .self_signed = true}, .status = STATUS_AUTH,
            .words = "not issued by this side's CA", .alert = 48)
CLIENT_CASE(test_server_refuses_expired, .cert = {.name = "old", .from_s = -9, .until_s = -1},
            .status = STATUS_AUTH, .words = "certificate not accepted: certificate has expired",
            .alert = 45)
CLIENT_CASE(test_server_refuses_not_yet_valid,
            .cert = {.name = "early", .from_s = HOUR, .until_s = 2 * HOUR}, .status = STATUS_AUTH,
            .words = "not yet valid", .alert = 42)
CLIENT_CASE(test_server_refuses_a_server_certificate,
            .cert = {.name = "srv", .eku = TEST_EKU_SERVER}, .status = STATUS_AUTH,
            .words = "extendedKeyUsage", .alert = 43)
CLIENT_CASE(test_server_refuses_unstated_purpose, .cert = {.name = "any", .eku = TEST_EKU_NONE},
            .status = STATUS_AUTH, .words = "extendedKeyUsage", .alert = 43)
CLIENT_CASE(test_server_refuses_rsa, .cert = {.name = "rsa", .key = TEST_KEY_RSA},
            .status = STATUS_AUTH, .words = "not Ed25519", .alert = 42)
CLIENT_CASE(test_server_refuses_p256, .cert = {.name = "p256", .key = TEST_KEY_P256},
            .status = STATUS_AUTH, .words = "not Ed25519", .alert = 42)

static struct test_peer client_called(const char *name)
{
    return (struct test_peer){.alpn = "vfl/1",
                              .cert = test_pki_path(&pki, name, "pem"),
                              .key = test_pki_path(&pki, name, "key")};
}

static void test_crl_shuts_out_the_revoked_only(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, pki.crl);
    long serial = test_pki_issue(&pki, &(struct test_cert){.name = "revoked"});
    struct test_peer revoked = client_called("revoked"), good = client_called("p1");
    struct net_tls *t;
    struct error err;

    (void)state;
    good.hang_up = true;
    test_pki_crl(&pki, &serial, 1, HOUR);
    t = world_tls(true, &id);
    err = end_of(t, &revoked, NULL, NULL);
    assert_says(&err, STATUS_AUTH, "revoked");
    assert_int_equal(revoked.alert, ALERT_REVOKED);
    err = end_of(t, &good, NULL, NULL);
    assert_int_equal(err.status, STATUS_NET);
    net_tls_free(t);
}

/* This side has a CRL, but none of the CA that issued the client's certificate. */
static void test_missing_crl_lets_nobody_in_and_is_this_sides_fault(void **state)
{
    char both[TEST_PKI_PATH_MAX];
    struct net_identity id;
    struct test_peer peer = client_called("foreign");
    struct net_tls *t;
    struct error err;

    (void)state;
    snprintf(both, sizeof both, "%s", scratch_path("both.pem"));
    world_join_files(both, pki.ca, other.ca);
    test_pki_crl(&pki, NULL, 0, HOUR);
    id = world_identity(&pki, "server", both, pki.crl);
    t = world_tls(true, &id);
    err = end_of(t, &peer, NULL, NULL);
    assert_says(&err, STATUS_IDENTITY, "identity.crl of this side");
    assert_int_equal(peer.alert, ALERT_INTERNAL);
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

struct server_case {
    struct test_cert cert;
    struct test_pki *issuer;
    enum status status;
    const char *words;
};

static void run_server_case(struct server_case *k)
{
    struct test_peer peer = {.server = true, .alpn = "vfl/1"};
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
            .cert = {.name = "s-good", .san = "server", .eku = TEST_EKU_SERVER},
            .status = STATUS_NET, .words = "peer closed the connection")
SERVER_CASE(test_client_refuses_another_name,
            .cert = {.name = "s-name", .san = "p2", .eku = TEST_EKU_SERVER}, .status = STATUS_AUTH,
            .words = "does not carry the expected name")
SERVER_CASE(test_client_refuses_a_wildcard,
            .cert = {.name = "s-wild", .san = "*", .eku = TEST_EKU_SERVER}, .status = STATUS_AUTH,
            .words = "does not carry the expected name")
SERVER_CASE(test_client_does_not_look_at_the_subject,
            .cert = {.name = "s-cn", .subject = "server", .san = "p2", .eku = TEST_EKU_SERVER},
            .status = STATUS_AUTH, .words = "does not carry the expected name")
SERVER_CASE(test_client_refuses_another_ca,
            .cert = {.name = "s-ca", .san = "server", .eku = TEST_EKU_SERVER}, .issuer = &other,
            .status = STATUS_AUTH, .words = "not issued by this side's CA")
SERVER_CASE(test_client_refuses_an_expired_server,
            .cert = {.name = "s-old", .san = "server", .eku = TEST_EKU_SERVER, .until_s = -1},
            .status = STATUS_AUTH, .words = "has expired")
SERVER_CASE(test_client_refuses_a_party_as_server,
            .cert = {.name = "s-eku", .san = "server", .eku = TEST_EKU_CLIENT},
            .status = STATUS_AUTH, .words = "extendedKeyUsage")
SERVER_CASE(test_client_refuses_a_server_of_rsa,
            .cert = {.name = "s-rsa", .san = "server", .eku = TEST_EKU_SERVER, .key = TEST_KEY_RSA},
            .status = STATUS_AUTH, .words = "not Ed25519")

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

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_server_admits_a_good_client),
        TEST(test_server_refuses_no_certificate),
        TEST(test_server_refuses_another_ca),
        TEST(test_server_refuses_a_self_signed_certificate),
        TEST(test_server_refuses_expired),
        TEST(test_server_refuses_not_yet_valid),
        TEST(test_server_refuses_a_server_certificate),
        TEST(test_server_refuses_unstated_purpose),
        TEST(test_server_refuses_rsa),
        TEST(test_server_refuses_p256),
        TEST(test_crl_shuts_out_the_revoked_only),
        TEST(test_missing_crl_lets_nobody_in_and_is_this_sides_fault),
        TEST(test_expired_crl_lets_nobody_in),
        TEST(test_client_admits_the_named_server),
        TEST(test_client_refuses_another_name),
        TEST(test_client_refuses_a_wildcard),
        TEST(test_client_does_not_look_at_the_subject),
        TEST(test_client_refuses_another_ca),
        TEST(test_client_refuses_an_expired_server),
        TEST(test_client_refuses_a_party_as_server),
        TEST(test_client_refuses_a_server_of_rsa),
        TEST(test_reload_finds_revoked_peers_among_live_connections),
    };
    return cmocka_run_group_tests(tests, setup_other, teardown_other);
}
