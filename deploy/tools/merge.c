/* merge.c -- vfl-merge: the summaries of one server and its parties become one, and a table for
 * people.
 *
 *   vfl-merge [--failed WHO WORDS] [--quiet] DIR PARTIES
 *   vfl-merge --show DIR
 *
 * The server's summary is the base.  Parties add what only they know: their use of the machine, the
 * digest of their model, the time they computed and protected (the slowest party's), and what their
 * ledgers claim (the worst of all).  A missing file is a daemon that came to no end; what it would
 * have said is absent.  This prints and copies figures; it computes none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/config/plan.h"
#include "common/metrics/json_file.h"
#include "common/metrics/score.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY_BYTES_MAX = 8 << 20, DIGITS = 15 };

struct merge {
    const char *dir, *failed, *words;
    unsigned long parties;
    bool quiet, show;
    json_t *root;
    json_t *digests; /* of the parties' models; "" where one is not known */
    bool any_digest;
    struct error err;
};

/* NULL when there is no such file, or it is no JSON object. */
static json_t *read_summary(const char *dir, const char *who)
{
    char path[PATH_MAX];
    json_t *o;

    snprintf(path, sizeof path, "%s/%s/summary.json", dir, who);
    o = json_file_load(path, 0, NULL);
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text == NULL ? "?" : text;
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The object or array under `key`, made when it is missing. */
static json_t *within(json_t *o, const char *key, bool array)
{
    json_t *v = json_object_get(o, key);

    if (v == NULL) {
        v = array ? json_array() : json_object();
        json_object_set_new(o, key, v);
    }
    return v;
}

static void copy(json_t *to, const json_t *from, const char *key)
{
    json_t *v = json_object_get(from, key);

    if (v != NULL)
        json_object_set(to, key, v);
}

/* to[key] = the larger (or smaller) of the two numbers. */
static void keep(json_t *to, const json_t *from, const char *key, bool larger)
{
    json_t *v = json_object_get(from, key), *have = json_object_get(to, key);

    if (v != NULL && (have == NULL || larger == (json_number_value(v) > json_number_value(have))))
        json_object_set(to, key, v);
}

/* --- one party --- */

static json_t *entry_of(json_t *root, const char *name)
{
    json_t *list = within(root, "parties", true), *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        const char *have = json_string_value(json_object_get(o, "name"));

        if (have != NULL && strcmp(have, name) == 0)
            return o;
    }
    o = json_object();
    json_object_set_new(o, "name", json_string(name));
    json_array_append_new(list, o);
    return o;
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key));
    const char *y = json_string_value(json_object_get(b, key));

    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/* A claim without epsilon is one without bound. */
static double epsilon(const json_t *claim)
{
    const json_t *v = json_object_get(claim, "epsilon");

    return v == NULL ? INFINITY : json_number_value(v);
}

static void merge_claims(json_t *to, const json_t *from)
{
    size_t i, k;
    json_t *claim, *have;

    json_array_foreach(from, i, claim)
    {
        bool found = false;

        json_array_foreach(to, k, have)
        {
            if (!same_text(claim, have, "adversary") || !same_text(claim, have, "adjacency"))
                continue;
            found = true;
            if (epsilon(claim) > epsilon(have))
                json_array_set(to, k, claim);
            break;
        }
        if (!found)
            json_array_append(to, claim);
    }
}

static void merge_privacy(json_t *root, const json_t *from)
{
    static const char *const purposes[] = {"train", "evaluate", "predict"};
    json_t *to, *releases;

    if (from == NULL)
        return;
    to = within(root, "privacy", false);
    if (json_object_get(to, "mechanism") == NULL)
        copy(to, from, "mechanism");
    keep(to, from, "delta", true);
    releases = within(to, "releases", false);
    for (size_t i = 0; i < 3; i++)
        keep(releases, json_object_get(from, "releases"), purposes[i], true);
    keep(to, from, "participations_max", true);
    keep(to, from, "m_min", false);
    merge_claims(within(to, "claims", true), json_object_get(from, "claims"));
}

