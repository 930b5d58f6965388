/* test_deal_masks.c -- what hides a party's rows in their shares is drawn again for the same
 * shares, and for no others.
 *
 * The uniform elements of a chunk come from a stream of its own.  A dealing in a round that has
 * been fails before it draws anything, and leaves that stream where it begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/deal.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MEMBERS = 3, ROWS = 12, COLUMNS = 2, BEGINNING = 32 };

/* Everything that shares depend on; as `usual` unless a test says otherwise. */
struct given {
    uint8_t secret[RNG_KEY_BYTES];
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    uint8_t roster_digest[WIRE_DIGEST_BYTES];
    float train[ROWS * COLUMNS], test[ROWS * COLUMNS];
    uint32_t test_rows;
    uint32_t others_features; /* of each other member */
    uint64_t chunk;           /* 0: of the training rows, 1: of the test rows */
};

static const struct given usual = {
    .secret = {1, 2, 3},
    .plan_digest = {4, 5, 6},
    .roster_digest = {7, 8, 9},
    .train = {0.5f, 0.25f},
    .test = {0.125f},
    .test_rows = ROWS,
    .others_features = 100,
};

struct stream {
    uint8_t name[WIRE_DIGEST_BYTES];
    uint8_t beginning[BEGINNING]; /* of the stream of masks */
    const struct field *field;
    uint32_t chunk_rows;
};

static void set_plan(struct plan *p, const struct given *g)
{
    plan_defaults(p);
    p->protocol.aggregation = AGGREGATION_FEDVS;
    p->protocol.fedvs.segments = p->protocol.fedvs.privacy = 1;
    p->protocol.fedvs.x_bits = 6;
    p->protocol.fedvs.w_bits = 10;
    p->protocol.fedvs.x_max = 4;
    p->protocol.fedvs.w_max = 2;
    p->model.embedding = 1;
    p->shape.parties = MEMBERS;
    p->shape.train_rows = ROWS;
    p->shape.test_rows = g->test_rows;
}

/* The parts that dealing takes. */
struct dealt {
    struct party_course course;
    struct party_deal deal;
    struct party_round round;
};

static enum status begin(struct dealt *p, const struct party_setup *setup,
                         const struct party_set *set, struct error *error)
{
    return party_deal_begin(&p->deal, &p->round.shape, &p->course.plan, setup, set, error);
}

static void set_hellos(struct party_set *set, const struct given *g)
{
    set->members_n = MEMBERS;
    set->hellos = mem_alloc(MEMBERS, sizeof *set->hellos);
    CHECK(set->hellos != NULL);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        set->hellos[m].has_dealing = true;
        set->hellos[m].features = m == 0 ? COLUMNS : g->others_features;
        set->hellos[m].degree = 1;
    }
}

enum { KEYS_BYTES_MAX = 4096 };

/* Subset keys, with which room for shares is made; then the chunk, twice in one round: the second
 * time nothing is drawn. */
static void deal(struct dealt *p, const struct party_setup *setup, const struct given *g,
                 struct stream *out)
{
    static const uint8_t sid[WIRE_DIGEST_BYTES], view[WIRE_DIGEST_BYTES];
    const struct secagg_pair pairs[MEMBERS] = {0};
    const struct secagg_round keys = {
        .purpose = PURPOSE_DEAL_KEYS, .round = 1, .sid = sid, .broadcast = view};
    const struct secagg_round round = {
        .purpose = PURPOSE_DEAL_DATA, .round = 2, .sid = sid, .broadcast = view};
    const size_t bytes = (size_t)(MEMBERS - 1) * ROWS * COLUMNS * FIELD_BYTES_MAX;

