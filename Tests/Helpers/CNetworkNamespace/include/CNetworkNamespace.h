#ifndef C_NETWORK_NAMESPACE_H
#define C_NETWORK_NAMESPACE_H

/* Moves the calling thread into a new network namespace. Returns 0, or -1 where the system does not allow it. */
int network_namespace_enter(void);

/* Gives commands to the program ip, a line each, in the namespace of the calling thread. Returns 0 where all have succeeded. */
int network_namespace_ip(const char *commands);

#endif
