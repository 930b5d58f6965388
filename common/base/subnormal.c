/* subnormal.c -- the mode register of each architecture.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/subnormal.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { DENORMALS_ARE_ZERO = 1 << 6, FLUSH_TO_ZERO = 1 << 15 };

uint64_t subnormal_flush(void)
{
    const uint32_t before = _mm_getcsr();

    _mm_setcsr(before | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO);
    return before;
}

void subnormal_restore(uint64_t mode)
{
    _mm_setcsr((uint32_t)mode);
}

#elif defined(__aarch64__)

#define FLUSH_TO_ZERO (1ULL << 24) /* inputs and results */

uint64_t subnormal_flush(void)
{
    uint64_t before;

    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | FLUSH_TO_ZERO) : "memory");
    return before;
}

void subnormal_restore(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}

#else
#error "subnormal numbers: how does this CPU flush them?"
#endif
