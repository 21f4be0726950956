import Foundation

/// Ports of this machine.
public enum Loopback {
    static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Calls a function with a new socket, and an address in the form of the C library.
    static func withSocket<Result>(
        _ port: Int,
        _ body: (_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) throws -> Result
    ) throws -> Result {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
        do {
            return try withUnsafePointer(to: address(port: port)) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// A socket that listens on a free port. The caller closes it.
    public static func listen() throws -> (descriptor: Int32, port: Int) {
        try withSocket(0) { descriptor, address, size in
            guard bind(descriptor, address, size) == 0, Foundation.listen(descriptor, 16) == 0 else {
                throw POSIXError(.EADDRINUSE)
            }
            var bound = sockaddr_in()
            var length = size
            let result = withUnsafeMutablePointer(to: &bound) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0 else { throw POSIXError(.EADDRINUSE) }
            return (descriptor, Int(UInt16(bigEndian: bound.sin_port)))
        }
    }

    /// A connection to a port. The caller closes it.
    public static func connect(to port: Int) throws -> Int32 {
        try withSocket(port) { descriptor, address, size in
            guard Foundation.connect(descriptor, address, size) == 0 else { throw POSIXError(.ECONNREFUSED) }
            return descriptor
        }
    }

    /// A port that no process uses at the moment.
    public static func freePort() throws -> Int {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }
}
