/* clones.h -- CLONES compiles one loop several times; the loader picks the widest the CPU can run.
 *
 * For loops over integers, which give the same bits in every copy.  Sanitizers instrument the
 * loader's choice before their own start-up and crash, so under them there is one copy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_CLONES_H
#define COLONNADE_BASE_CLONES_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define INTEGER_CLONES_OFF 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define INTEGER_CLONES_OFF 1
#endif

#ifdef INTEGER_CLONES_OFF
#define INTEGER_CLONES
#else
#define INTEGER_CLONES __attribute__((target_clones("avx512bw", "avx2", "default")))
#endif

#endif