static void merge_party(struct merge *m, unsigned long index)
{
    char who[32], name[32];
    json_t *from, *self, *entry;
    const char *digest = NULL;

    snprintf(who, sizeof who, "party-%lu", index);
    snprintf(name, sizeof name, "p%lu", index);
    from = read_summary(m->dir, who);
    self = json_array_get(json_object_get(from, "parties"), 0);
    if (json_is_string(json_object_get(self, "name")))
        snprintf(name, sizeof name, "%s", json_string_value(json_object_get(self, "name")));
    entry = entry_of(m->root, name);
    copy(entry, self, "max_rss_kb");
    copy(entry, self, "cpu_s");
    if (from != NULL) {
        json_t *spans = within(within(m->root, "time", false), "spans", false);
        const json_t *own = json_object_get(json_object_get(from, "time"), "spans");

        keep(spans, own, "compute", true);
        keep(spans, own, "protect", true);
        own = json_object_get(json_object_get(from, "model_sha256"), "parties");
        digest = json_string_value(json_array_get(own, 0));
    }
    merge_privacy(m->root, json_object_get(from, "privacy"));
    json_array_append_new(m->digests, json_string(digest == NULL ? "" : digest));
    m->any_digest = m->any_digest || digest != NULL;
    json_decref(from);
}

/* --- all of them --- */

static void set_error(struct merge *m)
{
    char text[1024];

    if (m->failed == NULL)
        return;
    if (strcmp(m->failed, "server") == 0 && json_object_get(m->root, "error") != NULL)
        return;
    snprintf(text, sizeof text, "%s: %s", m->failed, m->words);
    json_object_set_new(m->root, "error", json_stringn(text, strlen(text)));
}

static int append(const char *bytes, size_t n, void *to)
{
    return buf_append(to, bytes, n) == STATUS_OK ? 0 : -1;
}

static enum status merge_all(struct merge *m)
{
    char path[PATH_MAX];
    struct buf text;
    enum status s;

    m->root = read_summary(m->dir, "server");
    if (m->root == NULL) {
        m->root = json_object();
        json_object_set_new(m->root, "status", json_string("failed"));
    }
    json_object_set_new(m->root, "parties_n", json_integer((json_int_t)m->parties));
    m->digests = json_array();
    for (unsigned long i = 1; i <= m->parties; i++)
        merge_party(m, i);
    if (m->any_digest)
        json_object_set(within(m->root, "model_sha256", false), "parties", m->digests);
    json_decref(m->digests);
    set_error(m);
    buf_init(&text, SUMMARY_BYTES_MAX);
    if (json_dump_callback(m->root, append, &text, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) !=
            0 ||
        buf_append(&text, "\n", 1) != STATUS_OK) {
        s = error_set(&m->err, STATUS_MEMORY, "out of memory");
    } else {
        snprintf(path, sizeof path, "%s/summary.json", m->dir);
        s = file_write_atomic(path, text.data, text.len, 0640, &m->err);
    }
    buf_deinit(&text);
    return s;
}

/* --- the table --- */

/* A summary may come from elsewhere, and what a terminal takes for an order is none: as in logs,
 * bytes outside printable ASCII become '?'. */
static void put(const char *text)
{
    for (; *text != 0; text++)
        putchar((unsigned char)*text < ' ' || (unsigned char)*text >= 127 ? '?' : *text);
}

static void put_text(const char *before, const json_t *o, const char *key)
{
    printf("%s", before);
    put(text_of(o, key));
}

static void print_bytes(const char *what, double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    size_t u = 0;

    for (; bytes >= 1000 && u < 4; u++)
        bytes /= 1000;
    printf("%s%.*f %s", what, u == 0 ? 0 : 1, bytes, unit[u]);
}

static void print_score(const json_t *root, const char *split)
{
    const json_t *o = json_object_get(root, split);

    if (o == NULL)
        return;
    printf("%-9s", split);
    for (int m = 0; m < SCORE_METRICS; m++)
        if (json_object_get(o, score_names[m]) != NULL)
            printf(" %s %.4f ", score_names[m], number(o, score_names[m]));
    printf("\n");
}

static void print_calibration(const json_t *o)
{
    if (o != NULL)
        printf("calibrated temperature %.3g by %.0f validation rows: calibration error %.4f, %.4f "
               "before\n",
               number(o, "temperature"), number(o, "rows"), number(o, "ece"),
               number(o, "ece_before"));
}

