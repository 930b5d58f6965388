/* test_safetensors.c -- what is written is read back, by us and by a python program of its own;
 * what does not fit is refused and leaves the net alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/safetensors.h"
#include "common/nn/safetensors_header.h"

#include "common/base/mem.h"
#include "tests/lib/scratch.h"
#include "tests/unit/nn/sample.h"

#include <stdio.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const struct nn_spec SPEC = {2,      {3, 4, 2},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 1,
                                    NN_SGD, .layer = {{0}}};
enum { DATA = (3 * 4 + 4 + 4 * 2 + 2) * 4 };

struct fixture {
    struct arena arena;
    struct nn_net net, other; /* same shape; other has other weights */
    struct buf file;          /* net, printed */
    struct error err;
};

static void fill(struct nn_net *n, uint64_t seed)
{
    for (size_t l = 0; l < n->spec.layers; l++) {
        sample_fill(n->layer[l].w, (size_t)n->layer[l].in * n->layer[l].out, 1.0F, &seed);
        sample_fill(n->layer[l].b, n->layer[l].out, 1.0F, &seed);
    }
}

static int open_fixture(void **state)
{
    struct fixture *f = mem_alloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(arena_init(&f->arena, 2 * nn_net_bytes(&SPEC)), STATUS_OK);
    assert_int_equal(nn_net_init(&f->net, &SPEC, &f->arena), STATUS_OK);
    assert_int_equal(nn_net_init(&f->other, &SPEC, &f->arena), STATUS_OK);
    fill(&f->net, 1);
    fill(&f->other, 2);
    buf_init(&f->file, 65536);
    assert_int_equal(safetensors_print(&f->net, &f->file), STATUS_OK);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    buf_deinit(&f->file);
    arena_deinit(&f->arena);
    mem_free(f);
    return 0;
}

static int same_weights(const struct nn_net *a, const struct nn_net *b)
{
    for (size_t l = 0; l < a->spec.layers; l++)
        if (memcmp(a->layer[l].w, b->layer[l].w,
                   (size_t)a->layer[l].in * a->layer[l].out * sizeof(float)) != 0 ||
            memcmp(a->layer[l].b, b->layer[l].b, a->layer[l].out * sizeof(float)) != 0)
            return 0;
    return 1;
}

/* Refused as bad data, with a text, and `other` untouched.  The copy ends where the file ends, so
 * that a sanitizer sees a read beyond. */
static void assert_refused(struct fixture *f, const void *bytes, size_t len)
{
    struct nn_net before = f->other;
    float kept[12];
    uint8_t *copy = mem_alloc(1, len > 0 ? len : 1);

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    memcpy(kept, f->other.layer[0].w, sizeof kept);
    memset(&f->err, 0, sizeof f->err);
    assert_int_equal(safetensors_parse(&f->other, copy, len, &f->err), STATUS_DATA);
    mem_free(copy);
    assert_int_equal(f->err.status, STATUS_DATA);
    assert_true(f->err.text[0] != '\0');
    assert_memory_equal(kept, f->other.layer[0].w, sizeof kept);
    assert_memory_equal(&before, &f->other, sizeof before);
}

/* A file with this header and the data of `net` (or `len` bytes of it). */
static size_t compose(uint8_t *out, const struct fixture *f, const char *header, size_t len)
{
    const uint64_t n = strlen(header);

    memcpy(out, &n, 8);
    memcpy(out + 8, header, (size_t)n);
    memcpy(out + 8 + n, f->file.data + f->file.len - DATA, len);
    return 8 + (size_t)n + len;
}

static void test_weights_come_back_bit_for_bit(void **state)
{
    struct fixture *f = *state;

    assert_false(same_weights(&f->net, &f->other));
    assert_int_equal(safetensors_parse(&f->other, f->file.data, f->file.len, &f->err), STATUS_OK);
    assert_true(same_weights(&f->net, &f->other));
}

