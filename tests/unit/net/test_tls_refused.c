/* test_tls_refused.c -- every certificate that is not quite right, shown by a client and by a
 * server: refused, with the reason, before a byte of data is read.
 *
 * test_tls_cert.c has the same laws one by one with what the refused is told; here is the list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_context.h"

#include "tests/unit/net/world.h"

#include <openssl/x509_vfy.h>

enum { HOUR = 3600, DAY = 86400, CASES_MIN = 40 };

static struct test_pki other, below, no_ca, no_signer, past, rsa, weak, p256;
static unsigned refusals; /* of all tests together */

static int setup_all(void **state)
{
    if (setup(state) != 0)
        return -1;
    test_pki_init(&other, scratch_dir(), "other-ca");
    test_pki_init_with(&rsa, scratch_dir(), "rsa-ca", TEST_KEY_RSA);
    test_pki_init_with(&weak, scratch_dir(), "weak-ca", TEST_KEY_RSA_1024);
    test_pki_init_with(&p256, scratch_dir(), "p256-ca", TEST_KEY_P256);
    test_pki_init_below(&below, &pki, &(struct test_cert){.name = "below"});
    test_pki_init_below(&no_ca, &pki,
                        &(struct test_cert){.name = "no-ca", .constraints = "critical,CA:FALSE"});
    test_pki_init_below(
        &no_signer, &pki,
        &(struct test_cert){.name = "no-signer", .usage = "critical,digitalSignature,cRLSign"});
    test_pki_init_below(&past, &pki,
                        &(struct test_cert){.name = "past", .from_s = -9, .until_s = -1});
    return 0;
}

static int teardown_all(void **state)
{
    struct test_pki *const all[] = {&other, &below, &no_ca, &no_signer, &past, &rsa, &weak, &p256};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_pki_deinit(all[i]);
    return teardown(state);
}

/* --- one certificate, one judge --- */

static void issue(struct test_pki *by, const struct test_cert *how, bool server,
                  struct test_peer *peer)
{
    struct test_cert c = *how;

    c.name = server ? "judged-server" : "judged-client";
    if (c.eku == TEST_EKU_CLIENT && server)
        c.eku = TEST_EKU_SERVER;
    else if (c.eku == TEST_EKU_SERVER && server)
        c.eku = TEST_EKU_CLIENT;
    c.san = server ? "server" : "p1";
    test_pki_issue(by, &c);
    peer->server = server;
    peer->alpn = "vfl/1";
    peer->cert = test_pki_path(&pki, c.name, "pem");
    peer->key = test_pki_path(&pki, c.name, "key");
    peer->hang_up = server;
}

static void refused_by(struct net_tls *tls, struct test_peer *peer, const char *what,
                       const char *words)
{
    struct error err = peer->server ? end_of_dial(tls, peer) : end_of(tls, peer, NULL, NULL);

    if (err.status != STATUS_AUTH || strstr(err.text, words) == NULL)
        fail_msg("%s, of a %s: %d: %s", what, peer->server ? "server" : "client", (int)err.status,
                 err.text);
    assert_int_equal(peer->received, 0);
    refusals++;
}

/* --- what a certificate may not be --- */

struct bad {
    const char *what, *words;
    struct test_pki *by;
    struct test_cert cert;
};

static const struct bad bads[] = {
    {"expired", "has expired", &pki, {.from_s = -9, .until_s = -1}},
    {"not yet valid", "not yet valid", &pki, {.from_s = HOUR, .until_s = 2 * HOUR}},
    {"of another CA", "not issued by", &other, {.chain = false}},
    {"of another CA, which comes along", "not issued by", &other, {.chain = true}},
    {"self-signed", "not issued by", &pki, {.self_signed = true}},
    {"of the other role", "extendedKeyUsage", &pki, {.eku = TEST_EKU_SERVER}},
    {"of no stated purpose", "extendedKeyUsage", &pki, {.eku = TEST_EKU_NONE}},
    {"of an RSA key", "not Ed25519", &pki, {.key = TEST_KEY_RSA}},
    {"of a P-256 key", "not Ed25519", &pki, {.key = TEST_KEY_P256}},
    {"of a short RSA key", "not Ed25519", &pki, {.key = TEST_KEY_RSA_1024}},
    {"with a forged signature", "signature failure", &pki, {.forged = true}},
    {"with a critical extension that nobody knows",
     "unhandled critical extension",
     &pki,
     {.strange = true}},
    {"without extensions, version 1", "not accepted: it", &pki, {.old = true}},
    {"whose key may not sign", "extendedKeyUsage", &pki, {.usage = "critical,keyEncipherment"}},
    {"that does not say by which key it was signed",
     "Authority Key Identifier",
     &pki,
     {.no_issuer_id = true}},
    {"of an intermediate CA that is missing", "not issued by", &below, {.chain = false}},
    {"of somebody who is no CA", "invalid CA certificate", &no_ca, {.chain = true}},
    {"of a CA that may not sign certificates",
     "invalid CA certificate",
     &no_signer,
     {.chain = true}},
    {"of a CA that has expired", "has expired", &past, {.chain = true}},
};

