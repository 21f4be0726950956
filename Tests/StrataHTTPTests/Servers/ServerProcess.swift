import Foundation

/// A server in a separate process on the loopback interface. It ends with the tests, however they end: a shell runs the
/// server, and kills it when no process holds the other end of the shell's standard input any more.
final class ServerProcess: Sendable {
    let port: Int
    let folder: URL
    // Nothing is written to this pipe. The reference keeps the pipe open.
    private let input: Pipe

    /// Starts a program and waits until it accepts connections.
    ///
    /// - Parameters:
    ///   - endsItself: whether the program ends when its standard input closes. Then it does not need the shell.
    ///   - command: the command line, given a port and the server's folder.
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
        // Other servers must not inherit this end of the pipe.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        // SIGKILL cannot be blocked. The shell inherits the blocked signals of its parent, and threads of Dispatch
        // block all signals. For the same reason, the shell does not wait for the server after the kill.
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
            // A foreign process does not report when it is ready.
            try await Task.sleep(for: .milliseconds(50))
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw ServerMissing("\(name) has not come up: \(text.suffix(2000))")
    }

    deinit { try? input.fileHandleForWriting.close() }
}

/// A server that tests need is missing. The tests must fail, and must not be skipped silently.
struct ServerMissing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The paths of server programs: in the environment that `Scripts/test` makes, or in the search path.
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