static void test_the_same_weights_give_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    struct buf again;

    buf_init(&again, 65536);
    assert_int_equal(safetensors_print(&f->net, &again), STATUS_OK);
    assert_int_equal(again.len, f->file.len);
    assert_memory_equal(again.data, f->file.data, again.len);
    again.len = 0;
    assert_int_equal(safetensors_print(&f->other, &again), STATUS_OK);
    assert_memory_not_equal(again.data, f->file.data, again.len);
    buf_deinit(&again);
}

static void append_expected(char *text, size_t size, const char *name, const char *shape,
                            const float *values, size_t n)
{
    size_t at = strlen(text);

    at += (size_t)snprintf(text + at, size - at, "%s %s", name, shape);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        at += (size_t)snprintf(text + at, size - at, " %08x", bits);
    }
    snprintf(text + at, size - at, "\n");
}

static void test_python_reads_the_same_values(void **state)
{
    struct fixture *f = *state;
    const char *path = scratch_write("model.safetensors", f->file.data, f->file.len);
    char want[2048] = "", got[2048], command[1024];
    size_t n;
    FILE *out;

    append_expected(want, sizeof want, "layer.0.weight", "3x4", f->net.layer[0].w, 12);
    append_expected(want, sizeof want, "layer.0.bias", "4", f->net.layer[0].b, 4);
    append_expected(want, sizeof want, "layer.1.weight", "4x2", f->net.layer[1].w, 8);
    append_expected(want, sizeof want, "layer.1.bias", "2", f->net.layer[1].b, 2);
    snprintf(command, sizeof command, "python3 tests/golden/read_safetensors.py '%s'", path);
    out = popen(command, "r");
    assert_non_null(out);
    n = fread(got, 1, sizeof got - 1, out);
    got[n] = '\0';
    assert_int_equal(pclose(out), 0);
    assert_string_equal(got, want);
}

static void test_print_appends_and_gives_way_to_a_full_buffer(void **state)
{
    struct fixture *f = *state;
    struct buf b;

    for (size_t max = 3; max < 3 + f->file.len; max += 7) {
        buf_init(&b, max);
        assert_int_equal(buf_append(&b, "abc", 3), STATUS_OK);
        assert_int_equal(safetensors_print(&f->net, &b), STATUS_LIMIT);
        assert_int_equal(b.len, 3);
        buf_deinit(&b);
    }
    buf_init(&b, 3 + f->file.len);
    assert_int_equal(buf_append(&b, "abc", 3), STATUS_OK);
    assert_int_equal(safetensors_print(&f->net, &b), STATUS_OK);
    assert_int_equal(b.len, 3 + f->file.len);
    assert_memory_equal(b.data + 3, f->file.data, f->file.len);
    buf_deinit(&b);
}

static void test_any_truncation_is_refused(void **state)
{
    struct fixture *f = *state;

    for (size_t len = 0; len < f->file.len; len++)
        assert_refused(f, f->file.data, len);
}

static void test_bytes_after_the_last_tensor_are_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(buf_append(&f->file, "1234", 4), STATUS_OK);
    assert_refused(f, f->file.data, f->file.len);
}

/* Any bit of the length and of the header up to its padding; a flip inside the padding must not be
 * a space again, so all of it is refused. */
static void test_any_flipped_bit_of_the_header_is_refused(void **state)
{
    struct fixture *f = *state;
    const size_t header = f->file.len - DATA;

    for (size_t bit = 0; bit < 8 * header; bit++) {
        f->file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_refused(f, f->file.data, f->file.len);
        f->file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    assert_int_equal(safetensors_parse(&f->other, f->file.data, f->file.len, &f->err), STATUS_OK);
}

static void test_a_huge_header_length_is_refused(void **state)
{
    static const uint64_t LENGTHS[] = {UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63,
                                       (uint64_t)1 << 32, 65537};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
        memcpy(f->file.data, &LENGTHS[i], 8);
        assert_refused(f, f->file.data, f->file.len);
    }
}

