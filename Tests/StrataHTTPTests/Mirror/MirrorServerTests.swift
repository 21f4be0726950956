import Foundation
import Testing

/// The example `mirror` with real servers: two folders share a bucket, and then a WebDAV collection.
@Suite struct MirrorServerTests {
    /// Runs the built program to its end.
    ///
    /// - Returns: its exit status, and the end of its error output.
    private static func mirror(_ arguments: [String]) async throws -> (status: Int32, said: String) {
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "mirror")
        let process = Process()
        let log = try Scratch.folder("mirror").appending(path: "log")
        try Data().write(to: log)
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"]
        ) { _, own in own }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: log)
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return (status, String(try String(contentsOf: log, encoding: .utf8).suffix(2000)))
    }

    /// Mirrors two folders with a conflict between them, and compares the results.
    private func meet(_ remote: [String]) async throws {
        let root = try Scratch.folder("mirrored")
        func side(_ name: String) async throws {
            let store = root.appending(path: "stores/\(name).sqlite").path
            let own = ["--once", "--store", store, "--host", name, "--scan", "0.05", "--pull", "0.1"]
            let end = try await Self.mirror([root.appending(path: name).path] + remote + own)
            try #require(end.status == 0, "\(end.said)")
        }
        func write(_ path: String, _ text: String) throws {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        try write("a/notes/50% ä.txt", "base")
        try write("a/notes/large", String(repeating: "0123456789", count: 30_000))
        try FileManager.default.createDirectory(at: root.appending(path: "b"), withIntermediateDirectories: true)
        for name in ["a", "b"] { try await side(name) }
        try write("a/notes/50% ä.txt", "what a wrote")
        try write("b/notes/50% ä.txt", "what b wrote, and more")
        try write("b/new", "new")
        try FileManager.default.removeItem(at: root.appending(path: "b/notes/large"))
        for name in ["a", "b", "a", "b"] { try await side(name) }
        let trees = try ["a", "b"].map { name in
            let folder = root.appending(path: name)
            return try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().map { path in
                "\(path): \((try? String(contentsOf: folder.appending(path: path), encoding: .utf8)) ?? "")"
            }
        }
        #expect(trees[0] == trees[1])
        #expect(trees[0].count == 4 && trees[0].contains("notes/50% ä.txt: what a wrote"), "\(trees[0])")
        #expect(
            trees[0].contains {
                $0.hasPrefix("notes/50% ä (conflict from b ") && $0.hasSuffix("what b wrote, and more")
            }
        )
    }

    @Test("Two folders are mirrored through a bucket")
    func bucket() async throws {
        let server = try await Servers.shared.ministack()
        try await Buckets.shared.make(on: server.port)
        try await meet([
            "s3://\(Buckets.name)/\(UUID().uuidString)", "--endpoint", "\(Loopback.url(server.port))", "--region",
            "us-east-1",
        ])
    }

    @Test("Two folders are mirrored through a WebDAV collection", arguments: RemoteCase.webDAV)
    func collection(kind: RemoteCase) async throws {
        let server = try await kind.server()
        try await meet(["webdav://127.0.0.1:\(server.port)/\(try RemoteCase.makeCollection(server))"])
    }

    @Test("A custom certificate authority is trusted if it is named")
    func certificateAuthority() async throws {
        let (authority, context) = try await TransportSecurityTests.certificates()
        let server = try await ScriptedServer(tls: context) { _ in ScriptedServer.Step.answer(401) }
        let root = try Scratch.folder("trusted")
        let folder = root.appending(path: "folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func mirror(_ options: String...) async throws -> (status: Int32, said: String) {
            let store = root.appending(path: "store\(options.count).sqlite").path
            let place = [folder.path, "webdavs://127.0.0.1:\(server.port)/files"]
            return try await Self.mirror(place + ["--once", "--store", store] + options)
        }
        let stranger = try await mirror()
        #expect(stranger.status != 0 && stranger.said.contains("is not trusted"), "\(stranger.said)")
        #expect(server.requests.isEmpty)
        let trusting = try await mirror("--ca", authority.path)
        #expect(trusting.status != 0 && trusting.said.contains("MIRROR_PASSWORD"), "\(trusting.said)")
        #expect(!server.requests.isEmpty)
    }
}
