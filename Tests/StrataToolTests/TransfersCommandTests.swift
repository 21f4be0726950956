import CloudScenarios
import Foundation
import StoreModels
import Strata
import StrataCloud
import Testing

@Suite("strata transfers", .timeLimit(.minutes(2))) struct TransfersCommandTests {
    /// Provides a large file, of which only the first part can be read after its hash.
    private struct BrokenHandler: CloudHandler {
        static let partSize: Int64 = 200_000

        struct BrokenPart: Error {}

        func content(for request: ContentRequest) async throws -> RemoteBody? {
            RemoteBody(size: 3 * Self.partSize) { range in
                if range.lowerBound > 0 { throw BrokenPart() }
                return try await RemoteBody(Data(repeating: 1, count: range.count)).chunks()
            }
        }
    }

    @Test("Waiting uploads and marked downloads are shown")
    func waiting() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("transfers", url.path, "--json")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.messages.isEmpty)
        let objects = try run.objects()
        let fields: Set<String> = [
            "account", "direction", "state", "node", "path", "sections", "operation", "attempts", "startedAt",
            "progress", "bytesDone", "bytesTotal",
        ]
        for object in objects { #expect(Set(object.keys) == fields) }
        #expect(objects.map { $0["direction"] as? String } == ["upload", "download"])
        #expect(objects.map { $0["path"] as? String } == ["/letters/grace.txt", "/letters/ada.txt"])
        #expect(objects.map { $0["state"] as? String } == ["pending", "marked"])
        #expect(objects.map { $0["bytesTotal"] as? Int } == [2000, 11])
        #expect(objects.map { $0["sections"] as? [String] } == [["data"], ["data"]])
        #expect(objects.allSatisfy { $0["bytesDone"] is NSNull })
        #expect(try folder.image() == before)
        let other = await ToolRun("transfers", url.path, "--account", "bob")
        #expect(other.status == 1)
        #expect(other.messages.hasPrefix("strata: noSuchAccount: "), "\(other.messages)")
    }

    @Test("The number of transfers is limited, and a note says so")
    func limit() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let stack = try await Letters.open(url)
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            _ = try cloud.createNode(at: "/letters/linus.txt")
            try context.commit()
        }
        try await stack.close()
        let one = await ToolRun("transfers", url.path, "--limit", "1", "--json")
        #expect(one.lines.count == 2)
        #expect(one.messages.contains("first 1 uploads"))
        let all = await ToolRun("transfers", url.path, "--limit", "2", "--json")
        #expect(all.lines.count == 3)
        #expect(all.messages.isEmpty)
    }

    @Test("The parts of an upload that have arrived are counted, while its program has the store open")
    func parts() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("letters.sqlite")
        let stack = try await Letters.open(url)
        let size = BrokenHandler.partSize
        let account = try await Letters.account(
            stack,
            in: folder,
            handler: BrokenHandler(),
            options: CloudOptions(partSize: size, maxConcurrentParts: 1)
        )
        try await stack.background { context in
            _ = try context.cloud(account).createNode(at: "/film", size: 3 * size)
            try context.commit()
        }
        // The upload in parts begins without an arrived part.
        var done = 0
        while done == 0 {
            let run = await ToolRun("transfers", url.path, "--json")
            try #require(run.status == 0, "\(run.messages)")
            done = try run.objects().first?["bytesDone"] as? Int ?? 0
        }
        #expect(done == Int(size))
        await account.close()
        try await stack.close()
        let run = await ToolRun("transfers", url.path, "--json")
        let film = try #require(try run.objects().first)
        #expect(film["bytesDone"] as? Int == Int(size))
        #expect(film["bytesTotal"] as? Int == 3 * Int(size))
        #expect(film["path"] as? String == "/film")
    }
}
