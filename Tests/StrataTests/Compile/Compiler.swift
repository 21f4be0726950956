import Foundation
import Testing

/// Runs the Swift compiler on sources that use the modules of this very build.
struct Compiler {
    struct Diagnostic: Sendable {
        let file: String
        let line: Int
        let isError: Bool
        let message: String
    }

    struct Outcome: Sendable {
        var succeeded: Bool
        var text: String
        /// The diagnostics that point into one of the sources.
        var diagnostics: [Diagnostic]
    }

    /// The folder of the test binary, which also contains the modules.
    let build: URL

    init() {
        build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    }

    private func existing(_ paths: [String]) throws -> String {
        let found = paths.first { FileManager.default.fileExists(atPath: $0) }
        return try #require(found, "none of \(paths) is there: the layout of the build folder has changed")
    }

    private func flags() throws -> [String] {
        let modules = try existing([build.path + "/Modules/Strata.swiftmodule"])
        let sqlite = try existing([build.path + "/CStrataSQLite.build/module.modulemap"])
        // The checkouts are in the folder that all builds of one kind share.
        let shared = build.deletingLastPathComponent().deletingLastPathComponent()
        let grdb = try existing([shared.path + "/checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap"])
        let macros = try existing([build.path + "/StrataMacros-tool", build.path + "/StrataMacros"])
        return [
            "-I", String(modules.dropLast("/Strata.swiftmodule".count)),
            "-Xcc", "-fmodule-map-file=\(sqlite)", "-Xcc", "-fmodule-map-file=\(grdb)",
            "-load-plugin-executable", "\(macros)#StrataMacros",
            "-module-cache-path", build.path + "/ModuleCache",
        ]
    }

    /// Compiles sources together as one module, through the checks of data isolation, which follow the type checks.
    func compile(_ sources: [URL], _ extra: [String]) async throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["swiftc", "-frontend", "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-parse-as-library"]
            + ["-module-name", "Case", "-diagnostic-style", "llvm"] + (try flags()) + extra + sources.map(\.path)
        // The output goes to a file, because a full pipe would block the compiler.
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("strata-compile-\(UUID().uuidString)")
        try Data().write(to: log)
        defer { try? FileManager.default.removeItem(at: log) }
        let handle = try FileHandle(forWritingTo: log)
        process.standardOutput = handle
        process.standardError = handle
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: try Data(contentsOf: log), as: UTF8.self)
        return Outcome(succeeded: status == 0, text: text, diagnostics: Self.diagnostics(in: text))
    }

    private static func diagnostics(in text: String) -> [Diagnostic] {
        let pattern = /(?m)^(?:.*\/)?([^\/\n]+\.swift):(\d+):\d+: (error|warning): (.*)$/
        return text.matches(of: pattern).map { match in
            Diagnostic(
                file: String(match.1),
                line: Int(match.2) ?? 0,
                isError: match.3 == "error",
                message: String(match.4)
            )
        }
    }
}
