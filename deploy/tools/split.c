/* split.c -- vfl-split: one data set into a label file and the column files of M parties.
 *
 *   vfl-split --out DIR (--train F [--test F] | --idx-train IMAGES,LABELS [--idx-test
 * IMAGES,LABELS] | --npy-train X.npy,LABELS.csv [--npy-test X.npy,LABELS.csv]
 * | --cifar-train BATCH[,BATCH...] [--cifar-test BATCH[,BATCH...]])
 *             [--parties M] [--columns SPEC] [--label COLUMN] [--id COLUMN] [--delimiter C]
 *             [--label-map NAME] [--test-share S] [--test-by id|group|time]
 *             [--schema FILE]
 *
 * Writes labels-train.csv, labels-test.csv and party-I-train.csv|idx|npy, party-I-test.csv|idx|npy
 * (I from 1). What is in a cell is copied as it stands, rows are streamed.  Without a test set,
 * sets.h says which rows are in it.  This is for trying things out: in the field nobody has all
 * columns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/config/number.h"
#include "common/data/csv.h"
#include "deploy/tools/split/images.h"
#include "deploy/tools/split/output.h"
#include "deploy/tools/split/schemas.h"
#include "deploy/tools/split/sets.h"
#include "deploy/tools/split/tables.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: vfl-split --out DIR (--train F [--test F] | --idx-train IMAGES,LABELS [--idx-test "
    "IMAGES,LABELS]\n"
    "                 | --npy-train X.npy,LABELS.csv [--npy-test X.npy,LABELS.csv]\n"
    "                 | --cifar-train BATCH[,BATCH...] [--cifar-test BATCH[,BATCH...]]\n"
    "                 | --predict F [--with-labels] | --idx-predict IMAGES | --npy-predict X.npy\n"
    "                 | --cifar-predict BATCH[,BATCH...])\n"
    "                 [--parties M] [--columns 1-3+8,4-7 | --columns age+job,hours | --columns "
    "grid:RxC\n"
    "                 | --columns channels:0-2,3-5]\n"
    "                 [--label COLUMN[+COLUMN...]] [--id COLUMN] [--group COLUMN] [--time COLUMN]\n"
    "                 [--delimiter C] [--label-map evenodd|binary:K]\n"
    "                 [--test-share S] [--test-by id|group|time] [--schema FILE]\n";

/* Of rows that are to be tested, and by what. */
static enum status read_test(struct split *s, int option, const char *text)
{
    static const char *const by[] = {"id", "group", NULL, "time"};

    if (option == 'S' && number_real(&s->o.test_share, text) && s->o.test_share > 0 &&
        s->o.test_share < 1)
        return STATUS_OK;
    if (option == 'S')
        return error_set(&s->err, STATUS_CONFIG, "--test-share %s: expected above 0 and below 1",
                         text);
    for (unsigned i = 0; i < sizeof by / sizeof *by; i++)
        if (by[i] != NULL && strcmp(text, by[i]) == 0) {
            s->o.test_by = (enum plan_validate_by)i;
            return STATUS_OK;
        }
    return error_set(&s->err, STATUS_CONFIG, "--test-by %s: known are id, group, time", text);
}

/* Options that need or exclude each other. */
static enum status check_together(struct split *s, bool all_read)
{
    const struct split_options *o = &s->o;

    if (!all_read || o->out == NULL ||
        (o->train != NULL) + (o->pair_train != NULL) + (o->predict != NULL) != 1 ||
        (o->test != NULL && o->train == NULL) ||
        (o->with_labels && (o->predict == NULL || o->pair_predict)) || (o->pair && o->cifar) ||
        (o->pair_test != NULL && o->pair_train == NULL))
        return error_set(&s->err, STATUS_CONFIG, "wrong arguments\n%s", usage);
    if ((o->group != NULL || o->time != NULL || o->schema != NULL) &&
        (o->pair_train != NULL || o->pair_predict))
        return error_set(&s->err, STATUS_CONFIG,
                         "--group, --time, --schema: images have no named columns");
    if (o->schema != NULL && o->predict != NULL)
        return error_set(&s->err, STATUS_CONFIG, "--schema: a model has its own");
    if (sets_check(s) != STATUS_OK)
        return s->err.status;
    return output_label_map(s);
}

/* Of arrays i, j and s, of batches x, y and z: what is trained on, tested and predicted. */
static void take_pair(struct split_options *o, int option, const char *text)
{
    const bool cifar = option >= 'x';

    o->cifar = o->cifar || cifar;
    o->pair = o->pair || !cifar;
    if (option == 'i' || option == 'x')
        o->pair_train = text;
    if (option == 'j' || option == 'y')
        o->pair_test = text;
    if (option != 's' && option != 'z')
        return;
    o->predict = text;
    o->pair_predict = true;
}

