/* split.c -- vfl-split: one data set into a label file and the column files of M parties.
 *
 *   vfl-split --out DIR (--train F [--test F] | --idx-train IMAGES,LABELS [--idx-test
 * IMAGES,LABELS])
 *             [--parties M] [--columns SPEC] [--label-map NAME]
 *
 * Writes labels-train.csv, labels-test.csv and party-I-train.csv|idx, party-I-test.csv|idx (I from
 * 1). Cells are copied as they stand, rows are streamed.  Without a test set, a row belongs to it
 * when the first byte of SHA-256 of its decimal id, mod 5, is 0.  This is for trying things out: in
 * the field nobody has all columns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/columns.h"
#include "common/data/csv.h"
#include "common/data/lines.h"
#include "common/data/source.h"
#include "common/data/table.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETS = 2, PARTIES_DEFAULT = 4, TEST_IN = 5 };

enum label_map { MAP_NONE, MAP_EVENODD, MAP_BINARY };

struct options {
    const char *out, *train, *test, *idx_train, *idx_test, *columns, *label_map;
    uint32_t parties; /* 0: not said */
};

struct split {
    struct options o;
    enum label_map map;
    unsigned long map_class;
    struct columns columns;
    uint32_t features;
    FILE *features_out[SETS][PLAN_PARTIES_MAX];
    FILE *labels_out[SETS];
    uint64_t rows[SETS];
    bool idx;
    struct error err;
};

static const char *const set_names[SETS] = {"train", "test"};

/* --- labels and rows --- */

static enum status read_label_map(struct split *s)
{
    const char *name = s->o.label_map;
    char *end;

    if (name == NULL || strcmp(name, "none") == 0)
        return STATUS_OK;
    if (strcmp(name, "evenodd") == 0) {
        s->map = MAP_EVENODD;
        return STATUS_OK;
    }
    if (strncmp(name, "binary:", 7) == 0 && name[7] >= '0' && name[7] <= '9') {
        s->map = MAP_BINARY;
        s->map_class = strtoul(name + 7, &end, 10);
        if (*end == 0)
            return STATUS_OK;
    }
    return error_set(&s->err, STATUS_CONFIG,
                     "--label-map %s: known are none, evenodd (label mod 2) "
                     "and binary:K (1 where the label is K)",
                     name);
}

/* The label under the map; false when the map needs a class and the text is none. */
static bool put_label(const struct split *s, FILE *out, const char *id, const char *text)
{
    unsigned long label = 0;

    if (s->map == MAP_NONE) {
        fprintf(out, "%s,%s\n", id, text);
        return true;
    }
    if (strlen(text) > 9 || text[0] == 0 || strspn(text, "0123456789") != strlen(text))
        return false;
    label = strtoul(text, NULL, 10);
    label = s->map == MAP_EVENODD ? label % 2 : label == s->map_class;
    fprintf(out, "%s,%lu\n", id, label);
    return true;
}

static int set_of(const char *id)
{
    uint8_t digest[DIGEST_BYTES];

    digest_sha256(digest, id, strlen(id));
    return digest[0] % TEST_IN == 0;
}

static void path_of(const struct split *s, char out[PATH_MAX], int set, uint32_t party)
{
    if (party == s->columns.parties)
        snprintf(out, PATH_MAX, "%s/labels-%s.csv", s->o.out, set_names[set]);
    else
        snprintf(out, PATH_MAX, "%s/party-%u-%s.%s", s->o.out, party + 1, set_names[set],
                 s->idx ? "idx" : "csv");
}

static FILE **stream_of(struct split *s, int set, uint32_t party)
{
    return party == s->columns.parties ? &s->labels_out[set] : &s->features_out[set][party];
}

static enum status open_outputs(struct split *s)
{
    char path[PATH_MAX];

    for (int set = 0; set < SETS; set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            FILE **f = stream_of(s, set, p);

            path_of(s, path, set, p);
            if (file_create(f, path, 0666, &s->err) != STATUS_OK)
                return s->err.status;
        }
    for (int set = 0; set < SETS; set++)
        fputs("id,label\n", s->labels_out[set]);
    return STATUS_OK;
}

/* Closes all, and removes the files of a set without rows: a reader would refuse them. */
static enum status close_outputs(struct split *s, enum status status)
{
    char path[PATH_MAX];

    for (int set = 0; set < SETS; set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            FILE **f = stream_of(s, set, p);

            if (*f == NULL)
                continue;
            path_of(s, path, set, p);
            if ((ferror(*f) | (fclose(*f) != 0)) != 0 && status == STATUS_OK)
                status = error_set(&s->err, STATUS_IO, "%s: %s", path, strerror(errno));
            if (s->rows[set] == 0 || status != STATUS_OK)
                unlink(path);
        }
    return status;
}

