import Foundation
import Testing

/// The built program `mirror` in a separate process.
final class MirrorProgram: Sendable {
    private let process = Process()
    private let errors: URL

    init(_ arguments: [String], errors: URL) throws {
        self.errors = errors
        process.executableURL = Self.folder.appending(path: "mirror")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        if !FileManager.default.fileExists(atPath: errors.path) { try Data().write(to: errors) }
        let output = try FileHandle(forWritingTo: errors)
        try output.seekToEnd()
        process.standardError = output
        try process.run()
        try output.close()
    }

    deinit {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The folder of the tests, where the build puts all products.
    private static var folder: URL {
        #if os(Linux)
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        #else
            Bundle(for: MirrorProgram.self).bundleURL.deletingLastPathComponent()
        #endif
    }

    /// The error output of this process, and of earlier ones with the same log.
    var said: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    /// Sends a signal, and waits for the end.
    ///
    /// - Returns: the exit status. If a signal has ended the process, the result is the negative signal.
    @discardableResult
    func end(by signal: Int32) -> Int32 {
        if process.isRunning { Foundation.kill(process.processIdentifier, signal) }
        return end()
    }

    /// Waits for the end.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}