static const struct option known[] = {
    {"out", required_argument, NULL, 'o'},         {"train", required_argument, NULL, 't'},
    {"test", required_argument, NULL, 'e'},        {"idx-train", required_argument, NULL, 'i'},
    {"predict", required_argument, NULL, 'r'},     {"with-labels", no_argument, NULL, 'w'},
    {"idx-predict", required_argument, NULL, 's'}, {"idx-test", required_argument, NULL, 'j'},
    {"npy-train", required_argument, NULL, 'i'},   {"npy-test", required_argument, NULL, 'j'},
    {"npy-predict", required_argument, NULL, 's'}, {"cifar-train", required_argument, NULL, 'x'},
    {"cifar-test", required_argument, NULL, 'y'},  {"cifar-predict", required_argument, NULL, 'z'},
    {"group", required_argument, NULL, 'g'},       {"time", required_argument, NULL, 'm'},
    {"label", required_argument, NULL, 'L'},       {"id", required_argument, NULL, 'I'},
    {"delimiter", required_argument, NULL, 'd'},   {"parties", required_argument, NULL, 'p'},
    {"columns", required_argument, NULL, 'c'},     {"label-map", required_argument, NULL, 'l'},
    {"test-share", required_argument, NULL, 'S'},  {"schema", required_argument, NULL, 'C'},
    {"test-by", required_argument, NULL, 'B'},     {0},
};

static enum status read_options(struct split *s, int argc, char **argv)
{
    struct split_options *o = &s->o;
    const char *at;

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'o': o->out = optarg; break;
        case 't': o->train = optarg; break;
        case 'e': o->test = optarg; break;
        case 'i':
        case 'j':
        case 's':
        case 'x':
        case 'y':
        case 'z': take_pair(o, c, optarg); break;
        case 'r': o->predict = optarg; break;
        case 'w': o->with_labels = true; break;
        case 'c': o->columns = optarg; break;
        case 'l': o->label_map = optarg; break;
        case 'L': o->label = optarg; break;
        case 'I': o->id = optarg; break;
        case 'g': o->group = optarg; break;
        case 'm': o->time = optarg; break;
        case 'C': o->schema = optarg; break;
        case 'S':
        case 'B':
            if (read_test(s, c, optarg) != STATUS_OK)
                return s->err.status;
            break;
        case 'd':
            o->delimiter = strcmp(optarg, "tab") == 0 ? '\t' : optarg[0];
            if (strcmp(optarg, "tab") != 0 && (strlen(optarg) != 1 || !csv_delimiter(optarg[0])))
                return error_set(&s->err, STATUS_CONFIG,
                                 "--delimiter %s: expected a sign of punctuation or tab", optarg);
            break;
        case 'p':
            at = optarg;
            if (!columns_number(&at, PLAN_PARTIES_MAX, &o->parties) || *at != 0)
                return error_set(&s->err, STATUS_CONFIG, "--parties %s: expected 1 to %d", optarg,
                                 PLAN_PARTIES_MAX);
            break;
        default: return error_set(&s->err, STATUS_CONFIG, "unknown option\n%s", usage);
        }
    }
    return check_together(s, optind == argc);
}

/* What a trial's parties need to know of themselves. */
static void print_shapes(const struct split *s)
{
    for (uint32_t p = 0; p < s->columns.parties; p++) {
        struct plan_widths shape;

        if (!columns_shape(&s->columns, p, &shape))
            continue;
        printf("shape %u %u", p + 1, shape.width[0]);
        for (size_t i = 1; i < shape.n; i++)
            printf(",%u", shape.width[i]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static struct split s = {.labels = 1};
    enum status status = read_options(&s, argc, argv);

    if (status == STATUS_OK)
        status = file_make_dir(s.o.out, 0700, &s.err);
    if (status == STATUS_OK)
        status = s.o.pair_train == NULL && !s.o.pair_predict ? tables_split(&s) : images_split(&s);
    if (status == STATUS_OK && s.rows[0] == 0)
        status =
            error_set(&s.err, STATUS_DATA, s.o.predict != NULL ? "no rows" : "no training rows");
    if (status == STATUS_OK && s.rows[1] == 0 && s.o.test_share > 0)
        status = error_set(&s.err, STATUS_DATA, "--test-share %g: no test rows", s.o.test_share);
    status = output_close(&s, status);
    if (status == STATUS_OK && s.o.predict == NULL)
        status = schemas_write(&s);
    schemas_deinit(&s);
    if (status == STATUS_OK) {
        printf("parties %u\nfeatures %u\nlabels %u\ntrain_rows %llu\ntest_rows %llu\n",
               s.columns.parties, s.features, s.labels, (unsigned long long)s.rows[0],
               (unsigned long long)s.rows[1]);
        print_shapes(&s);
    } else {
        fprintf(stderr, "vfl split: %s\n", s.err.text);
    }
    columns_deinit(&s.columns);
    return status_exit_code(status);
}
