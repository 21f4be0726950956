import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(3))) struct RemotePartsTests {
    @Test("Parts become one object", arguments: RemoteCase.all)
    func oneObject(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["in parts +ä"])
        guard let size = try await remote.capabilities().minimumPartSize else {
            await expect(.unsupported) { try await remote.beginUpload(key, mark: nil, mediaType: nil) }
            return
        }
        let part = Int(max(size, 1 << 16))
        let content = bytes(part * 2 + 1000, seed: 3)
        let upload = try await remote.beginUpload(key, mark: "the mark", mediaType: "text/plain")
        let body = RemoteBody(content)
        let third = try await remote.uploadPart(body.part(Int64(2 * part)..<body.size), number: 3, of: upload, at: key)
        let first = try await remote.uploadPart(body.part(0..<Int64(part)), number: 1, of: upload, at: key)
        // A client may send a part again. The last upload of the part counts.
        _ = try await remote.uploadPart(RemoteBody(bytes(part, seed: 9)), number: 2, of: upload, at: key)
        let second = try await remote.uploadPart(
            body.part(Int64(part)..<Int64(2 * part)),
            number: 2,
            of: upload,
            at: key
        )
        #expect(try await remote.head(key) == nil)
        #expect(try await remote.all(.root).isEmpty)
        let object = try await remote.completeUpload(upload, parts: [first, second, third], at: key, if: .isAbsent)
        #expect(object.size == body.size)
        let head = try #require(try await remote.head(key))
        #expect(head.eTag == object.eTag && head.size == body.size)
        let mark = try await remote.capabilities().keepsMarks ? "the mark" : nil
        #expect(head.mark == mark)
        #expect(try await remote.data(key) == content)
        await expect(.uploadGone) {
            try await remote.uploadPart(body.part(0..<10), number: 1, of: upload, at: key)
        }
        // A completed upload no longer exists, so aborting it changes nothing.
        try await remote.abortUpload(upload, at: key)
        #expect(try await remote.head(key)?.eTag == object.eTag)
    }

    @Test("An upload whose condition fails still exists", arguments: RemoteCase.all)
    func failedCondition(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        guard try await remote.capabilities().minimumPartSize != nil else { return }
        let key = RemoteKey(["a"])
        let old = try #require(try await remote.put("old", at: key).eTag)
        let upload = try await remote.beginUpload(key, mark: nil, mediaType: nil)
        let part = try await remote.uploadPart(RemoteBody(Data("new".utf8)), number: 1, of: upload, at: key)
        await expect(.conditionFailed) {
            try await remote.completeUpload(upload, parts: [part], at: key, if: .isAbsent)
        }
        let other = RemoteCondition.matches(ETag("00000000000000000000000000000000"))
        await expect(.conditionFailed) { try await remote.completeUpload(upload, parts: [part], at: key, if: other) }
        #expect(try await remote.text(key) == "old")
        _ = try await remote.completeUpload(upload, parts: [part], at: key, if: .matches(old))
        #expect(try await remote.text(key) == "new")
    }

    @Test("An aborted upload is gone", arguments: RemoteCase.all)
    func abortedUpload(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        guard try await remote.capabilities().minimumPartSize != nil else { return }
        let key = RemoteKey(["a"])
        let upload = try await remote.beginUpload(key, mark: nil, mediaType: nil)
        let part = try await remote.uploadPart(RemoteBody(Data("new".utf8)), number: 1, of: upload, at: key)
        try await remote.abortUpload(upload, at: key)
        try await remote.abortUpload(upload, at: key)
        await expect(.uploadGone) {
            try await remote.completeUpload(upload, parts: [part], at: key, if: .none)
        }
        await expect(.uploadGone) {
            try await remote.uploadPart(RemoteBody(Data()), number: 1, of: upload, at: key)
        }
        #expect(try await remote.head(key) == nil)
    }
}
