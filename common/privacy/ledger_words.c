/* ledger_words.c -- one reader for all texts of the ledger.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_words.h"

#include "common/config/number.h"
#include "common/crypto/digest.h"

#include <string.h>

enum { WORD_MAX = 2 * DIGEST_BYTES + 1 };

/* Moves behind a word of n characters and the blank after it.  A text has none at its end. */
static void step(struct ledger_words *w, size_t n)
{
    w->at += n;
    if (*w->at == ' ' && w->at[1] != 0)
        w->at++;
    else if (*w->at != 0)
        w->bad = true;
}

/* Copies the next word; an empty one, or one that is too long, is wrong. */
static void next(struct ledger_words *w, char out[WORD_MAX])
{
    size_t n = strcspn(w->at, " ");

    out[0] = 0;
    if (n == 0 || n >= WORD_MAX)
        w->bad = true;
    if (w->bad)
        return;
    memcpy(out, w->at, n);
    out[n] = 0;
    step(w, n);
}

bool ledger_words_take(struct ledger_words *w, const char *word)
{
    const size_t n = strlen(word);

    if (w->bad || strncmp(w->at, word, n) != 0 || (w->at[n] != ' ' && w->at[n] != 0))
        return false;
    step(w, n);
    return true;
}

void ledger_words_expect(struct ledger_words *w, const char *word)
{
    if (!ledger_words_take(w, word))
        w->bad = true;
}

void ledger_words_name(struct ledger_words *w, const char *name)
{
    const size_t n = strlen(name);

    if (w->bad || strncmp(w->at, name, n) != 0 || w->at[n] != '=')
        w->bad = true;
    else
        w->at += n + 1;
}

uint64_t ledger_words_number(struct ledger_words *w, uint64_t most)
{
    char word[WORD_MAX];
    uint64_t v = 0;

    next(w, word);
    if (!w->bad && (!number_whole(&v, word) || v > most))
        w->bad = true;
    return w->bad ? 0 : v;
}

double ledger_words_real(struct ledger_words *w)
{
    char word[WORD_MAX], again[NUMBER_TEXT_MAX];
    double v = 0;

    next(w, word);
    if (!w->bad && !number_real(&v, word))
        w->bad = true;
    if (w->bad)
        return 0;
    number_print(again, v);
    if (strcmp(word, again) != 0) /* one number, one text */
        w->bad = true;
    return w->bad ? 0 : v;
}

void ledger_words_hex(struct ledger_words *w, uint8_t *out, size_t n)
{
    char word[WORD_MAX], again[WORD_MAX];

    next(w, word);
    memset(out, 0, n);
    if (!w->bad && (strlen(word) != 2 * n || !digest_from_hex(out, n, word)))
        w->bad = true;
    digest_hex(again, out, n);
    if (!w->bad && strcmp(word, again) != 0)
        w->bad = true;
}

size_t ledger_words_choice(struct ledger_words *w, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ledger_words_take(w, names[i]))
            return i;
    }
    w->bad = true;
    return 0;
}

bool ledger_words_end(const struct ledger_words *w)
{
    return !w->bad && *w->at == 0;
}
