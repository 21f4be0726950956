#define _GNU_SOURCE
#include "CNetworkNamespace.h"

#ifdef __linux__
#include <sched.h>
#include <stdio.h>

int network_namespace_enter(void) { return unshare(CLONE_NEWNET); }

int network_namespace_ip(const char *commands) {
    FILE *input = popen("ip -batch - >/dev/null 2>&1", "we");
    if (input == NULL) return -1;
    fputs(commands, input);
    return pclose(input);
}
#else
int network_namespace_enter(void) { return -1; }
int network_namespace_ip(const char *commands) { return -1; }
#endif
