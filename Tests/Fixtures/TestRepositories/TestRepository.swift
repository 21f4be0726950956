import Foundation
import HistoryKit

/// A repository in a temporary folder, which is deleted when this object is released.
package final class TestRepository {
    package let folder: URL

    package init(format: String = "sha1") throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try git("init", "--quiet", "--object-format=\(format)", "--initial-branch=main")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    package var git: Git { Git(folder: folder.path) }

    /// Runs git with fixed settings, so that the user's settings do not matter.
    @discardableResult
    package func git(_ arguments: String..., variables: [String: String] = [:]) throws -> String {
        try run(["git", "-C", folder.path] + arguments, variables: variables)
    }

    /// Runs a line of shell in the repository. It permits names that Foundation does not accept.
    package func shell(_ line: String) throws { try run(["sh", "-c", "cd \"$0\" && \(line)", folder.path]) }

    /// Commits all files in the folder.
    @discardableResult
    package func commit(
        _ message: String,
        name: String = "Ada",
        email: String = "ada@example.org",
        date: Int = 1_700_000_000
    ) throws -> String {
        try git("add", "--all")
        let stamp = "@\(date) +0000"
        try git(
            "commit",
            "--quiet",
            "--allow-empty",
            "--allow-empty-message",
            "-m",
            message,
            variables: [
                "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": stamp,
                "GIT_COMMITTER_DATE": stamp,
            ]
        )
        return try git("rev-parse", "HEAD")
    }

    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }

    @discardableResult
    private func run(_ command: [String], variables: [String: String] = [:]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let fixed = [
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.org", "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging(fixed) { $1 }.merging(variables) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(command: command) }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    struct Failure: Error { let command: [String] }
}