enum { BADS = sizeof bads / sizeof bads[0] };

static void refuse_all(bool server)
{
    for (size_t i = 0; i < BADS; i++) {
        struct test_peer peer = {0};

        issue(bads[i].by, &bads[i].cert, server, &peer);
        refused_by(server ? client_tls : server_tls, &peer, bads[i].what, bads[i].words);
    }
}

static void test_a_server_refuses_each_of_them(void **state)
{
    (void)state;
    refuse_all(false);
}

static void test_a_client_refuses_each_of_them(void **state)
{
    (void)state;
    refuse_all(true);
}

/* The same hands make good ones. */
static void test_good_ones_of_the_ca_and_of_one_below_it_are_admitted(void **state)
{
    static const struct bad goods[] = {{"good", "", &pki, {.chain = false}},
                                       {"of a CA below", "", &below, {.chain = true}},
                                       {"of both roles", "", &pki, {.eku = TEST_EKU_BOTH}}};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof goods / sizeof goods[0]; i++) {
        const struct bad *g = &goods[i / 2];
        struct test_peer peer = {0};
        struct error err;

        issue(g->by, &g->cert, i % 2 == 1, &peer);
        peer.hang_up = true;
        err = peer.server ? end_of_dial(client_tls, &peer) : end_of(server_tls, &peer, NULL, NULL);
        assert_says(&err, STATUS_NET, "closed the connection");
    }
}

/* A CA that signs by weak means is believed by nobody, whoever has put it in the file. */
static void test_weak_signatures_of_a_trusted_ca_are_refused(void **state)
{
    static const struct bad weaks[] = {
        {"signed with SHA-1 by RSA", "too weak", &rsa, {.digest = "SHA1"}},
        {"signed with SHA-1 by P-256", "too weak", &p256, {.digest = "SHA1"}},
        {"signed with MD5", "too weak", &rsa, {.digest = "MD5"}},
        {"signed by a short key", "key too", &weak, {.chain = false}},
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof weaks / sizeof weaks[0]; i++) {
        const struct bad *b = &weaks[i / 2];
        const bool server = i % 2 == 1;
        struct net_identity id;
        struct test_peer peer = {0};
        struct net_tls *t;
        char both[TEST_PKI_PATH_MAX];

        snprintf(both, sizeof both, "%s", scratch_path("both.pem"));
        world_join_files(both, pki.ca, b->by->ca);
        id = world_identity(&pki, server ? "p1" : "server", both, NULL);
        t = world_tls(!server, &id);
        issue(b->by, &b->cert, server, &peer);
        refused_by(t, &peer, b->what, b->words);
        net_tls_free(t);
    }
}

static void test_a_certificate_without_its_key_is_no_identity(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++) {
        struct test_peer peer = {.thief = true};
        struct error err;

        issue(&pki, &(struct test_cert){.chain = false}, server, &peer);
        err = server ? end_of_dial(client_tls, &peer) : end_of(server_tls, &peer, NULL, NULL);
        assert_int_equal(status_kind(err.status), STATUS_KIND_PEER);
        assert_non_null(strstr(err.text, "bad signature"));
        assert_int_equal(peer.received, 0);
        refusals++;
    }
}

/* --- names --- */

