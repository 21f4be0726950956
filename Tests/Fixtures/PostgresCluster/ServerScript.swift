import Foundation

/// A script that runs a server, and answers each line of its standard input with a line.
///
/// The server ends with the process of the tests, however this ends: the script ends the server and removes the folder
/// when no process holds the other end of its standard input any more.
final class ServerScript: Sendable {
    /// The folder of the server.
    let folder: URL
    private let title: String
    private let input = Pipe()
    private let output = Pipe()

    /// Starts the server, and waits until it is ready.
    ///
    /// - Parameters:
    ///   - name: the script, beside this file.
    ///   - title: the name of the server, for errors.
    ///   - arguments: those after the folder.
    init(_ name: String, title: String, _ arguments: [String]) throws {
        self.title = title
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: name)
        process.arguments = [folder.path] + arguments
        process.standardInput = input
        process.standardOutput = output
        // Other processes must not inherit this end of the pipe.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        try expect("ready")
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// Sends a line, and waits for the answer.
    func send(_ command: String, answer: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
        try expect(answer)
    }

    /// Reads a line of the script.
    private func expect(_ line: String) throws {
        var text = ""
        while !text.hasSuffix("\(line)\n") {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            if data.isEmpty || text.hasSuffix("failed\n") {
                throw PostgresCluster.Failure(description: "\(title) is not \(line): \(text.suffix(2000))")
            }
        }
    }
}
