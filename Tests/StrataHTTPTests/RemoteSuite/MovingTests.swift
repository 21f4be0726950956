import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(3))) struct MovingTests {
    @Test("A copy replaces no object and leaves its source", arguments: RemoteCase.all)
    func copyKeepsSource(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let (source, target) = (RemoteKey(["the source +%ä"]), RemoteKey(["the target +%ä"]))
        await expect(.notFound) { try await remote.copy(source, to: target, version: nil) }
        let put = try await remote.put("content", at: source)
        let copy = try await remote.copy(source, to: target, version: put.eTag)
        #expect(copy.key == target && copy.size == 7)
        #expect(try await remote.head(target)?.eTag == copy.eTag)
        #expect(try await remote.text(target) == "content")
        #expect(try await remote.text(source) == "content")
        await expect(.conditionFailed) { try await remote.copy(source, to: target, version: nil) }
        try await remote.put("changed", at: source)
        let other = RemoteKey(["other"])
        await expect(.conditionFailed) { try await remote.copy(source, to: other, version: put.eTag) }
        #expect(try await remote.head(other) == nil)
        guard try await remote.capabilities().hasFolders else { return }
        await expect(.parentMissing) { try await remote.copy(source, to: RemoteKey(["no", "where"]), version: nil) }
    }

    @Test("A copy has the mark of its source", arguments: RemoteCase.s3)
    func copiedMark(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        var body = RemoteBody(Data("content".utf8))
        body.mark = "a mark"
        _ = try await remote.put(body, at: RemoteKey(["a"]), if: .none)
        #expect(try await remote.copy(RemoteKey(["a"]), to: RemoteKey(["b"]), version: nil).mark == "a mark")
        #expect(try await remote.head(RemoteKey(["b"]))?.mark == "a mark")
    }

    @Test("A move replaces no object and leaves none", arguments: RemoteCase.all)
    func moveLeavesNothing(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let (source, target) = (RemoteKey(["the source"]), RemoteKey(["the target"]))
        guard try await remote.capabilities().moves else {
            await expect(.unsupported) { try await remote.move(source, to: target, isFolder: false) }
            return
        }
        await expect(.notFound) { try await remote.move(source, to: target, isFolder: false) }
        let put = try await remote.put("content", at: source)
        try await remote.move(source, to: target, isFolder: false)
        #expect(try await remote.text(target) == "content")
        #expect(try await remote.head(source) == nil)
        #expect(try await remote.head(target)?.eTag == put.eTag)
        try await remote.put("another", at: source)
        await expect(.conditionFailed) { try await remote.move(source, to: target, isFolder: false) }
        #expect(try await remote.text(source) == "another")
        #expect(try await remote.text(target) == "content")
        await expect(.parentMissing) { try await remote.move(source, to: RemoteKey(["no", "where"]), isFolder: false) }
        await expect(.notFound) { try await remote.move(source, to: RemoteKey(["x"]), isFolder: true) }
    }

    @Test("A folder is moved with its content", arguments: RemoteCase.all)
    func folderWithContent(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        guard try await remote.capabilities().moves else { return }
        let (source, target) = (RemoteKey(["source ä"]), RemoteKey(["target ü"]))
        try await remote.createFolder(source)
        try await remote.createFolder(source.appending("inner"))
        try await remote.put("deep", at: source.appending("inner").appending("file"))
        await expect(.occupied) { try await remote.move(source, to: source.appending("x"), isFolder: true) }
        try await remote.move(source, to: target, isFolder: true)
        #expect(try await remote.text(target.appending("inner").appending("file")) == "deep")
        #expect(try await remote.head(source) == nil)
        try await remote.createFolder(source)
        await expect(.conditionFailed) { try await remote.move(source, to: target, isFolder: true) }
        #expect(try await remote.all(.root).map(\.key) == [source, target])
    }
}