    p->round.shape.parties = MEMBERS;
    p->round.shape.values_max = ROWS;
    p->round.upload.payload = mem_alloc(KEYS_BYTES_MAX + bytes, 1);
    p->round.upload.check = mem_alloc(MEMBERS, WIRE_TAG_BYTES);
    CHECK(p->round.upload.payload != NULL && p->round.upload.check != NULL);
    assert_int_equal(secagg_party_new(&p->round.masks, AGGREGATION_FEDVS, &p->round.shape, pairs),
                     STATUS_OK);
    assert_true(secagg_share_bytes(AGGREGATION_FEDVS, &p->round.shape, SECAGG_PART_KEYS, 0, 0) <=
                KEYS_BYTES_MAX);
    assert_null(p->deal.memory);
    p->round.task = (struct party_task){.purpose = PURPOSE_DEAL_KEYS};
    assert_int_equal(party_deal_work(&p->deal, &p->round, setup, &keys, NULL), STATUS_OK);
    assert_non_null(p->deal.memory);
    p->round.task = (struct party_task){.purpose = PURPOSE_DEAL_DATA, .place = g->chunk};
    assert_int_equal(party_deal_work(&p->deal, &p->round, setup, &round, NULL), STATUS_OK);
    assert_int_equal(party_deal_work(&p->deal, &p->round, setup, &round, NULL), STATUS_PROTOCOL);
    rng_fill(&p->deal.masks, out->beginning, sizeof out->beginning);
    secagg_party_free(p->round.masks);
    mem_free(p->round.upload.payload);
    mem_free(p->round.upload.check);
}

static struct stream stream_of(const struct given *g)
{
    static const struct config_party config = {.policy.shares_mib = 1024};
    struct table train = {.rows = ROWS, .cols = COLUMNS},
                 test = {.rows = g->test_rows, .cols = COLUMNS};
    struct given own = *g;
    struct roster *roster = mem_alloc(1, sizeof *roster);
    struct stream out = {0};
    struct party_set set = {0};
    struct party_setup setup;
    struct dealt *p = mem_alloc(1, sizeof *p);

    CHECK(roster != NULL && p != NULL);
    train.x = own.train;
    test.x = own.test;
    memcpy(roster->digest, g->roster_digest, sizeof g->roster_digest);
    setup = (struct party_setup){
        .config = &config, .roster = roster, .data.train = &train, .data.test = &test};
    memcpy(p->course.digest, g->plan_digest, sizeof p->course.digest);
    set_plan(&p->course.plan, g);
    set_hellos(&set, g);
    assert_int_equal(party_deal_init(&p->deal, &p->course, &setup, NULL), STATUS_OK);
    party_deal_restore(&p->deal, &p->course, &setup, g->secret);
    assert_int_equal(begin(p, &setup, &set, NULL), STATUS_OK);
    deal(p, &setup, g, &out);
    memcpy(out.name, p->deal.name, sizeof out.name);
    out.field = p->round.shape.terms.field;
    out.chunk_rows = p->deal.chunks.chunk_rows;
    party_deal_deinit(&p->deal);
    mem_free(set.hellos);
    mem_free(roster);
    mem_free(p);
    return out;
}

static void test_the_same_chunk_of_the_same_dealing_is_hidden_by_the_same_masks(void **state)
{
    struct stream once = stream_of(&usual), again = stream_of(&usual);

    (void)state;
    assert_memory_equal(once.name, again.name, sizeof once.name);
    assert_memory_equal(once.beginning, again.beginning, sizeof once.beginning);
}

/* Other rows under the same masks would show their difference. */
static void test_what_changes_the_dealing_changes_its_name_and_its_masks(void **state)
{
    struct given g[6];
    struct stream s[6];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        g[i] = usual;
    g[1].secret[31] ^= 1;
    g[2].plan_digest[31] ^= 1;
    g[3].roster_digest[31] ^= 1;
    g[4].train[ROWS * COLUMNS - 1] = 0.0625f;
    g[5].test[0] = 0.25f;
    for (size_t i = 0; i < 6; i++) {
        s[i] = stream_of(&g[i]);
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(s[i].name, s[j].name, sizeof s[i].name);
            assert_memory_not_equal(s[i].beginning, s[j].beginning, BEGINNING);
        }
    }
}