/* Who is not in predictions. */
static void print_without(const json_t *root)
{
    const char *between = "without   ";
    json_t *name;
    size_t i;

    json_array_foreach(json_object_get(root, "without"), i, name)
    {
        printf("%s", between);
        put(json_is_string(name) ? json_string_value(name) : "?");
        between = ", ";
    }
    if (between[0] == ',')
        printf("\n");
}

/* "missing_uploads" to "missing uploads". */
static void print_words(const char *key)
{
    char one[2] = {0};

    for (; *key != 0; key++) {
        one[0] = *key == '_' ? ' ' : *key;
        put(one);
    }
}

/* What happened of it; void rounds stand beside the rounds. */
static void print_degraded(const json_t *root)
{
    json_t *list = json_object_get(root, "degraded"), *count, *party;
    const char *key, *between = "degraded  ";
    size_t i;

    json_object_foreach(list, key, count)
    {
        if (json_number_value(count) == 0 || strcmp(key, "void_rounds") == 0)
            continue;
        printf("%s%.0f ", between, json_number_value(count));
        print_words(key);
        between = ", ";
    }
    if (between[0] == ',')
        printf("\n");
    between = "          rounds without ";
    json_array_foreach(json_object_get(root, "parties"), i, party)
    {
        double rounds = number(party, "missing_uploads") + number(party, "absent_rounds");

        if (rounds == 0)
            continue;
        put_text(between, party, "name");
        printf(": %.0f", rounds);
        between = ", ";
    }
    if (between[0] == ',')
        printf("\n");
}

static void print_traffic(const json_t *root)
{
    const json_t *bytes = json_object_get(root, "bytes"), *total = json_object_get(bytes, "total");
    const json_t *train = json_object_get(bytes, "train");

    if (total == NULL)
        return;
    print_bytes("bytes     up ", number(total, "frame_up"));
    print_bytes(", down ", number(total, "frame_down"));
    print_bytes(" (training payload up ", number(train, "payload_up"));
    print_bytes(", down ", number(train, "payload_down"));
    printf(")\n");
}

static void print_claim(const char *title, const json_t *claim)
{
    if (claim == NULL)
        return;
    printf("%-9s ", title);
    if (isinf(epsilon(claim)))
        printf("no bound on epsilon");
    else
        printf("epsilon %.4g", epsilon(claim));
    put_text(" for one ", claim, "adjacency");
    put_text(" against ", claim, "adversary");
    printf(" (m_eff %.0f)%s\n", number(claim, "m_eff"),
           json_is_true(json_object_get(claim, "vacuous")) ? ", vacuous" : "");
}

static bool is_text(const json_t *o, const char *key, const char *want)
{
    const char *have = json_string_value(json_object_get(o, key));

    return have != NULL && strcmp(have, want) == 0;
}

/* Of one record, or of one person (data.group). */
static bool of_one(const json_t *claim)
{
    const char *what = text_of(claim, "adjacency");

    return strncmp(what, "record_", 7) == 0 || strncmp(what, "person_", 7) == 0;
}

static void print_privacy(const json_t *root)
{
    const json_t *privacy = json_object_get(root, "privacy"), *worst = NULL, *plain = NULL;
    const json_t *record = NULL;
    json_t *claim;
    size_t i;

    if (privacy == NULL)
        return;
    json_array_foreach(json_object_get(privacy, "claims"), i, claim)
    {
        if (worst == NULL || epsilon(claim) > epsilon(worst))
            worst = claim;
        if (!is_text(claim, "adversary", "server"))
            continue;
        if (is_text(claim, "adjacency", "sample"))
            plain = claim;
        if (of_one(claim) && (record == NULL || epsilon(claim) > epsilon(record)))
            record = claim;
    }
    put_text("privacy   ", privacy, "mechanism");
    printf(", delta %g, %.0f vectors released\n", number(privacy, "delta"),
           number(json_object_get(privacy, "releases"), "train") +
               number(json_object_get(privacy, "releases"), "evaluate") +
               number(json_object_get(privacy, "releases"), "predict"));
    print_claim("", record);
    print_claim("", plain);
    if (worst != plain && worst != record)
        print_claim("  worst", worst);
}

