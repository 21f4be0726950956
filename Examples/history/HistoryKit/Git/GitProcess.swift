import Foundation

/// A running git process, as a source of its output.
///
/// The process ends when the reading task is cancelled, or when the last reference to this object is released.
final class GitProcess: ChunkSource {
    private static let messageLimit = 64 << 10

    private let process = Process()
    private let output: ChunkReader
    private let message: Task<String, Never>
    private let end: AsyncStream<Never>

    /// - Throws: ``GitError`` with ``GitError/Code/notInstalled`` or ``GitError/Code/notARepository``.
    init(folder: String, arguments: [String]) throws {
        var environment = ProcessInfo.processInfo.environment
        guard let program = Self.findProgram(searchPath: environment["PATH"]) else {
            throw GitError(.notInstalled, "git is not installed, or not on the search path")
        }
        // The folder alone must select the repository, even if this program runs inside a git hook.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE"] { environment[name] = nil }
        environment["LC_ALL"] = "C"
        environment["GIT_OPTIONAL_LOCKS"] = "0"

        let standardOutput = Pipe()
        let standardError = Pipe()
        // The end is signalled by a stream, because a task must not block its thread to wait for the process.
        let (end, continuation) = AsyncStream.makeStream(of: Never.self)
        self.end = end
        process.terminationHandler = { _ in continuation.finish() }
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--no-pager", "-C", folder] + arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = standardOutput
        process.standardError = standardError
        output = ChunkReader(standardOutput.fileHandleForReading)
        let messages = ChunkReader(standardError.fileHandleForReading)
        do {
            try process.run()
        } catch {
            throw GitError(.notInstalled, "git cannot be started: \(error)")
        }
        // Standard error is read concurrently. Otherwise git would block as soon as the pipe is full, and never end.
        message = Task {
            var bytes: [UInt8] = []
            while let chunk = try? await messages.next() { bytes += chunk.prefix(Self.messageLimit - bytes.count) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    deinit {
        Self.end(process)
    }

    func next() async throws -> [UInt8]? {
        let chunk = try await withTaskCancellationHandler {
            try await output.next()
        } onCancel: {
            Self.end(process)
        }
        try Task.checkCancellation()
        if let chunk { return chunk }
        let message = await message.value
        for await _ in end {}
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return nil
        case (.exit, let status): throw GitError.failed(status: status, standardError: message)
        case (_, let signal): throw GitError(.killed(signal: signal), message)
        }
    }

    /// Sends SIGKILL, because it cannot be masked. A child inherits the signal mask of the thread that starts it, and
    /// the threads of tasks mask most signals. Git only reads here, so it leaves no partial work.
    private static func end(_ process: Process) {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    private static func findProgram(searchPath: String?) -> String? {
        (searchPath ?? "/usr/bin:/bin").split(separator: ":").map { "\($0)/git" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
