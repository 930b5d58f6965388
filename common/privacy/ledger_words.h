/* ledger_words.h -- the texts of the ledger's records: words and numbers between single blanks,
 * read strictly.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_WORDS_H
#define COLONNADE_PRIVACY_LEDGER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_TEXT_MAX = 512 }; /* with the final 0 */

/* Reading goes on after something was wrong, and gives zeros; ledger_words_end says whether all was
 * right. */
struct ledger_words {
    const char *at; /* the next word */
    bool bad;
};

/* The next word is exactly this one: it is behind; otherwise nothing has changed. */
bool ledger_words_take(struct ledger_words *w, const char *word);
/* It has to be. */
void ledger_words_expect(struct ledger_words *w, const char *word);
/* "name=" before the number that is read next. */
void ledger_words_name(struct ledger_words *w, const char *name);

/* Digits without leading zeros, at most `most`. */
uint64_t ledger_words_number(struct ledger_words *w, uint64_t most);
/* As number_print writes it. */
double ledger_words_real(struct ledger_words *w);
void ledger_words_hex(struct ledger_words *w, uint8_t *out, size_t n);
/* One of n names: its place, or 0. */
size_t ledger_words_choice(struct ledger_words *w, const char *const *names, size_t n);
/* Nothing is left, and nothing was wrong. */
bool ledger_words_end(const struct ledger_words *w);

#endif
