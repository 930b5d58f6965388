/* instrumented.h -- whether this build is for a sanitizer.  Its code is many times slower: of many
 * cases of one kind a sample says enough there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_LIB_INSTRUMENTED_H
#define COLONNADE_TESTS_LIB_INSTRUMENTED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { INSTRUMENTED = 1 };
#else
enum { INSTRUMENTED = 0 };
#endif

#endif
