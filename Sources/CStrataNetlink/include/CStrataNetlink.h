#ifndef C_STRATA_NETLINK_H
#define C_STRATA_NETLINK_H

/* What the kernel says of links, addresses and routes: the structures and numbers of rtnetlink(7). Empty elsewhere. */
#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <sys/socket.h>

/* The groups of messages of which a socket wants to hear. */
static const unsigned int strata_netlink_groups =
    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
#endif

#endif