/* Once the first file has shown how many columns there are. */
static enum status begin(struct split *s, uint32_t features, uint32_t height, uint32_t width)
{
    struct columns_want want = {.spec = s->o.columns,
                                .parties = s->o.parties,
                                .features = features,
                                .height = height,
                                .width = width};
    enum status status;

    if (want.spec == NULL && want.parties == 0)
        want.parties = PARTIES_DEFAULT;
    s->features = features;
    status = columns_assign(&s->columns, &want, &s->err);
    return status == STATUS_OK ? open_outputs(s) : status;
}

/* --- CSV --- */

/* Cuts a line at its commas; cell[0..max].  The number of cells, or max + 1 when there are more. */
static size_t cut(char *line, char **cell, size_t max)
{
    size_t n = 0;

    for (char *at = line; at != NULL && n <= max; n++) {
        if (n < max)
            cell[n] = at;
        at = strchr(at, ',');
        if (at != NULL)
            *at++ = 0;
    }
    return n;
}

static void put_features(struct split *s, int set, char **cell)
{
    for (uint32_t p = 0; p < s->columns.parties; p++) {
        FILE *f = s->features_out[set][p];

        fputs(cell[0], f);
        for (uint32_t i = s->columns.first[p]; i < s->columns.first[p + 1]; i++) {
            fputc(',', f);
            fputs(cell[1 + s->columns.column[i]], f);
        }
        fputc('\n', f);
    }
}

static enum status csv_rows(struct split *s, struct lines *in, const char *path, int set,
                            char **cell)
{
    size_t cells = (size_t)s->features + 2, len, n;
    char *line;
    enum status status;

    for (;;) {
        int to = set;

        status = lines_next(in, &line, &len, &s->err);
        if (status != STATUS_OK || line == NULL)
            return status;
        n = cut(line, cell, cells);
        if (n != cells)
            return error_set(&s->err, STATUS_DATA, "%s:%llu: %s cells than the %zu of the header",
                             path, (unsigned long long)in->number, n < cells ? "fewer" : "more",
                             cells);
        if (set < 0)
            to = set_of(cell[0]);
        put_features(s, to, cell);
        if (!put_label(s, s->labels_out[to], cell[0], cell[cells - 1]))
            return error_set(&s->err, STATUS_DATA,
                             "%s:%llu: label: no class that --label-map can map", path,
                             (unsigned long long)in->number);
        s->rows[to]++;
    }
}

/* The header line: first id, last label; *cells of them. */
static enum status csv_header(struct split *s, const char *path, char *line, size_t *cells)
{
    const char *last = line == NULL ? NULL : strrchr(line, ',');

    *cells = 1;
    if (line == NULL || strncmp(line, "id,", 3) != 0 || strcmp(last, ",label") != 0 ||
        last == line + 2)
        return error_set(&s->err, STATUS_DATA,
                         "%s:1: the header must be id, then columns, then label", path);
    for (const char *c = line; *c != 0; c++)
        *cells += *c == ',';
    if (*cells - 2 > TABLE_COLUMNS_MAX)
        return error_set(&s->err, STATUS_DATA, "%s:1: more than %d columns", path,
                         TABLE_COLUMNS_MAX);
    return STATUS_OK;
}

/* One input file.  set -1: rows go where their id says.  `first` keeps the header of the first
 * file. */
static enum status csv_file(struct split *s, const char *path, int set, char **first)
{
    struct lines in = {0};
    char *line, **cell = NULL;
    size_t len, cells;
    enum status status = lines_open(&in, path, CSV_LIMITS.line_max, &s->err);

    if (status == STATUS_OK)
        status = lines_next(&in, &line, &len, &s->err);
    if (status == STATUS_OK)
        status = csv_header(s, path, line, &cells);
    if (status != STATUS_OK)
        goto out;
    if (*first == NULL) {
        *first = mem_strdup(line);
        status = *first == NULL ? error_set(&s->err, STATUS_MEMORY, "out of memory")
                                : begin(s, (uint32_t)cells - 2, 0, 0);
    } else if (strcmp(line, *first) != 0) {
        status =
            error_set(&s->err, STATUS_DATA, "%s:1: another header than the training file's", path);
    }
    if (status != STATUS_OK)
        goto out;
    cell = mem_alloc(cells, sizeof *cell);
    if (cell == NULL) {
        status = error_set(&s->err, STATUS_MEMORY, "out of memory");
        goto out;
    }
    cut(line, cell, cells);
    for (int to = 0; to < SETS; to++)
        if (set < 0 || to == set)
            put_features(s, to, cell);
    status = csv_rows(s, &in, path, set, cell);
out:
    mem_free(cell);
    lines_close(&in);
    return status;
}

