// Makes each flush of a file take longer, as on the network disk of a rented server.
//
// `Scripts/bench --flush MICROSECONDS` loads this library before libc (LD_PRELOAD), and sets STRATA_BENCH_FLUSH. The
// flush itself is made too. Both sides of a row are delayed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int Flush(int file);

static int flush_slowly(Flush *flush, int file) {
    const char *text = getenv("STRATA_BENCH_FLUSH");
    long microseconds = text ? atol(text) : 0;
    struct timespec rest = {microseconds / 1000000, microseconds % 1000000 * 1000};
    // A signal interrupts the sleep.
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
    return flush(file);
}

int fsync(int file) {
    static Flush *next;
    if (!next) next = (Flush *)dlsym(RTLD_NEXT, "fsync");
    return flush_slowly(next, file);
}

int fdatasync(int file) {
    static Flush *next;
    if (!next) next = (Flush *)dlsym(RTLD_NEXT, "fdatasync");
    return flush_slowly(next, file);
}