static void print_table(const json_t *root)
{
    const json_t *time = json_object_get(root, "time");
    const char *error = json_string_value(json_object_get(root, "error"));

    put_text("status    ", root, "status");
    printf("%s\n", json_is_true(json_object_get(root, "plaintext"))
                       ? ", PLAINTEXT: the server saw every embedding"
                       : "");
    if (json_is_true(json_object_get(root, "insecure_seed")))
        printf("          insecure seed: reproducible, not private\n");
    if (error != NULL && error[0] != 0) {
        put_text("error     ", root, "error");
        printf("\n");
    }
    if (json_object_get(root, "warning") != NULL) {
        put_text("warning   ", root, "warning");
        printf("\n");
    }
    if (json_object_get(root, "rows") != NULL)
        printf("rows      %.0f predicted, %.0f of them before\n", number(root, "rows"),
               number(root, "kept"));
    else if (json_object_get(root, "labelled") != NULL)
        printf("aligned   %.0f labelled rows, %.0f parties\n", number(root, "labelled"),
               number(root, "parties_n"));
    else if (json_object_get(root, "extended") != NULL)
        printf("aligned   %.0f rows in common, %.0f of them before, %.0f parties\n",
               number(root, "common"), number(root, "extended"), number(root, "parties_n"));
    else if (json_object_get(root, "common") != NULL)
        printf("aligned   %.0f rows in common, of %.0f ids at the server, %.0f parties\n",
               number(root, "common"), number(root, "ids"), number(root, "parties_n"));
    else
        printf("run       %.4g epochs, %.0f rounds (%.0f void), %.0f parties\n",
               number(root, "epochs"), number(root, "rounds"), number(root, "void_rounds"),
               number(root, "parties_n"));
    print_without(root);
    print_degraded(root);
    print_score(root, "train");
    print_score(root, "validate");
    print_score(root, "test");
    if (json_object_get(root, "best_epoch") != NULL) {
        printf("best      the model is that of epoch %.4g", number(root, "best_epoch"));
        put_text(", the best by validation ", json_object_get(root, "best"), "metric");
        printf("\n");
    }
    print_calibration(json_object_get(root, "calibration"));
    print_traffic(root);
    if (json_object_get(time, "total_s") != NULL)
        printf("time      %.2f s (setup %.2f, train %.2f, evaluate %.2f), %.1f rounds/s\n",
               number(time, "total_s"), number(time, "setup_s"), number(time, "train_s"),
               number(time, "evaluate_s"), number(time, "rounds_per_s"));
    print_privacy(root);
}

static bool read_arguments(struct merge *m, int argc, char **argv)
{
    int i = 1;
    char *end;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            m->quiet = true;
        } else if (strcmp(argv[i], "--show") == 0) {
            m->show = true;
        } else if (strcmp(argv[i], "--failed") == 0 && i + 2 < argc) {
            m->failed = argv[++i];
            m->words = argv[++i];
        } else {
            return false;
        }
    }
    if (argc - i != (m->show ? 1 : 2))
        return false;
    m->dir = argv[i];
    if (m->show)
        return true;
    m->parties = strtoul(argv[i + 1], &end, 10);
    return *end == 0 && m->parties >= 1 && m->parties <= PLAN_PARTIES_MAX;
}

int main(int argc, char **argv)
{
    struct merge m = {0};
    enum status s = STATUS_OK;

    if (!read_arguments(&m, argc, argv)) {
        fprintf(stderr, "usage: vfl-merge [--failed WHO WORDS] [--quiet] DIR PARTIES\n"
                        "       vfl-merge --show DIR\n");
        return status_exit_code(STATUS_CONFIG);
    }
    if (!m.show)
        s = merge_all(&m);
    else if ((m.root = read_summary(m.dir, ".")) == NULL)
        s = error_set(&m.err, STATUS_CONFIG, "%s: no summary.json", m.dir);
    if (s != STATUS_OK)
        fprintf(stderr, "vfl merge: %s\n", m.err.text);
    else if (!m.quiet)
        print_table(m.root);
    json_decref(m.root);
    return status_exit_code(s);
}
