// SPDX-License-Identifier: Apache-2.0
// A system that gives no threads, for LD_PRELOAD.
#include <errno.h>
#include <pthread.h>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  return EAGAIN;
}