/* The limit itself is read, eight bytes more are not, though all of them are there. */
static void test_a_header_is_64_mib_at_most(void **state)
{
    enum { LIMIT = 1 << 26 };
    struct fixture *f = *state;
    const size_t header = f->file.len - DATA - 8;
    uint8_t *file = mem_alloc(1, 8 + LIMIT + 8 + DATA);

    assert_non_null(file);
    for (uint64_t n = LIMIT; n <= LIMIT + 8; n += 8) {
        memcpy(file, &n, 8);
        memset(file + 8, ' ', (size_t)n);
        memcpy(file + 8, f->file.data + 8, header);
        memcpy(file + 8 + n, f->file.data + 8 + header, DATA);
        if (n == LIMIT)
            assert_int_equal(safetensors_parse(&f->other, file, 8 + (size_t)n + DATA, &f->err),
                             STATUS_OK);
        else
            assert_refused(f, file, 8 + (size_t)n + DATA);
    }
    mem_free(file);
}

/* torch.nn.Sequential(Linear(3, 4), ReLU(), Linear(4, 2)): out x in, and only under its names. */
static void test_pytorchs_weights_are_turned(void **state)
{
    static const char torch[] =
        "{\"0.bias\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[48,64]},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[4,3],\"data_offsets\":[0,48]},"
        "\"2.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[96,104]},"
        "\"2.weight\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[64,96]}}";
    struct fixture *f = *state;
    float data[DATA / 4];
    char turned[sizeof torch];
    uint8_t file[1024];
    size_t n;

    for (size_t i = 0; i < DATA / 4; i++)
        data[i] = (float)i;
    n = compose(file, f, torch, 0);
    memcpy(file + n, data, DATA);
    assert_int_equal(safetensors_parse(&f->other, file, n + DATA, &f->err), STATUS_OK);
    for (size_t in = 0; in < 3; in++)
        for (size_t out = 0; out < 4; out++)
            assert_true(f->other.layer[0].w[in * 4 + out] == data[out * 3 + in]);
    assert_true(f->other.layer[0].b[1] == 13 && f->other.layer[1].b[1] == 25);
    assert_true(f->other.layer[1].w[2 * 2 + 1] == data[16 + 1 * 4 + 2]);
    memcpy(turned, torch, sizeof torch);
    memcpy(strstr(turned, "[4,3]"), "[3,4]", 5);
    n = compose(file, f, turned, 0);
    memcpy(file + n, data, DATA);
    assert_refused(f, file, n + DATA);
}

static void test_metadata_is_written_and_found(void **state)
{
    static const char metadata[] = "{\"a\":\"1\\n\\\"\\u0007\",\"b\":\"\"}";
    struct fixture *f = *state;
    struct safetensors_text found, key, value;
    struct safetensors_header m;
    char text[16];
    size_t data;
    struct buf b;

    buf_init(&b, 4096);
    assert_int_equal(safetensors_print_with(&f->net, metadata, &b), STATUS_OK);
    assert_int_equal(safetensors_parse(&f->other, b.data, b.len, &f->err), STATUS_OK);
    assert_true(same_weights(&f->net, &f->other));
    assert_int_equal(safetensors_metadata(&found, &data, b.data, b.len, &f->err), STATUS_OK);
    assert_int_equal(data, DATA);
    assert_int_equal(found.len, strlen(metadata));
    assert_memory_equal(found.at, metadata, found.len);
    safetensors_metadata_init(&m, &found);
    assert_int_equal(safetensors_metadata_next(&m, &key, &value), 1);
    assert_true(safetensors_text_is(&key, "a"));
    assert_int_equal(safetensors_text_decode(text, &value), 4);
    assert_memory_equal(text, "1\n\"\a", 4);
    assert_int_equal(safetensors_metadata_next(&m, &key, &value), 1);
    assert_int_equal(safetensors_metadata_next(&m, &key, &value), 0);
    assert_int_equal(safetensors_metadata(&found, &data, f->file.data, f->file.len, &f->err),
                     STATUS_OK);
    assert_int_equal(found.len, 0);
    value = (struct safetensors_text){"\\u0100", 6};
    assert_true(safetensors_text_decode(text, &value) == SIZE_MAX);
    buf_deinit(&b);
}