static const char *const strange_names[] = {
    "",
    "DNS:p2",
    "DNS:*",
    "DNS:server.example",
    "DNS:example.server",
    "DNS:serve",
    "DNS:*.server",
    "email:server@server",
    "IP:127.0.0.1",
    "URI:server",
};
enum { NAMES = sizeof strange_names / sizeof strange_names[0] };

static void test_a_client_wants_the_very_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        struct test_peer peer = {0};

        issue(&pki, &(struct test_cert){.alt = strange_names[i], .subject = "server"}, true, &peer);
        refused_by(client_tls, &peer, strange_names[i], "does not carry the expected name");
    }
}

static bool has_name;

static void ask_name(struct end *e)
{
    has_name = net_conn_has_name(e->conn, "server");
}

static void test_a_server_sees_that_a_client_has_not_the_name_of_its_roster(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        struct test_peer peer = {0};

        issue(&pki, &(struct test_cert){.alt = strange_names[i], .subject = "server"}, false,
              &peer);
        peer.hang_up = has_name = true;
        (void)end_of(server_tls, &peer, ask_name, NULL);
        assert_false(has_name);
        refusals++;
    }
}

/* --- revocation --- */

static void test_what_a_crl_has_to_be(void **state)
{
    struct net_identity id = world_identity(&pki, "server", pki.ca, pki.crl);
    struct error err = {0};
    struct net_tls *t;

    (void)state;
    test_pki_crl(&pki, NULL, 0, -HOUR);
    assert_int_equal(net_tls_new(&t, true, &id, &err), STATUS_IDENTITY);
    assert_non_null(strstr(err.text, "CRL has expired"));
    test_pki_crl(&other, NULL, 0, HOUR); /* another CA's */
    id.crl = other.crl;
    assert_int_equal(net_tls_new(&t, true, &id, &err), STATUS_IDENTITY);
    assert_non_null(strstr(err.text, "unable to get certificate CRL"));
    id.crl = test_pki_path(&pki, "p1", "pem");
    assert_int_equal(net_tls_new(&t, true, &id, &err), STATUS_IDENTITY);
    assert_non_null(strstr(err.text, "identity.crl"));
    refusals += 3;
}

static void test_the_revoked_are_refused_in_both_roles(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++) {
        struct test_peer peer = {0};
        struct net_identity id;
        struct net_tls *t;
        long last;

        issue(&pki, &(struct test_cert){.chain = false}, server, &peer);
        last = pki.serial;
        test_pki_crl(&pki, &last, 1, HOUR);
        id = world_identity(&pki, server ? "p1" : "server", pki.ca, pki.crl);
        t = world_tls(!server, &id);
        refused_by(t, &peer, "revoked", "revoked");
        net_tls_free(t);
    }
}

/* The clock goes on while connections live. */
static void test_a_certificate_that_runs_out_is_found_among_live_connections(void **state)
{
    struct world *w = connected(NULL);
    struct net_conn *c = w->server_ends[0].conn;
    X509_VERIFY_PARAM *rules = X509_STORE_get0_param(SSL_CTX_get_cert_store(server_tls->ctx));

    (void)state;
    assert_true(net_conn_recheck(c));
    X509_VERIFY_PARAM_set_time(rules, time(NULL) + 2 * DAY);
    assert_false(net_conn_recheck(c));
    X509_VERIFY_PARAM_clear_flags(rules, X509_V_FLAG_USE_CHECK_TIME);
    world_until(w, &w->server_ends[0].closed);
    assert_says(&w->server_ends[0].err, STATUS_AUTH, "has expired");
    refusals++;
    world_free(w);
}

/* Nobody asks: each end looks again by itself, the dialling one like the listening one. */
static void test_a_certificate_that_runs_out_ends_a_connection_by_itself(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++) {
        struct net_tls *t = server ? server_tls : client_tls;
        X509_VERIFY_PARAM *rules = X509_STORE_get0_param(SSL_CTX_get_cert_store(t->ctx));
        struct world *w;
        struct end *e;

        tls_context_limits(t)->recheck_ms = 20;
        w = connected(NULL);
        e = server ? &w->server_ends[0] : &w->client_ends[0];
        world_be_patient(w);
        while (w->ticks < 50)
            uv_run(&w->loop, UV_RUN_ONCE);
        assert_false(e->closed); /* looked at some times, and good */
        X509_VERIFY_PARAM_set_time(rules, time(NULL) + 2 * DAY);
        world_until(w, &e->closed);
        X509_VERIFY_PARAM_clear_flags(rules, X509_V_FLAG_USE_CHECK_TIME);
        assert_says(&e->err, STATUS_AUTH, "has expired");
        refusals++;
        world_free(w);
    }
}

