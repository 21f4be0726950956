import Foundation
import Testing

/// A server, its clients and their stores. They are deleted when this object is released.
final class ChatFixture {
    private let folder: URL
    private(set) var server: Program?
    private(set) var port = 0

    init(isServed: Bool = true) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try startServer()
        if !isServed { killServer() }
    }

    deinit {
        server?.kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the server. The kernel chooses the port at the first start, and later starts use the same port.
    func startServer() throws {
        let server = try Program("chat-server", ["--port", "\(port)"])
        let start = "listening on 127.0.0.1:"
        try server.wait(for: "the server's port") { $0.first?.hasPrefix(start) == true }
        port = try #require(server.lines.first.flatMap { Int($0.dropFirst(start.count)) })
        self.server = server
    }

    func killServer() {
        server?.kill()
        server = nil
    }

    /// Cuts all connections. The server keeps running.
    func cut() { server?.send(SIGUSR1) }

    /// Starts a client, and waits until it has shown the messages in its store.
    func client(_ name: String, _ arguments: String...) throws -> Program {
        let store = folder.appendingPathComponent("\(name).sqlite").path
        let client = try Program("chat", [name, "--port", "\(port)", "--store", store] + arguments)
        try client.wait(for: "the messages from before") { $0.contains { $0.hasSuffix("from before") } }
        return client
    }
}

extension Program {
    /// The lines on the screen that begin with `start`, without it.
    func messages(_ start: String) -> [String] { lines.messages(start) }

    func wait(for count: Int, _ start: String) throws {
        try wait(for: "\(count) lines of \(start)") { $0.messages(start).count >= count }
    }
}

extension [String] {
    fileprivate func messages(_ start: String) -> [String] {
        filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }
}
