#ifndef C_BENCH_H
#define C_BENCH_H

#include <stddef.h>

/* Bytes in use on the heap of this process, in all arenas and in mapped blocks, malloc's own overhead included. */
size_t bench_heap_bytes(void);

/* The magic number of the file system that the path lies on, 0 where it cannot be asked. */
long bench_file_system(const char *path);

/* A port of the loopback interface that nobody has now, 0 where there is none. */
int bench_free_port(void);

/* The CPU time in seconds of this process; or, if the argument is not 0, of its children that have ended. */
double bench_cpu_seconds(int of_children);

/* Ends each wait of this thread, and of threads that it starts later, as soon as the system can. */
void bench_use_precise_timers(void);

#endif
