import Foundation

/// External programs that check results independently.
enum Command {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program to its end, and returns its output.
    static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws
        -> String
    {
        let folder = try Scratch.folder("command")
        let (output, errors) = (folder.appending(path: "output"), folder.appending(path: "errors"))
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: try Program.find(program))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, own in own }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        process.standardInput = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        guard status == 0 else {
            throw Failure(description: "\(program) \(arguments): \(try String(contentsOf: errors, encoding: .utf8))")
        }
        return try String(contentsOf: output, encoding: .utf8)
    }
}

/// The AWS client.
enum AWS {
    static func run(_ port: Int, _ arguments: [String]) async throws -> String {
        try await Command.run(
            "aws",
            ["--endpoint-url", "http://127.0.0.1:\(port)", "--output", "json"] + arguments,
            environment: [
                "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            ]
        )
    }
}
