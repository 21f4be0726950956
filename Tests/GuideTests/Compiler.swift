import Foundation

/// The output of a command, and its exit status.
struct Outcome: Sendable {
    let status: Int32
    let output: String
    let errors: String
}

/// Compiles small programs against the modules and objects that the running tests were built from.
actor Compiler {
    static let shared = Compiler()

    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-guides-\(UUID().uuidString)")
    private var library: Task<URL, any Error>?
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init() {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let folder = folder.path
        Cleaning.folder.withLock { $0 = folder }
        atexit { Cleaning.folder.withLock { try? FileManager.default.removeItem(atPath: $0) } }
    }

    /// Compiles a program, and returns the compiler's messages.
    ///
    /// Without a path for the program the compiler stops at the intermediate language, where it finds the last
    /// isolation errors.
    func compile(_ source: String, name: String, to program: URL?) async throws -> Outcome {
        let file = folder.appending(path: "\(name).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        var arguments = [
            "-swift-version", "6", "-parse-as-library", "-Onone", "-module-name", name,
            "-load-plugin-executable", Build.folder.appending(path: "StrataMacros-tool").path + "#StrataMacros",
            file.path,
        ]
        for folder in Build.modules { arguments += ["-I", folder.path] }
        if let program {
            let library = try await self.builtLibrary()
            arguments += Build.sanitizer
            arguments += [
                "-o", program.path, "-L", library.deletingLastPathComponent().path, "-lStrataForGuides",
                "-Xlinker", "-rpath", "-Xlinker", library.deletingLastPathComponent().path,
            ]
        } else {
            arguments += ["-wmo", "-emit-sil", "-o", "/dev/null"]
        }
        return try await run("swiftc", arguments)
    }

    /// Type-checks a package manifest.
    func check(manifest: String, name: String) async throws -> Outcome {
        let file = folder.appending(path: "\(name).swift")
        try manifest.write(to: file, atomically: true, encoding: .utf8)
        let swiftc = try await run("sh", ["-c", "readlink -f $(command -v swiftc)"]).output
        let api = URL(filePath: swiftc).deletingLastPathComponent().appending(path: "../lib/swift/pm/ManifestAPI")
        return try await run(
            "swiftc",
            ["-swift-version", "6", "-package-description-version", "6.3.0", "-I", api.path, "-typecheck", file.path]
        )
    }

    /// One library of all objects, which is linked once and not for each program.
    private func builtLibrary() async throws -> URL {
        if library == nil { library = Task { try await linkLibrary() } }
        return try await library!.value
    }

    private func linkLibrary() async throws -> URL {
        #if os(macOS)
            let library = folder.appending(path: "libStrataForGuides.dylib")
        #else
            let library = folder.appending(path: "libStrataForGuides.so")
        #endif
        let objects = try Build.objects(of: [
            "Strata", "StrataPipeline", "StrataTesting", "CStrataSQLite", "GRDB", "Logging", "InMemoryLogging",
            "CoreMetrics", "Metrics", "MetricsTestKit", "ServiceLifecycle", "UnixSignals", "ConcurrencyHelpers",
            "AsyncAlgorithms", "OrderedCollections", "DequeModule", "InternalCollectionsUtilities", "ContainersPreview",
            "StrataCloud", "StrataReachability", "StrataRemotes", "CStrataFiles", "CStrataNetlink",
            "Crypto", "CryptoBoringWrapper", "CCryptoBoringSSL", "CCryptoBoringSSLShims",
            "CXKCP", "CXKCPShims",
            "StrataPostgres", "FileHome",
            "StrataHTTP", "AsyncHTTPClient", "CAsyncHTTPClient", "Algorithms", "Atomics", "_AtomicsShims",
            "Configuration",
            "RealModule", "_NumericsShims", "SystemPackage", "CSystem", "Instrumentation", "Tracing",
            "InMemoryTracing", "ServiceContextModule", "ServiceContextModuleCompatibility",
            "NIO", "NIOCore", "NIOPosix", "NIOSSL", "NIOTLS", "NIOHTTP1", "NIOHTTP2", "NIOHPACK", "NIOSOCKS",
            "NIOEmbedded",
            "NIOConcurrencyHelpers", "NIOFoundationCompat", "NIOFoundationEssentialsCompat", "NIOHTTPCompression",
            "_NIOBase64", "_NIODataStructures", "CNIOAtomics", "CNIOBoringSSL", "CNIOBoringSSLShims", "CNIODarwin",
            "CNIOExtrasZlib", "CNIOFreeBSD", "CNIOLLHTTP", "CNIOLinux", "CNIOOpenBSD", "CNIOPosix", "CNIOWASI",
            "CNIOWindows",
            "Hummingbird", "HummingbirdCore", "HummingbirdTesting", "HTTPTypes", "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
            "NIOExtras", "_NIOFileSystem", "NIOFileSystem",
        ])
        let list = folder.appending(path: "objects.txt")
        try objects.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let outcome = try await run(
            "swiftc",
            Build.sanitizer + ["-emit-library", "-o", library.path, "@\(list.path)", "-lpq", "-lsqlite3", "-lz"]
                + Build.cxx
        )
        guard outcome.status == 0 else { throw CompilerError(message: outcome.errors) }
        return library
    }

    /// Runs a command without blocking a thread. At most as many commands run at a time as there are processors.
    func run(_ command: String, _ arguments: [String]) async throws -> Outcome {
        if running >= ProcessInfo.processInfo.activeProcessorCount {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            running += 1
        }
        defer { if waiting.isEmpty { running -= 1 } else { waiting.removeFirst().resume() } }
        let output = folder.appending(path: UUID().uuidString)
        let errors = folder.appending(path: UUID().uuidString)
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [command] + arguments
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        process.standardInput = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return Outcome(
            status: status,
            output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8)
        )
    }
}

struct CompilerError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
