import Foundation

/// A server in a process of its own, on loopback, that ends with the tests however they end: a shell keeps it, which ends it when nobody
/// holds the other end of its standard input any more.
final class ServerProcess: Sendable {
    let port: Int
    let folder: URL
    // Written by nobody after it was started; kept so that the pipe stays open.
    private let input: Pipe

    /// Starts a program and waits until it takes connections.
    ///
    /// - Parameters:
    ///   - endsItself: whether the program ends when its standard input does, and needs no shell for that.
    ///   - command: what to run, by a port and a folder of its own.
    init(
        _ name: String,
        endsItself: Bool = false,
        environment: [String: String] = [:],
        command: (_ port: Int, _ folder: URL) throws -> [String]
    ) async throws {
        folder = try Scratch.folder(name)
        port = try Loopback.freePort()
        let process = Process()
        input = Pipe()
        // Other servers must not hold it too.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        // Not by a signal that can be blocked, as all are in threads of Dispatch, from which it inherits that;
        // for the same reason nothing is waited for behind that.
        let keeper = "\"$@\" </dev/null & child=$!; read -r _; kill -KILL $child"
        let command = (endsItself ? [] : ["/bin/sh", "-c", keeper, "sh"]) + (try command(port, folder))
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, own in own }
        process.standardInput = input
        process.currentDirectoryURL = folder
        let log = folder.appending(path: "log")
        try Data().write(to: log)
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        for _ in 0..<2400 {
            if Loopback.answers(port) { return }
            if !process.isRunning { break }
            // A process of somebody else's tells nobody when it is ready.
            try await Task.sleep(for: .milliseconds(50))
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw ServerMissing("\(name) has not come up: \(text.suffix(2000))")
    }

    deinit { try? input.fileHandleForWriting.close() }
}

/// A server that tests need and that is not here. Never a reason to leave tests out silently.
struct ServerMissing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Where programs of servers are: in the environment that `Scripts/test` makes, or in the path.
enum Program {
    static func find(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders =
            [root.appending(path: ".build/servers-venv/bin").path] + path.split(separator: ":").map(String.init)
        for folder in folders + ["/usr/sbin", "/usr/local/sbin"] {
            let file = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: file) { return file }
        }
        throw ServerMissing("'\(name)' is not installed; Scripts/test installs it.")
    }
}
