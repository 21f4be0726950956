#include "CBench.h"
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

size_t bench_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

long bench_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)status.f_type : 0;
}

int bench_free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int port = 0;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return 0;
    if (bind(descriptor, (struct sockaddr *)&address, size) == 0
        && getsockname(descriptor, (struct sockaddr *)&address, &size) == 0) {
        port = ntohs(address.sin_port);
    }
    close(descriptor);
    return port;
}

double bench_cpu_seconds(int of_children) {
    struct rusage usage;
    if (getrusage(of_children ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage) != 0) return 0;
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void bench_use_precise_timers(void) {
    prctl(PR_SET_TIMERSLACK, 1UL);
}
