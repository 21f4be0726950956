import Foundation

/// Ports of this machine.
enum Loopback {
    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func withSocket<T>(_ port: Int, _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) throws -> T)
        throws -> T
    {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
        defer { close(descriptor) }
        let address = address(port)
        return try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// A port that no process uses at the moment.
    static func freePort() throws -> Int {
        try withSocket(0) { descriptor, address, size in
            guard bind(descriptor, address, size) == 0 else { throw POSIXError(.EADDRINUSE) }
            var bound = sockaddr_in()
            var length = size
            let result = withUnsafeMutablePointer(to: &bound) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0 else { throw POSIXError(.EADDRINUSE) }
            return Int(UInt16(bigEndian: bound.sin_port))
        }
    }

    /// Whether a server accepts connections on a port.
    static func answers(_ port: Int) -> Bool {
        (try? withSocket(port) { descriptor, address, size in connect(descriptor, address, size) == 0 }) == true
    }
}
