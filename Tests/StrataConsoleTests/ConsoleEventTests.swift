import Foundation
import Strata
import Testing

@testable import StrataConsole

@Suite("Live updates of the console", .timeLimit(.minutes(1))) struct ConsoleEventTests {
    /// A connection to a server on the loopback interface. Its text is read by a thread.
    private final class Connection: Sendable {
        let lines: AsyncStream<String>
        private let descriptor: Int32

        /// Connects, and sends a request.
        init(port: Int, _ path: String) throws {
            #if canImport(Glibc)
                let kind = Int32(SOCK_STREAM.rawValue)
            #else
                let kind = SOCK_STREAM
            #endif
            let descriptor = socket(AF_INET, kind, 0)
            self.descriptor = descriptor
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            self.lines = lines
            guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            guard write(descriptor, request, request.count) == request.count else { throw POSIXError(.EIO) }
            Thread.detachNewThread {
                var (bytes, rest) = ([UInt8](repeating: 0, count: 4096), Data())
                while true {
                    let count = read(descriptor, &bytes, bytes.count)
                    if count <= 0 { break }
                    rest += Data(bytes[..<count])
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                        rest = Data(rest[(end + 1)...])
                    }
                }
                continuation.finish()
            }
        }

        deinit { close() }

        func close() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

        /// Waits for a line that begins with a text.
        func line(_ beginning: String) async -> String? {
            for await line in lines where line.hasPrefix(beginning) { return line }
            return nil
        }
    }

    /// Serves the console on a free port, runs a body with the port, and ends the server.
    private func serving(
        _ fixture: ConsoleFixture,
        _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, started) = AsyncStream.makeStream(of: Int.self)
        let server = Task {
            defer { started.finish() }
            try await fixture.console.serve(host: "127.0.0.1", port: 0) { port in started.yield(port) }
        }
        var isServed = false
        for await port in ports {
            isServed = true
            do {
                try await body(port)
            } catch {
                server.cancel()
                throw error
            }
            server.cancel()
            break
        }
        #expect(isServed)
        let result = await server.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await fixture.stack.close()
    }

    /// Waits until a condition is true.
    private func until(_ condition: @Sendable () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test("A page hears of commits of other stacks, and the server ends although it listens")
    func commits() async throws {
        let fixture = try await ConsoleFixture()
        let other = try await ConsoleFixture.open(fixture.folder)
        try await serving(fixture) { port in
            let connection = try Connection(port: port, "/events")
            let status = await connection.line("HTTP/1.1 ")
            #expect(status?.hasPrefix("HTTP/1.1 200") == true)
            let first = try #require(await connection.line("data: "))
            try await ConsoleFixture.enqueue(["photos"], on: other)
            let second = try #require(await connection.line("data: "))
            let numbers = [first, second].compactMap { Int64($0.dropFirst(6).filter(\.isNumber)) }
            #expect(numbers.count == 2 && numbers[0] <= numbers[1])
        }
        try await other.close()
    }

    @Test("A closed connection gives its place to the next page, and too many pages are refused")
    func places() async throws {
        let fixture = try await ConsoleFixture(maximumEventClients: 1)
        try await serving(fixture) { port in
            let first = try Connection(port: port, "/events")
            #expect(await first.line("data: ") != nil)
            let refused = try Connection(port: port, "/events")
            #expect(await refused.line("HTTP/1.1 ")?.hasPrefix("HTTP/1.1 503") == true)
            first.close()
            try await until { fixture.console.feed.clientCount == 0 }
            let next = try Connection(port: port, "/events")
            #expect(await next.line("data: ") != nil)
        }
    }

    @Test("Several commits before a client reads are one signal")
    func coalescing() async throws {
        let fixture = try await ConsoleFixture()
        let client = try #require(fixture.console.feed.subscribe())
        for _ in 0..<20 { try await ConsoleFixture.enqueue(["photos"], on: fixture.stack) }
        #expect(fixture.console.feed.position.announcements >= 20)
        client.end()
        var count = 0
        for await _ in client.signals { count += 1 }
        #expect(count == 1)
        fixture.console.feed.unsubscribe(client)
        #expect(fixture.console.feed.clientCount == 0)
        try await fixture.stack.close()
    }
}