static void test_a_value_that_is_not_finite_is_refused(void **state)
{
    struct fixture *f = *state;
    const float bad[] = {NAN, INFINITY, -INFINITY};

    for (size_t i = 0; i < 3; i++) {
        memcpy(f->file.data + f->file.len - 4, &bad[i], 4);
        assert_refused(f, f->file.data, f->file.len);
    }
}

/* The last of a batchnorm's tensors; 0 is no variance that is wrong. */
static void test_a_variance_below_0_is_refused(void **state)
{
    static const struct nn_spec spec = {
        .layers = 1,
        .width = {2, 2},
        .out_scale = 1.0F,
        .rows_max = 1,
        .layer = {{.kind = NN_BATCH_NORM, .shape = {2, 1, 1}, .groups = 1}}};
    const float values[] = {0.0F, -1e-30F};
    struct fixture *f = *state;
    struct error e = {0};
    struct nn_net n;
    struct arena a;

    assert_int_equal(arena_init(&a, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&n, &spec, &a), STATUS_OK);
    f->file.len = 0;
    assert_int_equal(safetensors_print(&n, &f->file), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        memcpy(f->file.data + f->file.len - sizeof values[i], &values[i], sizeof values[i]);
        assert_int_equal(safetensors_parse(&n, f->file.data, f->file.len, &e),
                         i == 0 ? STATUS_OK : STATUS_DATA);
    }
    assert_string_equal(e.text, "layer.0.running_var holds a value below 0");
    arena_deinit(&a);
}

/* Before there is a plan, whose model it may not even be. */
static void test_whether_all_values_are_numbers_is_seen_without_a_net(void **state)
{
    struct fixture *f = *state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const uint8_t long_header[9] = {200};
    uint8_t *at = f->file.data + f->file.len - 8;
    struct error e = {0};

    assert_int_equal(safetensors_numbers(f->file.data, f->file.len, &e), STATUS_OK);
    assert_int_equal(safetensors_numbers(f->file.data, 7, &e), STATUS_OK); /* not for this one */
    assert_int_equal(safetensors_numbers(long_header, 9, &e), STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        memcpy(at, &bad[i], 4);
        assert_int_equal(safetensors_numbers(f->file.data, f->file.len, &e), STATUS_DATA);
        assert_non_null(strstr(e.text, "not finite"));
    }
}

static void test_another_shape_is_refused(void **state)
{
    struct fixture *f = *state;
    struct nn_spec s = SPEC;
    struct arena a;

    assert_int_equal(arena_init(&a, 4096), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        s = SPEC;
        if (i < 3)
            s.width[i]++;
        else
            s.layers = 1;
        a.used = 0;
        assert_int_equal(nn_net_init(&f->other, &s, &a), STATUS_OK);
        memset(&f->err, 0, sizeof f->err);
        assert_int_equal(safetensors_parse(&f->other, f->file.data, f->file.len, &f->err),
                         STATUS_DATA);
    }
    arena_deinit(&a);
}

/* As other writers print it: sorted by name, with spaces and metadata. */
static void test_any_order_spacing_and_metadata_is_read(void **state)
{
    struct fixture *f = *state;
    uint8_t file[2048];
    const size_t n =
        compose(file, f,
                "{ \"__metadata__\" : {\"format\":\"pt\", \"by \\\" hand\" : \"{\"},\n"
                "\"layer.1.bias\":{\"shape\":[ 2 ],\"data_offsets\":[96,104],\"dtype\":\"F32\"},"
                "\"layer.0.bias\":{\"data_offsets\":[48,64],\"dtype\":\"F32\",\"shape\":[4]},"
                "\"layer.1.weight\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[64,96]},"
                "\"layer.0.weight\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[0,48]}}",
                DATA);

    assert_int_equal(safetensors_parse(&f->other, file, n, &f->err), STATUS_OK);
    assert_true(same_weights(&f->net, &f->other));
}

