/* report_progress.c -- one line for all of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_progress.h"

#include <stdio.h>

static void print_bytes(char *out, size_t n, uint64_t bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t u = 0;

    while (value >= 1000 && u + 1 < sizeof unit / sizeof unit[0]) {
        value /= 1000;
        u++;
    }
    snprintf(out, n, u == 0 ? "%.0f %s" : "%.1f %s", value, unit[u]);
}

/* "  4 missing, 2 void rounds"; empty when nothing is amiss. */
static void print_amiss(char *out, size_t n, const struct report_progress *p)
{
    char words[96], missing[32] = "";

    report_degraded_words(words, sizeof words, &p->degraded);
    if (p->missing > 0)
        snprintf(missing, sizeof missing, "%u missing", p->missing);
    out[0] = 0;
    if (p->missing > 0 || words[0] != 0)
        snprintf(out, n, "  %s%s%s", missing, p->missing > 0 && words[0] != 0 ? ", " : "", words);
}

void report_progress_line(char out[REPORT_PROGRESS_MAX], const struct report_progress *p)
{
    char bytes[32], metric[64] = "", slow[96] = "", amiss[136];

    print_bytes(bytes, sizeof bytes, p->bytes);
    if (p->metric_name != NULL)
        snprintf(metric, sizeof metric, "  %.5s %.40s %.4f", p->split, p->metric_name, p->metric);
    if (p->slow != NULL)
        snprintf(slow, sizeof slow, "  waiting for %.63s", p->slow);
    print_amiss(amiss, sizeof amiss, p);
    snprintf(out, REPORT_PROGRESS_MAX, "epoch %.2f/%g  loss %.4f%s  %s  %.1f rounds/s%s%s",
             p->epoch, p->epochs, p->loss, metric, bytes, p->rounds_per_s, amiss, slow);
}
