import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(2))) struct FolderRemoteTests {
    private let root: URL
    private let remote: FolderRemote

    init() throws {
        root = try Scratch.folder("folder")
        remote = try FolderRemote(root)
    }

    private func path(_ name: String) -> String { root.appending(path: name).path }

    @Test("Versions of quick writes of the same size differ, in all processes")
    func quickWrites() async throws {
        let key = RemoteKey(["a"])
        let fast = try FolderRemote(root, isDurable: false)
        var versions: Set<ETag> = []
        for number in 1000..<1500 {
            let tag = try #require(try await fast.put("\(number)", at: key).eTag)
            #expect(versions.insert(tag).inserted, "\(number)")
            #expect(try await remote.head(key)?.eTag == tag)
        }
    }

    @Test("A write in place by another program gives another version")
    func writeInPlace() async throws {
        let key = RemoteKey(["a"])
        let tag = try #require(try await remote.put("old", at: key).eTag)
        let handle = try FileHandle(forWritingTo: root.appending(path: "a"))
        try handle.write(contentsOf: Data("new".utf8))
        try handle.close()
        #expect(try await remote.head(key)?.eTag != tag)
        await expect(.conditionFailed) { try await remote.put("mine", at: key, if: .matches(tag)) }
        #expect(try await remote.text(key) == "new")
    }

    @Test("A version survives a move, a change of permissions and a restart")
    func stableVersion() async throws {
        let tag = try await remote.put("a", at: RemoteKey(["a"])).eTag
        try await remote.move(RemoteKey(["a"]), to: RemoteKey(["b"]), isFolder: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path("b"))
        #expect(try await FolderRemote(root).head(RemoteKey(["b"]))?.eTag == tag)
    }

    @Test("Symbolic links are not listed, followed or replaced")
    func symbolicLinks() async throws {
        let outside = try Scratch.folder("outside")
        try Data("secret".utf8).write(to: outside.appending(path: "file"))
        let manager = FileManager.default
        try manager.createSymbolicLink(atPath: path("link"), withDestinationPath: outside.path)
        try manager.createSymbolicLink(atPath: path("file"), withDestinationPath: outside.appending(path: "file").path)
        try manager.createSymbolicLink(atPath: path("broken"), withDestinationPath: "nowhere")
        #expect(try await remote.all(.root, isRecursive: true).isEmpty)
        for name in ["link", "file", "broken"] {
            let key = RemoteKey([name])
            #expect(try await remote.head(key) == nil)
            await expect(.notFound) { try await remote.get(key, range: nil, if: .none) }
            await expect(.occupied) { try await remote.put("x", at: key) }
            await expect(.occupied) { try await remote.put("x", at: key, if: .isAbsent) }
            await expect(.occupied) { try await remote.createFolder(key) }
            await expect(.notFound) { try await remote.list(key, isRecursive: false, after: nil) }
            #expect(try await !remote.delete(key, isFolder: false, if: .none))
        }
        let below = RemoteKey(["link", "file"])
        #expect(try await remote.head(below) == nil)
        await expect(.notFound) { try await remote.get(below, range: nil, if: .none) }
        await expect(.parentMissing) { try await remote.put("x", at: below) }
        await expect(.parentMissing) { try await remote.createFolder(RemoteKey(["link", "new"])) }
        #expect(try await !remote.delete(below, isFolder: false, if: .none))
        try await remote.put("a", at: RemoteKey(["a"]))
        await expect(.conditionFailed) {
            try await remote.move(RemoteKey(["a"]), to: RemoteKey(["file"]), isFolder: false)
        }
        await expect(.parentMissing) { try await remote.move(RemoteKey(["a"]), to: below, isFolder: false) }
        #expect(try String(contentsOf: outside.appending(path: "file"), encoding: .utf8) == "secret")
        #expect(try manager.contentsOfDirectory(atPath: outside.path) == ["file"])
    }

    @Test("Pipes are not listed, and do not block")
    func pipes() async throws {
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        let key = RemoteKey(["pipe"])
        #expect(try await remote.all(.root).isEmpty)
        await expect(.notFound) { try await remote.get(key, range: nil, if: .none) }
        await expect(.occupied) { try await remote.put("x", at: key) }
    }

    @Test("The hidden folder is not accessible by any key")
    func hiddenFolder() async throws {
        let work = try #require(RemoteKey(found: [".%strata"]))
        await expect(.invalidKey) { try await remote.put("x", at: work) }
        await expect(.invalidKey) { try await remote.put("x", at: work.appending("x")) }
        await expect(.invalidKey) { try await remote.get(work.appending("lock"), range: nil, if: .none) }
        await expect(.invalidKey) { try await remote.list(work, isRecursive: false, after: nil) }
        await expect(.invalidKey) { try await remote.delete(work.appending("lock"), isFolder: false, if: .none) }
    }

    @Test("Half-written files are swept, and files that are being written are not")
    func sweep() async throws {
        let new = root.appending(path: ".%strata/new")
        try Data("left".utf8).write(to: new.appending(path: "left"))
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let (going, going2) = AsyncThrowingStream.makeStream(of: Data.self)
        // A small body would be read before its file is created.
        let content = bytes(300_000)
        let body = RemoteBody(size: Int64(content.count)) { _ in
            beginning.finish()
            return going
        }
        let task = Task { try await remote.put(body, at: RemoteKey(["slow"]), if: .none) }
        going2.yield(content.prefix(270_000))
        for await _ in begun {}
        _ = try FolderRemote(root)
        #expect(try FileManager.default.contentsOfDirectory(atPath: new.path).count == 1)
        going2.yield(content.dropFirst(270_000))
        going2.finish()
        _ = try await task.value
        #expect(try await remote.data(RemoteKey(["slow"])) == content)
        #expect(try FileManager.default.contentsOfDirectory(atPath: new.path).isEmpty)
    }

    @Test("Uploads continue after a restart")
    func resumedUploads() async throws {
        let key = RemoteKey(["a"])
        let upload = try await remote.beginUpload(key, mark: nil, mediaType: nil)
        let first = try await remote.uploadPart(RemoteBody(Data("one".utf8)), number: 1, of: upload, at: key)
        let other = try FolderRemote(root)
        let second = try await other.uploadPart(RemoteBody(Data("two".utf8)), number: 2, of: upload, at: key)
        #expect(try await other.completeUpload(upload, parts: [first, second], at: key, if: .isAbsent).size == 6)
        #expect(try await remote.text(key) == "onetwo")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path(".%strata/uploads")).isEmpty)
    }

    @Test("An upload's id gives no access to other files", arguments: ["", "..", "../..", "/etc", "not an id"])
    func uploadID(id: String) async throws {
        let key = RemoteKey(["a"])
        await expect(.uploadGone) { try await remote.uploadPart(RemoteBody(Data()), number: 1, of: id, at: key) }
        await expect(.uploadGone) { try await remote.completeUpload(id, parts: [], at: key, if: .none) }
        try await remote.abortUpload(id, at: key)
        #expect(FileManager.default.fileExists(atPath: path(".%strata/uploads")))
    }

    @Test("A missing folder is unreachable, and is not created again")
    func missingFolder() async throws {
        try FileManager.default.removeItem(at: root)
        await expect(.unreachable) { try await remote.put("x", at: RemoteKey(["a"])) }
        await expect(.unreachable) { try await remote.head(RemoteKey(["a"])) }
        await expect(.unreachable) { try await remote.list(.root, isRecursive: false, after: nil) }
        #expect(!FileManager.default.fileExists(atPath: root.path))
        try Data().write(to: root)
        await expect(.misconfigured) { try FolderRemote(root) }
    }

    @Test("A file that changes during a read is damaged, and a file that is replaced is not")
    func changedDuringRead() async throws {
        let key = RemoteKey(["a"])
        let content = bytes(1 << 20)
        _ = try await remote.put(RemoteBody(content), at: key, if: .none)
        let replaced = try await remote.get(key, range: nil, if: .none)
        _ = try await remote.put(RemoteBody(bytes(1 << 20, seed: 2)), at: key, if: .none)
        var data = Data()
        for try await chunk in replaced.chunks { data.append(chunk) }
        #expect(data == content)
        let changed = try await remote.get(key, range: nil, if: .none)
        let handle = try FileHandle(forWritingTo: root.appending(path: "a"))
        try handle.write(contentsOf: Data("x".utf8))
        try handle.close()
        await expect(.damagedContent) { for try await _ in changed.chunks {} }
    }

    @Test("Two remotes on one folder do not lose each other's updates")
    func twoRemotes() async throws {
        let other = try FolderRemote(root, isDurable: false)
        let key = RemoteKey(["counter"])
        try await remote.put("0", at: key)
        let (mine, rounds) = (remote, 50)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for remote in [mine, other, mine, other] {
                group.addTask {
                    var done = 0
                    while done < rounds {
                        let download = try await remote.get(key, range: nil, if: .none)
                        var data = Data()
                        for try await chunk in download.chunks { data += chunk }
                        let number = try #require(Int(String(decoding: data, as: UTF8.self)))
                        let tag = try #require(download.object.eTag)
                        if await failure({ try await remote.put("\(number + 1)", at: key, if: .matches(tag)) }) == nil {
                            done += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await remote.text(key) == "\(4 * rounds)")
    }
}
