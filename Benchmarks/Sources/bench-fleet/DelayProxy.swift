import CBench
import Foundation

/// Passes connections on to a server, and delays what the clients send. So each round trip takes longer by one delay.
///
/// The time limits the number of messages, and not that of bytes: all bytes that have arrived are passed on together.
enum DelayProxy {
    /// Runs until the standard input ends. Prints the port first.
    ///
    /// - Parameter arguments: the port of the server, and the delay in microseconds.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 2, let server = UInt16(arguments[0]), let delay = UInt32(arguments[1]) else {
            throw FleetError("proxy: the arguments are a port and a number of microseconds")
        }
        // Otherwise the system lengthens each wait by some 50 microseconds. Threads inherit the setting.
        bench_use_precise_timers()
        let port = UInt16(bench_free_port())
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard port > 0, listener >= 0,
            withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0
        else { throw FleetError("the proxy cannot listen") }
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                if client >= 0 { serve(client, server, delay) }
            }
        }
        print(port)
        fflush(nil)
        while readLine() != nil {}
    }

    private static func serve(_ client: Int32, _ port: UInt16, _ delay: UInt32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard server >= 0, withAddress(port, { connect(server, $0, $1) }) == 0 else {
            close(client)
            close(server)
            return
        }
        for descriptor in [client, server] {
            var isOn: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        }
        Thread.detachNewThread { pump(from: client, to: server, delay) }
        Thread.detachNewThread { pump(from: server, to: client, 0) }
    }

    /// Passes bytes on until an end closes. The descriptors stay open until the process ends.
    private static func pump(from source: Int32, to target: Int32, _ delay: UInt32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        passing: while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if delay > 0 { usleep(delay) }
            var sent = 0
            while sent < count {
                let result = buffer.withUnsafeBytes { bytes in
                    send(target, bytes.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                }
                guard result > 0 else { break passing }
                sent += result
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    /// Calls a function with an address of the loopback interface, in the form of the C library.
    private static func withAddress(
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