/* --- what was before --- */

/* Who comes again as another is another. */
static void test_each_connection_is_known_by_its_own_certificate(void **state)
{
    uint8_t before[NET_SPKI_BYTES] = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct world *w = world_new(server_tls, NULL);
        struct test_peer peer = rogue(NULL, 0);

        if (i == 1) {
            issue(&pki, &(struct test_cert){.chain = false}, false, &peer);
        }
        peer.hang_up = true;
        peer.port = world_port(w);
        test_peer_start(&peer);
        world_until_count(w, &w->server_closed, 1);
        test_peer_join(&peer);
        if (i == 0)
            memcpy(before, w->server_ends[0].spki, sizeof before);
        assert_int_equal(memcmp(before, w->server_ends[0].spki, sizeof before) == 0, i != 1);
        world_free(w);
    }
}

/* A session with somebody who hands them out: the server's certificate, and tickets. */
static void *session_of_another_server(void)
{
    struct test_peer from = {.server = true,
                             .alpn = "vfl/1",
                             .generous = true,
                             .hang_up = true,
                             .cert = test_pki_path(&pki, "server", "pem"),
                             .key = test_pki_path(&pki, "server", "key")};
    struct test_peer to = rogue(NULL, 0);

    test_peer_start(&from);
    to.port = from.port;
    test_peer_start(&to);
    test_peer_join(&from);
    test_peer_join(&to);
    assert_true(to.got_ticket && to.ticket != NULL);
    return to.ticket;
}

static void test_no_session_is_resumed_and_no_early_data_read(void **state)
{
    struct test_peer peer = rogue("\0\0\0\1x", 5);
    size_t frames = 0;
    struct error err;

    (void)state;
    peer.session = session_of_another_server();
    peer.hang_up = true;
    err = end_of(server_tls, &peer, NULL, &frames);
    assert_says(&err, STATUS_NET, "closed the connection");
    assert_true(peer.shaken && !peer.resumed); /* by a handshake of its own */
    refusals++;
    /* What comes before it is read by nobody, and ends the connection. */
    peer.hasty = true;
    err = end_of(server_tls, &peer, NULL, &frames);
    assert_says(&err, STATUS_PROTOCOL, "early data");
    assert_false(peer.resumed || peer.early);
    assert_int_equal(frames, 0);
    refusals++;
    /* Who has nothing but the session is nobody. */
    peer.cert = NULL;
    peer.hasty = false;
    err = end_of(server_tls, &peer, NULL, &frames);
    assert_says(&err, STATUS_AUTH, "peer sent no certificate");
    assert_false(peer.resumed);
    assert_int_equal(frames, 0);
    refusals++;
    peer.ticket = peer.session;
    test_peer_forget(&peer);
}

static void test_there_were_enough_of_them(void **state)
{
    (void)state;
    print_message("%u refusals\n", refusals);
    assert_true(refusals >= CASES_MIN);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_a_server_refuses_each_of_them),
        TEST(test_a_client_refuses_each_of_them),
        TEST(test_good_ones_of_the_ca_and_of_one_below_it_are_admitted),
        TEST(test_weak_signatures_of_a_trusted_ca_are_refused),
        TEST(test_a_certificate_without_its_key_is_no_identity),
        TEST(test_a_client_wants_the_very_name),
        TEST(test_a_server_sees_that_a_client_has_not_the_name_of_its_roster),
        TEST(test_what_a_crl_has_to_be),
        TEST(test_the_revoked_are_refused_in_both_roles),
        TEST(test_a_certificate_that_runs_out_is_found_among_live_connections),
        TEST(test_a_certificate_that_runs_out_ends_a_connection_by_itself),
        TEST(test_each_connection_is_known_by_its_own_certificate),
        TEST(test_no_session_is_resumed_and_no_early_data_read),
        TEST(test_there_were_enough_of_them),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
