import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(3))) struct ReadingTests {
    @Test("A written object can be read", arguments: RemoteCase.all)
    func writtenObject(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["a.txt"])
        #expect(try await remote.head(key) == nil)
        let put = try await remote.put("Hello", at: key)
        #expect(put.key == key && put.size == 5 && put.eTag != nil && !put.isFolder)
        let head = try #require(try await remote.head(key))
        #expect(head.eTag == put.eTag && head.size == 5 && !head.isFolder && head.key == key)
        let written = try #require(head.modifiedAt)
        #expect(abs(written.timeIntervalSinceNow) < 60)
        #expect(try await remote.text(key) == "Hello")
        let download = try await remote.get(key, range: nil, if: .none)
        #expect(download.object.eTag == put.eTag && download.object.size == 5 && download.range == 0..<5)
    }

    @Test("A missing object is not found", arguments: RemoteCase.all)
    func missingObject(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["nothing"])
        #expect(try await remote.head(key) == nil)
        #expect(try await remote.head(key.appending("below")) == nil)
        await expect(.notFound) { try await remote.get(key, range: nil, if: .none) }
        await expect(.notFound) { try await remote.get(key, range: 0..<0, if: .none) }
        #expect(try await !remote.delete(key, isFolder: false, if: .none))
        #expect(try await !remote.delete(key, isFolder: false, if: .matches(ETag("gone"))))
        #expect(try await !remote.delete(key, isFolder: true, if: .none))
    }

    @Test("An empty object exists", arguments: RemoteCase.all)
    func emptyObject(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["empty"])
        #expect(try await remote.put("", at: key).size == 0)
        #expect(try await remote.head(key)?.size == 0)
        #expect(try await remote.text(key) == "")
        #expect(try await remote.text(key, range: 0..<10) == "")
        await expect(.rangeNotSatisfiable) { try await remote.get(key, range: 1..<2, if: .none) }
        #expect(try await remote.all(.root).map(\.key) == [key])
    }

    @Test("Ranges end at the end of the object", arguments: RemoteCase.all)
    func rangesAtTheEnd(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["digits"])
        let put = try await remote.put("0123456789", at: key)
        #expect(try await remote.text(key, range: 0..<1) == "0")
        #expect(try await remote.text(key, range: 3..<6) == "345")
        #expect(try await remote.text(key, range: 9..<10) == "9")
        #expect(try await remote.text(key, range: 8..<100) == "89")
        #expect(try await remote.text(key, range: 0..<Int64.max) == "0123456789")
        #expect(try await remote.text(key, range: 4..<4) == "")
        #expect(try await remote.text(key, range: 10..<20) == "")
        let download = try await remote.get(key, range: 8..<100, if: .none)
        #expect(download.range == 8..<10 && download.object.size == 10 && download.object.eTag == put.eTag)
        for range in [11..<12 as Range<Int64>, 100..<200, 11..<11] {
            await expect(.rangeNotSatisfiable, "\(range)") { try await remote.get(key, range: range, if: .none) }
        }
    }

    @Test("Another version than the requested one is not read", arguments: RemoteCase.all)
    func otherVersion(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let key = RemoteKey(["versions"])
        let first = try #require(try await remote.put("first", at: key).eTag)
        #expect(try await remote.text(key, if: .matches(first)) == "first")
        let second = try #require(try await remote.put("other", at: key).eTag)
        #expect(first != second)
        await expect(.conditionFailed) { try await remote.get(key, range: nil, if: .matches(first)) }
        await expect(.conditionFailed) { try await remote.get(key, range: 1..<2, if: .matches(first)) }
        await expect(.conditionFailed) { try await remote.get(key, range: 0..<0, if: .matches(first)) }
        #expect(try await remote.text(key, range: 1..<3, if: .matches(second)) == "th")
    }

    @Test("Megabytes are transferred in bounded chunks", arguments: RemoteCase.all)
    func megabytes(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["large"])
        let content = bytes(9 << 20, seed: 7)
        let file = try Scratch.folder("body").appending(path: "content")
        try content.write(to: file)
        #expect(try await remote.put(RemoteBody(file: file), at: key, if: .none).size == 9 << 20)
        let download = try await remote.get(key, range: nil, if: .none)
        var data = Data()
        var largest = 0
        for try await chunk in download.chunks {
            largest = max(largest, chunk.count)
            data.append(chunk)
        }
        #expect(data == content)
        #expect(largest <= 1 << 20)
        let range: Range<Int64> = 1_234_567..<5_234_567
        #expect(try await remote.data(key, range: range) == content[1_234_567..<5_234_567])
    }

    @Test("An abandoned download leaves the remote usable", arguments: RemoteCase.all)
    func abandonedDownload(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let key = RemoteKey(["large"])
        _ = try await remote.put(RemoteBody(bytes(4 << 20)), at: key, if: .none)
        // There are more unfinished downloads than connections.
        for _ in 0..<20 {
            let download = try await remote.get(key, range: nil, if: .none)
            for try await chunk in download.chunks where !chunk.isEmpty { break }
        }
        #expect(try await remote.head(key)?.size == 4 << 20)
    }
}
