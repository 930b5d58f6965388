/* clones.h -- WIDE_CLONES compiles one loop several times; the loader picks the widest the CPU
 * runs.
 *
 * So one binary serves any x86-64 without intrinsics.  Contraction is off (-std=c11, and the pragma
 * for clang), hence an elementwise loop gives the same bits in every clone.  Sanitizers instrument
 * the loader's choice before their own start-up and crash, so under them there is one copy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_CLONES_H
#define COLONNADE_BASE_CLONES_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define WIDE_CLONES_OFF 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define WIDE_CLONES_OFF 1
#endif

#ifdef WIDE_CLONES_OFF
#define WIDE_CLONES
#else
#define WIDE_CLONES __attribute__((target_clones("avx2", "default")))
#endif

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#endif
