/* test_tls_context.c -- this side's own files, and the rules it sets.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_context.h"

#include "tests/unit/net/world.h"

#include <sys/stat.h>

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

static void test_server_offers_nothing_to_resume(void **state)
{
    /* A frame of no bytes makes the server end it, so that the peer has read all there was. */
    struct test_peer peer = rogue("\0\0\0\0", 4);

    (void)state;
    (void)end_of(server_tls, &peer, NULL, NULL);
    assert_true(peer.shaken);
    assert_false(peer.got_ticket);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, usual_limits)
    static const struct CMUnitTest tests[] = {
        TEST(test_own_identity_is_checked_at_the_start),
        TEST(test_own_key_digest_and_expiry_are_told),
        TEST(test_failed_reload_keeps_the_old_identity),
        TEST(test_server_offers_nothing_to_resume),
    };
    return cmocka_run_group_tests(tests, setup_other, teardown_other);
}
