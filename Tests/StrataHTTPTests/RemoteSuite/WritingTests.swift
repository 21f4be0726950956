import Foundation
import StrataCloud
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct WritingTests {
    @Test("Every write of other content gives another version", arguments: RemoteCase.all)
    func newVersions(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let key = RemoteKey(["counter"])
        var versions: [ETag] = []
        for number in 100..<120 {
            versions.append(try #require(try await remote.put("\(number)", at: key).eTag))
        }
        #expect(Set(versions).count == versions.count)
        #expect(try await remote.head(key)?.eTag == versions.last)
    }

    @Test("Marks are stored if the remote states so", arguments: RemoteCase.all)
    func marks(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["marked"])
        var body = RemoteBody(Data("content".utf8))
        body.mark = "42/ä +%&=?"
        body.mediaType = "text/plain"
        _ = try await remote.put(body, at: key, if: .none)
        let expected = try await remote.capabilities().keepsMarks ? body.mark : nil
        #expect(try await remote.head(key)?.mark == expected)
        #expect(try await remote.get(key, range: nil, if: .none).object.mark == expected)
        try await remote.put("content", at: key)
        #expect(try await remote.head(key)?.mark == nil)
    }

    @Test("Missing folders are reported", arguments: RemoteCase.all)
    func missingFolders(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        guard try await remote.capabilities().hasFolders else { return }
        let key = RemoteKey(["folder", "file"])
        await expect(.parentMissing) { try await remote.put("a", at: key) }
        await expect(.parentMissing) { try await remote.put("a", at: key, if: .isAbsent) }
        await expect(.parentMissing) { try await remote.createFolder(key) }
        #expect(try await remote.createFolder(RemoteKey(["folder"])))
        try await remote.put("a", at: key)
        await expect(.parentMissing) { try await remote.put("a", at: key.appending("below")) }
        await expect(.notFound) { try await remote.list(RemoteKey(["nothing"]), isRecursive: false, after: nil) }
        await expect(.notFound) { try await remote.list(key, isRecursive: false, after: nil) }
    }

    @Test("A file and a folder do not replace each other", arguments: RemoteCase.all)
    func fileAndFolder(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let (file, folder) = (RemoteKey(["file"]), RemoteKey(["folder"]))
        try await remote.put("a", at: file)
        #expect(try await remote.createFolder(folder))
        guard try await !remote.capabilities().sharesKeysWithFolders else { return }
        await expect(.occupied) { try await remote.createFolder(file) }
        await expect(.occupied) { try await remote.put("a", at: folder) }
        await expect(.occupied) { try await remote.put("a", at: folder, if: .isAbsent) }
        await expect(.occupied) { try await remote.delete(folder, isFolder: false, if: .none) }
        await expect(.occupied) { try await remote.delete(file, isFolder: true, if: .none) }
        await expect(.notFound) { try await remote.get(folder, range: nil, if: .none) }
        #expect(try await remote.head(folder)?.isFolder == true)
        #expect(try await remote.head(file.appending("below")) == nil)
        #expect(try await remote.head(file.appending("far").appending("below")) == nil)
        #expect(try await remote.text(file) == "a")
    }

    @Test("A folder is created once, and deleted when it is empty", arguments: RemoteCase.all)
    func folders(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let folder = RemoteKey(["folder"])
        let file = folder.appending("file")
        #expect(try await remote.createFolder(folder))
        #expect(try await !remote.createFolder(folder))
        #expect(try await !remote.createFolder(.root))
        #expect(try await remote.all(.root).map(\.isFolder) == [true])
        try await remote.put("a", at: file)
        await expect(.notEmpty) { try await remote.delete(folder, isFolder: true, if: .none) }
        #expect(try await remote.delete(file, isFolder: false, if: .none))
        #expect(try await !remote.delete(file, isFolder: false, if: .none))
        #expect(try await remote.delete(folder, isFolder: true, if: .none))
        #expect(try await !remote.delete(folder, isFolder: true, if: .none))
        #expect(try await remote.all(.root).isEmpty)
    }

    @Test("A body of another size than announced is refused", arguments: RemoteCase.all)
    func wrongLength(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        // Small and large bodies use different code paths.
        for (announced, given) in [(10, 5), (5, 10), (3 << 20, 2 << 20), (2 << 20, 3 << 20)] {
            let body = RemoteBody(size: Int64(announced)) { _ in
                AsyncThrowingStream { continuation in
                    continuation.yield(bytes(given))
                    continuation.finish()
                }
            }
            let key = RemoteKey(["\(announced)"])
            await expect(.unreadableBody, "\(announced)") { try await remote.put(body, at: key, if: .none) }
            #expect(try await remote.head(key) == nil, "\(announced)")
        }
        struct Broken: Error {}
        let broken = RemoteBody(size: 3 << 20) { _ in
            AsyncThrowingStream { continuation in
                continuation.yield(bytes(1 << 20))
                continuation.finish(throwing: RemoteError(.unreadableBody, "It is gone."))
            }
        }
        await expect(.unreadableBody) { try await remote.put(broken, at: RemoteKey(["b"]), if: .none) }
        #expect(try await remote.head(RemoteKey(["b"])) == nil)
    }

    @Test("A cancelled upload ends and leaves nothing", arguments: RemoteCase.all)
    func cancelledUpload(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        _ = try await remote.capabilities()
        let key = RemoteKey(["never"])
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let body = RemoteBody(size: 64 << 20) { _ in
            let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
            continuation.yield(bytes(1 << 20))
            beginning.finish()
            // The rest of the body never arrives.
            Endless.keep(continuation)
            return stream
        }
        let task = Task { try await remote.put(body, at: key, if: .none) }
        for await _ in begun {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await remote.head(key) == nil)
        #expect(try await remote.all(.root).isEmpty)
    }
}

/// Keeps streams open.
enum Endless {
    private static let kept = Mutex<[AsyncThrowingStream<Data, any Error>.Continuation]>([])
    static func keep(_ continuation: AsyncThrowingStream<Data, any Error>.Continuation) {
        kept.withLock { $0.append(continuation) }
    }
}