static enum status split_csv(struct split *s)
{
    char *header = NULL;
    enum status status = csv_file(s, s->o.train, s->o.test == NULL ? -1 : 0, &header);

    if (status == STATUS_OK && s->o.test != NULL)
        status = csv_file(s, s->o.test, 1, &header);
    mem_free(header);
    return status;
}

/* --- IDX --- */

static enum status idx_fill(struct split *s, struct source *in, uint8_t *out, size_t n)
{
    size_t got;
    enum status status = source_read(in, out, n, &got, &s->err);

    if (status == STATUS_OK && got != n)
        status = error_set(&s->err, STATUS_DATA, "%s: ends too early", in->path);
    return status;
}

/* Type unsigned byte; 1 dimension (labels) or 2 to 4 (images); dim[1..3] = 1 where there is none.
 */
static enum status idx_header(struct split *s, struct source *in, bool labels, uint32_t dim[4])
{
    uint8_t head[4 + 4 * 4];
    enum status status = idx_fill(s, in, head, 4);
    uint64_t product = 1;

    if (status != STATUS_OK)
        return status;
    if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] < (labels ? 1 : 2) ||
        head[3] > (labels ? 1 : 4))
        return error_set(&s->err, STATUS_DATA, "%s: no IDX file of unsigned bytes with %s",
                         in->path, labels ? "one dimension" : "two to four dimensions");
    status = idx_fill(s, in, head + 4, (size_t)head[3] * 4);
    for (int i = 0; i < 4; i++) {
        const uint8_t *b = head + 4 + 4 * i;

        dim[i] = i >= head[3]
                     ? 1
                     : (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        product *= i == 0 || product > TABLE_COLUMNS_MAX ? 1 : dim[i];
    }
    if (status == STATUS_OK &&
        (dim[0] == 0 || dim[0] > TABLE_ROWS_MAX || product == 0 || product > TABLE_COLUMNS_MAX))
        status = error_set(&s->err, STATUS_DATA, "%s: a dimension is 0 or too large", in->path);
    return status;
}

static void put_dim(FILE *f, uint32_t n)
{
    const uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                              (uint8_t)n};

    fwrite(bytes, 1, sizeof bytes, f);
}

/* Each party's file: two dimensions, rows x its pixels. */
static void idx_put_headers(struct split *s, int set, uint32_t rows)
{
    for (uint32_t p = 0; p < s->columns.parties; p++) {
        put_dim(s->features_out[set][p], 0x0802);
        put_dim(s->features_out[set][p], rows);
        put_dim(s->features_out[set][p], s->columns.first[p + 1] - s->columns.first[p]);
    }
}