static void test_each_split_has_masks_of_its_own(void **state)
{
    struct given g = usual;
    struct stream train = stream_of(&g), test;

    (void)state;
    g.chunk = 1;
    test = stream_of(&g);
    assert_memory_equal(train.name, test.name, sizeof train.name);
    assert_memory_not_equal(train.beginning, test.beginning, BEGINNING);
}

/* Another member that says another number of columns, in a later generation, cuts the rows in other
 * chunks, or moves everybody to the other field: the same bytes, once cut into masks of 31 bits and
 * once of 61, would let the two shares of a row be solved for it. */
static void test_another_cut_of_the_rows_and_another_field_have_masks_of_their_own(void **state)
{
    struct given g = usual;
    struct stream small = stream_of(&g), large, cut;

    (void)state;
    g.others_features = 4000;
    large = stream_of(&g);
    assert_ptr_equal(small.field, &field_31);
    assert_ptr_equal(large.field, &field_61);
    assert_int_equal(small.chunk_rows, large.chunk_rows);
    assert_memory_equal(small.name, large.name, sizeof small.name);
    assert_memory_not_equal(small.beginning, large.beginning, BEGINNING);
    g.others_features = 8000;
    cut = stream_of(&g);
    assert_ptr_equal(cut.field, &field_61);
    assert_int_not_equal(cut.chunk_rows, large.chunk_rows);
    assert_memory_not_equal(cut.beginning, large.beginning, BEGINNING);
}

/* Two chunks of one split, of one length. */
static void test_each_chunk_has_masks_of_its_own(void **state)
{
    struct given g = usual;
    struct stream first, second;

    (void)state;
    g.others_features = 10000;
    first = stream_of(&g);
    assert_int_equal(2 * first.chunk_rows, ROWS);
    g.chunk = 1;
    second = stream_of(&g);
    assert_memory_equal(first.name, second.name, sizeof first.name);
    assert_memory_not_equal(first.beginning, second.beginning, BEGINNING);
}

/* What others say of their columns fills no more of this party's disk than it allows. */
static void expect_room(uint32_t mib, enum status want)
{
    struct config_party config = {.policy.shares_mib = mib};
    struct given g = usual;
    struct roster *roster = mem_alloc(1, sizeof *roster);
    struct table train = {.rows = ROWS, .cols = COLUMNS, .x = g.train},
                 test = {.rows = ROWS, .cols = COLUMNS, .x = g.test};
    struct party_setup setup = {
        .config = &config, .roster = roster, .data.train = &train, .data.test = &test};
    struct party_set set = {0};
    struct error error = {0};
    struct dealt *p = mem_alloc(1, sizeof *p);

    CHECK(roster != NULL && p != NULL);
    strcpy(roster->party[2].name, "wide");
    set_plan(&p->course.plan, &g);
    set_hellos(&set, &g);
    set.hellos[2].features = 20000; /* 24 rows of 20102 columns of 8 bytes: 3.7 MiB */
    set.members[2] = 2;
    assert_int_equal(party_deal_init(&p->deal, &p->course, &setup, &error), STATUS_OK);
    assert_int_equal(begin(p, &setup, &set, &error), want);
    if (want != STATUS_OK) {
        assert_non_null(strstr(error.text, "policy.max_shares_mib"));
        assert_non_null(strstr(error.text, "wide"));
        assert_null(p->deal.memory);
    }
    party_deal_deinit(&p->deal);
    mem_free(set.hellos);
    mem_free(roster);
    mem_free(p);
}

static void test_shares_take_no_more_disk_than_policy_allows(void **state)
{
    (void)state;
    expect_room(2, STATUS_POLICY);
    expect_room(3, STATUS_OK);
    expect_room(0, STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_chunk_of_the_same_dealing_is_hidden_by_the_same_masks),
        cmocka_unit_test(test_what_changes_the_dealing_changes_its_name_and_its_masks),
        cmocka_unit_test(test_each_split_has_masks_of_its_own),
        cmocka_unit_test(test_another_cut_of_the_rows_and_another_field_have_masks_of_their_own),
        cmocka_unit_test(test_each_chunk_has_masks_of_its_own),
        cmocka_unit_test(test_shares_take_no_more_disk_than_policy_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
