// Tells the thread sanitizer of the waits of Swift's Mutex.
//
// A Mutex of the Synchronization module that is taken at once is seen by the sanitizer, since that part of it is compiled
// into its user. A thread that has to wait is handed the lock by the kernel (futex, PI), in a library that was not
// compiled for the sanitizer, so that it takes what the lock orders for a race. Loaded before that library (LD_PRELOAD),
// this stands in front of the two functions concerned and says what they do.
//
// https://github.com/swiftlang/swift/blob/main/stdlib/public/Synchronization/Mutex/LinuxImpl.swift
// https://github.com/llvm/llvm-project/blob/main/compiler-rt/include/sanitizer/tsan_interface.h
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Nobody has them but a program that was built for the sanitizer.
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

typedef __attribute__((swiftcall)) void Lock(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void Unlock(__attribute__((swift_context)) void *mutex);

Lock lock_slow __asm__(LOCK_SLOW);
Unlock unlock_slow __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
    static Lock *next;
    if (!next) next = (Lock *)dlsym(RTLD_NEXT, LOCK_SLOW);
    next(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *mutex) {
    static Unlock *next;
    if (!next) next = (Unlock *)dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(mutex);
    next(mutex);
}