#define W0 "\"layer.0.weight\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[0,48]}"
#define B0 "\"layer.0.bias\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[48,64]}"
#define W1 "\"layer.1.weight\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[64,96]}"
#define B1 "\"layer.1.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[96,104]}"
#define B1_IS(dtype, shape, offsets)                                                               \
    "\"layer.1.bias\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets   \
    "]}"
#define ALL_BUT_B1 "{" W0 "," B0 "," W1

static const char *const BAD_HEADERS[] = {
    "",
    "{}",
    "[]",
    "{" W0 "," B0 "," W1 "}", /* one is missing */
    ALL_BUT_B1 "," B1,        /* no end */
    ALL_BUT_B1 "," B1 ",}",   /* a comma too many */
    ALL_BUT_B1 B1 "}",        /* a comma too few */
    ALL_BUT_B1 "," B1 "} x",  /* something behind */
    ALL_BUT_B1 "," B1 "}}",
    ALL_BUT_B1 "," B1 "," B1 "}", /* twice */
    ALL_BUT_B1 "," B1 ",\"more\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[104,104]}}",
    ALL_BUT_B1 "," B1_IS("F16", "2", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "3", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2,1", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2,1,1,1,1", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "02", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "-2", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2.0", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "18446744073709551618", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "92233720368547758082", "96,104") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2", "100,108") "}", /* beyond the end */
    ALL_BUT_B1 "," B1_IS("F32", "2", "92,100") "}",  /* overlaps */
    ALL_BUT_B1 "," B1_IS("F32", "2", "104,96") "}",  /* backwards */
    ALL_BUT_B1 "," B1_IS("F32", "2", "18446744073709551608,18446744073709551615") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2", "96") "}",
    ALL_BUT_B1 "," B1_IS("F32", "2", "96,104,104") "}",
    ALL_BUT_B1 ",\"layer.1.bias\":{\"dtype\":\"F32\",\"shape\":[2]}}",
    ALL_BUT_B1 ",\"layer.1.bias\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"data_offsets\":[96,104]}}",
    ALL_BUT_B1 ",\"layer.1.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[96,104]}}",
    ALL_BUT_B1 "," B1 ",\"__metadata__\":{\"a\":1}}",
    ALL_BUT_B1 "," B1 ",\"__metadata__\":{\"a\":{}}}",
    ALL_BUT_B1 "," B1 ",\"__metadata__\":{\"a",
    ALL_BUT_B1 "," B1 ",\"__metadata__\":{\"a\\",
    ALL_BUT_B1
    ",\"layer.1\\u002ebias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[96,104]}}",
};

static void test_a_header_that_is_not_ours_is_refused(void **state)
{
    struct fixture *f = *state;
    uint8_t file[2048];
    size_t n = compose(file, f, ALL_BUT_B1 "," B1 "}", DATA);

    assert_int_equal(safetensors_parse(&f->other, file, n, &f->err), STATUS_OK);
    fill(&f->other, 2);
    for (size_t i = 0; i < sizeof BAD_HEADERS / sizeof BAD_HEADERS[0]; i++) {
        n = compose(file, f, BAD_HEADERS[i], DATA);
        assert_refused(f, file, n);
    }
    n = compose(file, f, ALL_BUT_B1 "}", DATA - 8); /* the last tensor is missing altogether */
    assert_refused(f, file, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_weights_come_back_bit_for_bit, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_the_same_weights_give_the_same_bytes, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_python_reads_the_same_values, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_print_appends_and_gives_way_to_a_full_buffer,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_any_truncation_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_bytes_after_the_last_tensor_are_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_any_flipped_bit_of_the_header_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_huge_header_length_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_header_is_64_mib_at_most, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_pytorchs_weights_are_turned, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_metadata_is_written_and_found, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_value_that_is_not_finite_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_variance_below_0_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_whether_all_values_are_numbers_is_seen_without_a_net,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_another_shape_is_refused, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_any_order_spacing_and_metadata_is_read, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_header_that_is_not_ours_is_refused, open_fixture,
                                        close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