/* Rows are numbered anew in each set, because a reader counts them so. */
static enum status idx_rows(struct split *s, struct source *images, struct source *labels,
                            uint32_t rows, int set)
{
    uint8_t *image = mem_alloc(s->features, 1), label;
    enum status status = STATUS_OK;

    if (image == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (uint32_t row = 0; status == STATUS_OK && row < rows; row++) {
        char id[16], text[8];
        int to = set;

        status = idx_fill(s, images, image, s->features);
        if (status == STATUS_OK)
            status = idx_fill(s, labels, &label, 1);
        if (status != STATUS_OK)
            break;
        snprintf(id, sizeof id, "%u", row);
        if (set < 0)
            to = set_of(id);
        snprintf(id, sizeof id, "%u", (unsigned)s->rows[to]++);
        snprintf(text, sizeof text, "%u", label);
        put_label(s, s->labels_out[to], id, text);
        for (uint32_t p = 0; p < s->columns.parties; p++)
            for (uint32_t i = s->columns.first[p]; i < s->columns.first[p + 1]; i++)
                fputc(image[s->columns.column[i]], s->features_out[to][p]);
    }
    mem_free(image);
    return status;
}

static enum status idx_prepare(struct split *s, const struct source *images, const uint32_t dim[4])
{
    uint32_t features = dim[1] * dim[2] * dim[3];
    bool image = dim[2] > 1 && dim[3] == 1;

    if (s->features == 0)
        return begin(s, features, image ? dim[1] : 0, image ? dim[2] : 0);
    if (features == s->features)
        return STATUS_OK;
    return error_set(&s->err, STATUS_DATA, "%s: %u pixels, the training images have %u",
                     images->path, features, s->features);
}

static enum status idx_pair(struct split *s, const char *pair, int set)
{
    char images_path[PATH_MAX];
    const char *comma = strchr(pair, ',');
    struct source images = {0}, labels = {0};
    uint32_t dim[4], label_dim[4], tests = 0;
    enum status status;

    if (comma == NULL || comma[1] == 0 || comma == pair || comma - pair >= PATH_MAX)
        return error_set(&s->err, STATUS_CONFIG, "%s: expected IMAGES,LABELS", pair);
    snprintf(images_path, sizeof images_path, "%.*s", (int)(comma - pair), pair);
    status = source_open(&images, images_path, &s->err);
    if (status == STATUS_OK)
        status = source_open(&labels, comma + 1, &s->err);
    if (status == STATUS_OK)
        status = idx_header(s, &images, false, dim);
    if (status == STATUS_OK)
        status = idx_header(s, &labels, true, label_dim);
    if (status == STATUS_OK && dim[0] != label_dim[0])
        status = error_set(&s->err, STATUS_DATA, "%s: %u images but %u labels", images_path, dim[0],
                           label_dim[0]);
    if (status == STATUS_OK)
        status = idx_prepare(s, &images, dim);
    if (status != STATUS_OK)
        goto out;
    for (uint32_t row = 0; set < 0 && row < dim[0]; row++) {
        char id[16];

        snprintf(id, sizeof id, "%u", row);
        tests += (uint32_t)set_of(id);
    }
    if (set != 1)
        idx_put_headers(s, 0, dim[0] - tests);
    if (set != 0)
        idx_put_headers(s, 1, set < 0 ? tests : dim[0]);
    status = idx_rows(s, &images, &labels, dim[0], set);
out:
    source_close(&images);
    source_close(&labels);
    return status;
}

static enum status split_idx(struct split *s)
{
    enum status status;

    s->idx = true;
    status = idx_pair(s, s->o.idx_train, s->o.idx_test == NULL ? -1 : 0);
    if (status == STATUS_OK && s->o.idx_test != NULL)
        status = idx_pair(s, s->o.idx_test, 1);
    return status;
}

/* --- the program --- */

static const char usage[] =
    "usage: vfl-split --out DIR (--train F [--test F] | --idx-train IMAGES,LABELS [--idx-test "
    "IMAGES,LABELS])\n"
    "                 [--parties M] [--columns 1-3+8,4-7 | --columns grid:RxC] [--label-map "
    "evenodd|binary:K]\n";

static enum status read_options(struct split *s, int argc, char **argv)
{
    static const struct option known[] = {{"out", required_argument, NULL, 'o'},
                                          {"train", required_argument, NULL, 't'},
                                          {"test", required_argument, NULL, 'e'},
                                          {"idx-train", required_argument, NULL, 'i'},
                                          {"idx-test", required_argument, NULL, 'j'},
                                          {"parties", required_argument, NULL, 'p'},
                                          {"columns", required_argument, NULL, 'c'},
                                          {"label-map", required_argument, NULL, 'l'},
                                          {0}};
    struct options *o = &s->o;
    const char *at;

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'o': o->out = optarg; break;
        case 't': o->train = optarg; break;
        case 'e': o->test = optarg; break;
        case 'i': o->idx_train = optarg; break;
        case 'j': o->idx_test = optarg; break;
        case 'c': o->columns = optarg; break;
        case 'l': o->label_map = optarg; break;
        case 'p':
            at = optarg;
            if (!columns_number(&at, PLAN_PARTIES_MAX, &o->parties) || *at != 0)
                return error_set(&s->err, STATUS_CONFIG, "--parties %s: expected 1 to %d", optarg,
                                 PLAN_PARTIES_MAX);
            break;
        default: return error_set(&s->err, STATUS_CONFIG, "unknown option\n%s", usage);
        }
    }
    if (optind != argc || o->out == NULL || (o->train == NULL) == (o->idx_train == NULL) ||
        (o->test != NULL && o->train == NULL) || (o->idx_test != NULL && o->idx_train == NULL))
        return error_set(&s->err, STATUS_CONFIG, "wrong arguments\n%s", usage);
    return read_label_map(s);
}

int main(int argc, char **argv)
{
    static struct split s;
    enum status status = read_options(&s, argc, argv);

    if (status == STATUS_OK)
        status = file_make_dir(s.o.out, 0700, &s.err);
    if (status == STATUS_OK)
        status = s.o.train != NULL ? split_csv(&s) : split_idx(&s);
    if (status == STATUS_OK && s.rows[0] == 0)
        status = error_set(&s.err, STATUS_DATA, "no training rows");
    status = close_outputs(&s, status);
    if (status == STATUS_OK)
        printf("parties %u\nfeatures %u\ntrain_rows %llu\ntest_rows %llu\n", s.columns.parties,
               s.features, (unsigned long long)s.rows[0], (unsigned long long)s.rows[1]);
    else
        fprintf(stderr, "vfl split: %s\n", s.err.text);
    columns_deinit(&s.columns);
    return status_exit_code(status);
}
