/* fuzz_tls.c -- what comes in at the open port before anybody is known: a stream of bytes, or a
 * client's whose bytes are changed on their way, in pieces of any size.
 *
 * Input: byte 0 the size of pieces; byte 1: 0, the rest is the stream; else a good client speaks,
 * and the rest are places (2 bytes) in what it says and what to add there.
 *
 * Laws: a client is known by its key only when not a byte of its handshake was changed; what is
 * read is what it wrote; a failure has words, and nothing is taken after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls.h"
#include "tests/fuzz/feed.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

enum { CHANGES_MAX = 8, OUT_MAX = 1 << 20, TURNS = 8 };

static const char words[] = "a join";

/* One end of the stream. */
struct end {
    struct tls *tls;
    struct net_traffic traffic;
    struct buf out;
    enum tls_result state; /* of the handshake */
    struct error err;
};

static struct {
    struct net_tls *server, *client;
} made;

static void make(void)
{
    struct test_pki pki;
    struct net_identity id;
    char cert[2][TEST_PKI_PATH_MAX], key[2][TEST_PKI_PATH_MAX];
    static const char *const name[2] = {"server", "client"};

    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_issue(&pki, &(struct test_cert){.name = name[0], .eku = TEST_EKU_SERVER});
    test_pki_issue(&pki, &(struct test_cert){.name = name[1]});
    for (size_t i = 0; i < 2; i++) {
        snprintf(cert[i], sizeof cert[i], "%s", test_pki_path(&pki, name[i], "pem"));
        snprintf(key[i], sizeof key[i], "%s", test_pki_path(&pki, name[i], "key"));
        id = (struct net_identity){cert[i], key[i], pki.ca, NULL};
        CHECK(net_tls_new(i == 0 ? &made.server : &made.client, i == 0, &id, NULL) == STATUS_OK);
    }
    test_pki_deinit(&pki);
}

static void open_end(struct end *e, bool server)
{
    *e = (struct end){.state = TLS_WANT};
    e->tls = tls_open(server ? made.server : made.client, server ? NULL : "server", &e->traffic);
    CHECK(e->tls != NULL);
    buf_init(&e->out, OUT_MAX);
    tls_set_output(e->tls, &e->out);
}

static void close_end(struct end *e)
{
    tls_close(e->tls);
    buf_deinit(&e->out);
}

static void shake(struct end *e)
{
    e->state = tls_handshake(e->tls, &e->err);
    CHECK(e->state != TLS_FAILED || e->err.status != STATUS_OK);
    if (e->state == TLS_FAILED)
        feed_check_words(e->err.text);
}

/* What can be read now, which is the beginning of `words` or nothing. */
static void drain(struct end *e)
{
    static uint8_t plain[TLS_RECORD_MAX];
    size_t n = 0;

    while (e->state == TLS_DONE) {
        const enum tls_result r = tls_read(e->tls, &n, plain, sizeof plain, &e->err);

        if (r == TLS_DONE && n > 0)
            CHECK(n <= sizeof words && memcmp(plain, words, n) == 0);
        else
            e->state = r == TLS_DONE ? TLS_WANT : r;
    }
    if (e->state == TLS_WANT)
        e->state = TLS_DONE;
}

/* Bytes to an end, in pieces; each is at a place of its own, so that reading past it is seen. */
static void hand_over(struct end *e, const uint8_t *bytes, size_t n, size_t piece)
{
    for (size_t at = 0; at < n && (e->state == TLS_WANT || e->state == TLS_DONE); at += piece) {
        const size_t some = n - at < piece ? n - at : piece;

        tls_feed(e->tls, bytes + at, some);
        if (e->state == TLS_WANT)
            shake(e);
        if (e->state == TLS_DONE)
            drain(e);
        if (tls_has_input(e->tls) && e->state != TLS_FAILED && e->state != TLS_CLOSED)
            CHECK(tls_keep_input(e->tls) == STATUS_OK);
        if (tls_has_input(e->tls))
            return; /* nothing more is taken */
    }
}

static void stream(struct feed *f, size_t piece)
{
    struct end server;

    open_end(&server, true);
    hand_over(&server, f->at, f->left, piece);
    CHECK(server.state != TLS_DONE);
    close_end(&server);
}

/* --- a client whose words are changed --- */

struct changes {
    size_t at[CHANGES_MAX], n, said; /* said: bytes of the client that have passed */
    uint8_t add[CHANGES_MAX];
    bool any; /* one was made */
};

static void pass(struct changes *c, struct buf *bytes)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->add[i] == 0 || c->at[i] < c->said || c->at[i] - c->said >= bytes->len)
            continue;
        bytes->data[c->at[i] - c->said] = (uint8_t)(bytes->data[c->at[i] - c->said] + c->add[i]);
        c->any = true;
    }
    c->said += bytes->len;
}

static void converse(struct changes *c, struct end *client, struct end *server, size_t piece)
{
    struct buf said;

    shake(client);
    for (size_t turn = 0; turn < TURNS; turn++) {
        if (client->state == TLS_DONE && client->out.len == 0 && !c->any)
            CHECK(tls_write(client->tls, (const uint8_t *)words, sizeof words, NULL) == STATUS_OK);
        said = client->out;
        buf_init(&client->out, OUT_MAX);
        pass(c, &said);
        hand_over(server, said.data, said.len, piece);
        buf_deinit(&said);
        said = server->out;
        buf_init(&server->out, OUT_MAX);
        hand_over(client, said.data, said.len, piece);
        buf_deinit(&said);
    }
}

static void changed(struct feed *f, size_t piece)
{
    struct changes c = {0};
    struct end client, server;
    uint8_t spki[NET_SPKI_BYTES], own[NET_SPKI_BYTES];
    int64_t expires;

    for (; c.n < CHANGES_MAX && f->left >= 3; c.n++) {
        c.at[c.n] = feed_number(f, 2) % 2048;
        c.add[c.n] = feed_byte(f);
    }
    open_end(&client, false);
    open_end(&server, true);
    converse(&c, &client, &server, piece);
    if (!c.any)
        CHECK(server.state == TLS_DONE);
    if (server.state == TLS_DONE) {
        net_tls_own(made.client, own, &expires);
        CHECK(tls_peer_spki(server.tls, spki) && memcmp(spki, own, sizeof spki) == 0);
        CHECK(tls_peer_has_name(server.tls, "client"));
    }
    close_end(&client);
    close_end(&server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const size_t piece = 1 + (size_t)feed_byte(&f) * 8;

    if (made.server == NULL)
        make();
    if (feed_byte(&f) == 0)
        stream(&f, piece);
    else
        changed(&f, piece);
    return 0;
}
