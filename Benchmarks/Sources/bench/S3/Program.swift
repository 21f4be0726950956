import Foundation

/// Programs beside this one.
enum Program {
    /// Where a program of the servers' environment is, which `Scripts/bench` makes.
    static func find(_ name: String) throws -> String {
        // S3, bench, Sources, Benchmarks
        let root = (0..<5).reduce(URL(filePath: #filePath)) { folder, _ in folder.deletingLastPathComponent() }
        let file = root.appending(path: ".build/servers-venv/bin/\(name)").path
        guard FileManager.default.isExecutableFile(atPath: file) else {
            throw BenchError("'\(name)' is not installed; Scripts/bench installs it")
        }
        return file
    }

    /// Starts a program whose output goes to a file, and gives what waits for its end.
    ///
    /// - Returns: what gives the status that the program has ended with.
    static func start(_ process: Process, log: URL) throws -> Task<Int32, Never> {
        guard FileManager.default.createFile(atPath: log.path, contents: nil) else {
            throw BenchError("cannot write \(log.path)")
        }
        let output = try FileHandle(forWritingTo: log)
        (process.standardOutput, process.standardError) = (output, output)
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        try process.run()
        return Task { await ends.first { _ in true } ?? -1 }
    }
}
