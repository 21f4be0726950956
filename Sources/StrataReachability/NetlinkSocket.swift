#if os(Linux)
    import CStrataNetlink
    import Foundation

    /// A socket for the kernel's network messages, in the network namespace of the thread that creates it.
    struct NetlinkSocket: ~Copyable {
        /// The result of a receive call.
        enum Received {
            case bytes([UInt8])
            /// No message is available at the moment.
            case nothing
            /// Messages were lost, because they were not read in time.
            case overrun
        }

        let descriptor: Int32

        /// Opens a socket.
        ///
        /// - Parameters:
        ///   - groups: the multicast groups to subscribe to; 0 for a socket that only sends requests.
        ///   - room: the size of the receive buffer in bytes; nil for the system's default.
        /// - Throws: `POSIXError` if the system does not allow such a socket.
        init(groups: UInt32, room: Int32? = nil) throws(POSIXError) {
            let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            descriptor = socket(AF_NETLINK, kind, NETLINK_ROUTE)
            guard descriptor >= 0 else { throw Self.lastError }
            if var room { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size)) }
            var address = sockaddr_nl()
            address.nl_family = UInt16(AF_NETLINK)
            address.nl_groups = groups
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
                }
            }
            guard result == 0 else { throw Self.lastError }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        private static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

        /// Receives the available messages. Messages from other senders than the kernel are discarded.
        func receive() throws(POSIXError) -> Received {
            // The kernel sends at most 32 KiB at once.
            var buffer = [UInt8](repeating: 0, count: 32 * 1024)
            var sender = sockaddr_nl()
            var size = socklen_t(MemoryLayout<sockaddr_nl>.size)
            let count = buffer.withUnsafeMutableBytes { buffer in
                withUnsafeMutablePointer(to: &sender) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, $0, &size)
                    }
                }
            }
            guard count >= 0 else {
                switch errno {
                case EAGAIN, EWOULDBLOCK: return .nothing
                case EINTR: return .bytes([])
                case ENOBUFS: return .overrun
                default: throw Self.lastError
                }
            }
            return .bytes(sender.nl_pid == 0 ? Array(buffer.prefix(count)) : [])
        }

        /// Requests a list: all links (`RTM_GETLINK`), addresses or routes.
        func ask(_ type: Int) throws(POSIXError) {
            struct Request {
                var header = nlmsghdr()
                var body = rtgenmsg()
            }
            var request = Request()
            request.header.nlmsg_len = UInt32(MemoryLayout<Request>.size)
            request.header.nlmsg_type = UInt16(type)
            request.header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
            request.body.rtgen_family = UInt8(AF_UNSPEC)
            let sent = withUnsafeBytes(of: request) { send(descriptor, $0.baseAddress, $0.count, 0) }
            guard sent >= 0 else { throw Self.lastError }
        }

        /// Waits until a message is available, or until the timeout.
        ///
        /// The kernel normally answers at once; the timeout is for the case that it does not.
        func wait(milliseconds: Int32) -> Bool {
            var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&descriptor, 1, milliseconds) > 0
        }
    }
#endif
