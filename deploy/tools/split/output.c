/* output.c -- the files that a set is cut into.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/output.h"

#include "common/base/file.h"
#include "common/crypto/digest.h"
#include "common/data/csv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTIES_DEFAULT = 4, TEST_IN = 5 };

static const char *const set_names[SPLIT_SETS] = {"train", "test"};

enum status output_label_map(struct split *s)
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

bool output_label(const struct split *s, int set, const char *id, const char *text)
{
    FILE *out = s->labels_out[set];
    unsigned long label = 0;

    if (s->o.predict != NULL) {
        fprintf(out, "%s\n", id);
        return true;
    }
    if (s->map == MAP_NONE) {
        fprintf(out, "%s,", id);
        csv_put(out, text, strlen(text));
        fputc('\n', out);
        return true;
    }
    if (strlen(text) > 9 || text[0] == 0 || strspn(text, "0123456789") != strlen(text))
        return false;
    label = strtoul(text, NULL, 10);
    label = s->map == MAP_EVENODD ? label % 2 : label == s->map_class;
    fprintf(out, "%s,%lu\n", id, label);
    return true;
}

int output_set_of(const char *id)
{
    uint8_t digest[DIGEST_BYTES];

    digest_sha256(digest, id, strlen(id));
    return digest[0] % TEST_IN == 0;
}

static void path_of(const struct split *s, char out[PATH_MAX], int set, uint32_t party)
{
    const char *rest = set == 0 ? "predict" : "none";

    if (s->o.predict != NULL && party == s->columns.parties)
        snprintf(out, PATH_MAX, "%s/ids-%s.txt", s->o.out, rest);
    else if (s->o.predict != NULL)
        snprintf(out, PATH_MAX, "%s/party-%u-%s.%s", s->o.out, party + 1, rest,
                 s->idx ? "idx" : "csv");
    else if (party == s->columns.parties)
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

    for (int set = 0; set < SPLIT_SETS; set++)
        for (uint32_t p = 0; p <= s->columns.parties; p++) {
            FILE **f = stream_of(s, set, p);

            path_of(s, path, set, p);
            if (file_create(f, path, 0666, &s->err) != STATUS_OK)
                return s->err.status;
        }
    for (int set = 0; set < SPLIT_SETS && s->o.predict == NULL; set++)
        fputs("id,label\n", s->labels_out[set]);
    return STATUS_OK;
}

enum status output_close(struct split *s, enum status status)
{
    char path[PATH_MAX];

    for (int set = 0; set < SPLIT_SETS; set++)
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

enum status output_open(struct split *s, const struct output_shape *shape)
{
    struct columns_want want = {.spec = s->o.columns,
                                .parties = s->o.parties,
                                .features = shape->features,
                                .names = shape->names,
                                .height = shape->height,
                                .width = shape->width};
    enum status status;

    if (want.spec == NULL && want.parties == 0)
        want.parties = PARTIES_DEFAULT;
    s->features = shape->features;
    status = columns_assign(&s->columns, &want, &s->err);
    return status == STATUS_OK ? open_outputs(s) : status;
}
