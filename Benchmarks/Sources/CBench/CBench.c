#include "CBench.h"
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
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
