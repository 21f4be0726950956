import Foundation
import StrataCloud
import Testing

/// Small files, which are written and read in one step on another thread, and larger ones, which are streamed.
@Suite(.timeLimit(.minutes(2))) struct FolderTransferTests {
    private let root: URL
    private let remote: FolderRemote
    private let key = RemoteKey(["a"])

    private struct Broken: Error {}

    init() throws {
        root = try Scratch.folder("transfers")
        remote = try FolderRemote(root)
    }

    /// A body that is not in memory, and comes in chunks of some size.
    private func body(_ content: Data, chunk: Int = 100_000) -> RemoteBody {
        RemoteBody(size: Int64(content.count)) { range in
            AsyncThrowingStream { continuation in
                var rest = content[Int(range.lowerBound)..<Int(range.upperBound)]
                while !rest.isEmpty {
                    continuation.yield(rest.prefix(chunk))
                    rest = rest.dropFirst(chunk)
                }
                continuation.finish()
            }
        }
    }

    /// A body whose second half never arrives. The stream finishes when the first half is requested.
    private func endlessBody(_ size: Int) -> (body: RemoteBody, begun: AsyncStream<Void>) {
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let body = RemoteBody(size: Int64(size)) { _ in
            let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
            continuation.yield(bytes(size / 2))
            beginning.finish()
            Endless.keep(continuation)
            return stream
        }
        return (body, begun)
    }

    private func hiddenFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: ".%strata/new").path)
    }

    /// Waits until hidden files are removed. A file that was streamed is closed shortly after the request has thrown.
    private func untilNoHiddenFiles() async throws {
        while try !hiddenFiles().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    }

    private func writeInPlace(_ text: String) throws {
        let handle = try FileHandle(forWritingTo: root.appending(path: "a"))
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    @Test(
        "Content of every size arrives, in chunks of every size",
        arguments: [0, 1, 262_143, 262_144, 262_145, 600_000],
        [1000, 262_144, 300_000]
    )
    func sizes(
        size: Int,
        chunk: Int
    ) async throws {
        let content = bytes(size, seed: 5)
        let object = try await remote.put(body(content, chunk: chunk), at: key, if: .isAbsent)
        #expect(object.size == Int64(size))
        #expect(try await remote.head(key)?.eTag == object.eTag)
        #expect(try await remote.data(key) == content)
        let middle = Int64(size / 3)..<Int64(size)
        #expect(try await remote.data(key, range: middle) == content[size / 3..<size])
        let other = RemoteKey(["parts"])
        let upload = try await remote.beginUpload(other, mark: nil, mediaType: nil)
        let part = try await remote.uploadPart(body(content, chunk: chunk), number: 1, of: upload, at: other)
        _ = try await remote.completeUpload(upload, parts: [part], at: other, if: .isAbsent)
        #expect(try await remote.data(other) == content)
        #expect(try hiddenFiles().isEmpty)
    }

    @Test("A write whose condition fails leaves the old file and nothing else", arguments: [3, 300_000])
    func failedCondition(
        size: Int
    ) async throws {
        let (old, new) = (bytes(size, seed: 1), bytes(size, seed: 2))
        let tag = try #require(try await remote.put(RemoteBody(old), at: key, if: .isAbsent).eTag)
        for condition in [RemoteCondition.isAbsent, .matches(ETag("other"))] {
            await expect(.conditionFailed) { try await remote.put(body(new), at: key, if: condition) }
            await expect(.conditionFailed) { try await remote.put(RemoteBody(new), at: key, if: condition) }
        }
        #expect(try await remote.data(key) == old)
        try await untilNoHiddenFiles()
        _ = try await remote.put(body(new), at: key, if: .matches(tag))
        #expect(try await remote.data(key) == new)
    }

    @Test("A missing folder and a missing root are reported, and nothing is created", arguments: [3, 300_000])
    func missingFolders(
        size: Int
    ) async throws {
        let content = bytes(size)
        let below = RemoteKey(["folder", "file"])
        await expect(.parentMissing) { try await remote.put(body(content), at: below, if: .none) }
        #expect(try await remote.all(.root).isEmpty)
        try await untilNoHiddenFiles()
        try await remote.createFolder(RemoteKey(["folder"]))
        _ = try await remote.put(body(content), at: below, if: .none)
        #expect(try await remote.data(below) == content)
        try FileManager.default.removeItem(at: root)
        await expect(.unreachable) { try await remote.put(body(content), at: below, if: .none) }
        await expect(.unreachable) { try await remote.get(below, range: nil, if: .none) }
        #expect(!FileManager.default.fileExists(atPath: root.path))
    }

    @Test("The hidden folder is created again after another program has removed it", arguments: [3, 300_000])
    func removedHiddenFolder(
        size: Int
    ) async throws {
        let content = bytes(size)
        try FileManager.default.removeItem(at: root.appending(path: ".%strata"))
        _ = try await remote.put(body(content), at: key, if: .isAbsent)
        #expect(try await remote.data(key) == content)
        try FileManager.default.removeItem(at: root.appending(path: ".%strata"))
        #expect(try await remote.delete(key, isFolder: false, if: .none))
    }

    @Test("An error of the body is thrown unchanged, and leaves nothing", arguments: [10, 300_000])
    func brokenBody(
        size: Int
    ) async throws {
        let unopened = RemoteBody(size: Int64(size)) { _ in throw Broken() }
        let half = RemoteBody(size: Int64(size)) { _ in
            AsyncThrowingStream { continuation in
                continuation.yield(bytes(size / 2))
                continuation.finish(throwing: Broken())
            }
        }
        for body in [unopened, half] {
            await #expect(throws: Broken.self) { try await remote.put(body, at: key, if: .none) }
        }
        #expect(try await remote.head(key) == nil)
        try await untilNoHiddenFiles()
    }

    @Test("A body that does not end is refused when it has more bytes than announced", arguments: [10, 300_000])
    func bodyWithoutEnd(
        size: Int
    ) async throws {
        let body = RemoteBody(size: Int64(size)) { _ in AsyncThrowingStream(unfolding: { Data(count: 1000) }) }
        await expect(.unreadableBody) { try await remote.put(body, at: key, if: .none) }
        await expect(.unreadableBody) { try await body.data() }
        #expect(try await remote.head(key) == nil)
        try await untilNoHiddenFiles()
    }

    @Test("A write that is cancelled while its body is read throws and leaves nothing", arguments: [10, 300_000])
    func cancelledDuringBody(
        size: Int
    ) async throws {
        let (body, begun) = endlessBody(size)
        let task = Task { [remote, key] in try await remote.put(body, at: key, if: .none) }
        for await _ in begun {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await remote.head(key) == nil)
        try await untilNoHiddenFiles()
    }

    @Test("A request of a cancelled task throws and changes nothing", arguments: [10, 300_000])
    func cancelledBefore(
        size: Int
    ) async throws {
        let content = bytes(size)
        for sent in [RemoteBody(content), body(content)] {
            let task = Task { [remote, key] in
                // Sleeps until the test cancels the task.
                try? await Task.sleep(for: .seconds(3600))
                return try await remote.put(sent, at: key, if: .none)
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(try await remote.head(key) == nil)
        #expect(try hiddenFiles().isEmpty)
    }

    @Test("A small file that changes or disappears after the request is returned as it was")
    func changedAfterRequest() async throws {
        try await remote.put("old", at: key)
        let changed = try await remote.get(key, range: nil, if: .none)
        try writeInPlace("new")
        let deleted = try await remote.get(key, range: 1..<3, if: .none)
        try await remote.delete(key, isFolder: false, if: .none)
        var texts: [String] = []
        for download in [changed, deleted] {
            var data = Data()
            for try await chunk in download.chunks { data += chunk }
            #expect(data.count == download.range.count)
            texts.append(String(decoding: data, as: UTF8.self))
        }
        #expect(texts == ["old", "ew"])
    }
}
