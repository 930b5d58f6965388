/* openssl_mem.h -- what OpenSSL allocates, counted, and refused on demand: for its heap what
 * mem_fail_at() is for ours.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_OPENSSL_MEM_H
#define COLONNADE_TESTS_OPENSSL_MEM_H

#include <stddef.h>
#include <stdint.h>

/* First of all in main(): OpenSSL takes another allocator only before it has allocated. */
void openssl_mem_init(void);
/* The n-th allocation from now on fails once (n counts from 1); 0 switches this off. */
void openssl_mem_fail_at(uint64_t n);
/* All of n bytes fail from now on, as where each size has a pool of its own and one is empty; 0
 * switches this off. */
void openssl_mem_fail_size(size_t n);
/* Allocations until the one that fails, it included; 0 once it has, or when none was asked for. */
uint64_t openssl_mem_fail_left(void);
/* Blocks that are allocated now. */
int64_t openssl_mem_live(void);

#endif
