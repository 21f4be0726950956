import Foundation

/// A git that runs, and what it writes.
///
/// It is ended when the task that reads it is cancelled, or when nobody holds it any longer.
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
        // The folder decides which repository is meant, not a hook that this happens to run in.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE"] { environment[name] = nil }
        environment["LC_ALL"] = "C"
        environment["GIT_OPTIONAL_LOCKS"] = "0"

        let standardOutput = Pipe()
        let standardError = Pipe()
        // Told instead of waited for: a task must not block the thread that it runs on.
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
        // Read beside the output: a git that waits to be heard out would never end.
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

    /// By a signal that cannot be masked: a child starts with the mask of the thread that made it, and those of
    /// tasks hold back most signals. Git only reads here, so it leaves nothing half done.
    private static func end(_ process: Process) {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    private static func findProgram(searchPath: String?) -> String? {
        (searchPath ?? "/usr/bin:/bin").split(separator: ":").map { "\($0)/git" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
