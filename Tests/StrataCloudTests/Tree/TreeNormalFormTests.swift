import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// Swift considers `é` as one scalar equal to a letter with a combining accent. File systems and servers do not.
@Suite(.timeLimit(.minutes(1))) struct TreeNormalFormTests {
    static let composed = "caf\u{e9}"
    static let decomposed = "cafe\u{301}"
    static let both = [composed, decomposed]

    private static func folder() throws -> (place: URL, remote: FolderRemote) {
        let place = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        return (place, try FolderRemote(place, isDurable: false))
    }

    @Test("Siblings of both forms are two objects of a remote")
    func siblings() async throws {
        let (place, remote) = try Self.folder()
        defer { try? FileManager.default.removeItem(at: place) }
        let keys = Self.both.map { RemoteKey(["home", $0]) }
        try await remote.createFolder(RemoteKey(["home"]))
        for key in keys { _ = try await remote.put(RemoteBody(Data(key.path.utf8)), at: key, if: .isAbsent) }
        let listed = try await remote.everything(in: RemoteKey(["home"]))
        #expect(Set(listed.map(\.key)) == Set(keys) && listed.count == 2)
        for key in keys {
            let data = try await remote.get(key, range: nil, if: .none).data()
            #expect(data == Data(key.path.utf8))
        }
        try await remote.move(keys[0], to: RemoteKey(["home", "other"]), isFolder: false)
        #expect(try await remote.head(keys[0]) == nil)
        #expect(try await remote.head(keys[1])?.key == keys[1])
        #expect(try await remote.delete(keys[0], isFolder: false, if: .none) == false)
        try await remote.move(keys[1], to: keys[0], isFolder: false)
        #expect(
            try await Set(remote.everything(in: RemoteKey(["home"])).map(\.key)) == [
                keys[0], RemoteKey(["home", "other"]),
            ]
        )
    }

    @Test("A file renamed to the other form is renamed at the remote, and other machines receive the rename")
    func renamedForm() async throws {
        let (place, remote) = try Self.folder()
        defer { try? FileManager.default.removeItem(at: place) }
        func open(_ id: String) async throws -> (stack: ContextStack, account: CloudAccount) {
            let stack = try await ContextStack.open(
                .inMemory,
                models: [Note.self] + CloudAccount.models,
                stack: .rootOnly
            )
            return (stack, try await CloudAccount.open(stack, id: id, remote: remote, handler: TestHandler()))
        }
        let (one, other) = (try await open("alice"), try await open("bob"))
        try await one.account.commit { cloud in
            _ = try cloud.createNode(at: TreePath([Self.composed]))
        }
        try await one.account.waitUntilIdle()
        try await other.account.pull()
        for name in [Self.decomposed, Self.composed, Self.decomposed] {
            try await one.account.commit { cloud in
                try cloud.rename(cloud.node(at: TreePath([Self.composed])), to: name)
            }
            try await one.account.waitUntilIdle()
            let names = try FileManager.default.contentsOfDirectory(atPath: place.appending(path: "home").path)
            #expect(names.map { UTF8Text($0) } == [UTF8Text(name)])
            try await other.account.pull()
            let here = try await other.account.read { try $0.root().children.fetch().map { UTF8Text($0.name) } }
            #expect(here == [UTF8Text(name)])
        }
        for (stack, account) in [one, other] {
            await account.close()
            try await stack.close()
        }
    }

    @Test("Tags of both forms are two tags")
    func tagsOfBothForms() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            for name in Self.both { try cloud.setTag(name, of: "file", to: Data(name.utf8)) }
            for subject in Self.both { try cloud.setTag("name", of: subject, to: Data(subject.utf8)) }
        }
        let (tags, subjects) = try await harness.read { cloud in
            (try cloud.tags(of: "file"), try Self.both.map { try cloud.tag("name", of: $0) })
        }
        #expect(tags == Dictionary(uniqueKeysWithValues: Self.both.map { (UTF8Text($0), Data($0.utf8)) }))
        #expect(subjects == Self.both.map { Data($0.utf8) })
        await harness.account.close()
    }

    @Test("Accounts of both forms have two trees")
    func accounts() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let harnesses = [
            try await CloudHarness(stack: stack, id: Self.composed),
            try await CloudHarness(stack: stack, id: Self.decomposed),
        ]
        for (harness, name) in zip(harnesses, ["a", "b"]) { try await harness.fill([TreePath([name])]) }
        for (harness, name) in zip(harnesses, ["a", "b"]) {
            #expect(try await harness.read { try $0.root().children.fetch().map(\.name) } == [name])
        }
        for harness in harnesses { await harness.account.close() }
        try await stack.close()
    }

    @Test("A merge notices that a text was changed to the other form")
    func mergedTexts() throws {
        let (old, new) = (Self.composed, Self.decomposed)
        #expect(UTF8Text(ThreeWayMerge.value(original: old, local: old, remote: new)) == UTF8Text(new))
        #expect(UTF8Text(ThreeWayMerge.value(original: old, local: new, remote: old)) == UTF8Text(new))
        let optional: String? = ThreeWayMerge.value(original: old, local: Optional(new), remote: old)
        #expect(optional.map { UTF8Text($0) } == UTF8Text(new))
        let array = ThreeWayMerge.array(original: [old, "a"], local: [new, "a"], remote: [old, "a", "b"])
        #expect(array.map { UTF8Text($0) } == [UTF8Text(new), "a", "b"])
        struct Record: Codable { var text: String, other: Int }
        let merged = try ThreeWayMerge.record(
            original: Record(text: old, other: 1),
            local: Record(text: new, other: 1),
            remote: Record(text: old, other: 2)
        )
        #expect(UTF8Text(merged.text) == UTF8Text(new) && merged.other == 2)
    }

    @Test("Paths, keys, versions and resources of random texts are equal if their bytes are")
    func randomTexts() throws {
        let seed = Dice.seed
        var generator = Dice(seed: seed)
        let texts = OddTexts.draw(60, using: &generator)
        for one in texts {
            for other in texts {
                let isSame = Array(one.utf8) == Array(other.utf8)
                #expect((RemoteKey([one, "x"]) == RemoteKey([other, "x"])) == isSame, "seed \(seed)")
                #expect((TreePath([one, "x"]) == TreePath([other, "x"])) == isSame, "seed \(seed)")
                #expect(TreePath([one, "x"]).isWithin(TreePath([other])) == isSame, "seed \(seed)")
                #expect(RemoteKey([one, "x"]).isWithin(RemoteKey([other])) == isSame, "seed \(seed)")
                #expect((ETag(one) == ETag(other)) == isSame && ETag.isSame(ETag(one), ETag(other).stored) == isSame)
                let keys = [one, other].map { CacheKey(account: $0, node: 1, sections: .data) }
                #expect((keys[0] == keys[1]) == isSame && Set(keys).count == (isSame ? 1 : 2), "seed \(seed)")
                let resources = [one, other].map { CloudResource.named($0, of: "a") }
                #expect((resources[0] == resources[1]) == isSame, "seed \(seed)")
            }
            guard !one.isEmpty else { continue }
            let path = TreePath([one, one], in: .inbox)
            #expect(try TreePath(parsing: path.description) == path, "seed \(seed)")
            let key = RemoteKey([one, one])
            #expect(RemoteKey(path: key.path) == key && key.name?.name.hasSameBytes(as: one) == true, "seed \(seed)")
            let (stem, suffix) = CloudContext.parts(of: one)
            #expect((stem + suffix).hasSameBytes(as: one), "seed \(seed)")
        }
        let bytes = Set(texts.map { Array($0.utf8) })
        #expect(Set(texts.map { TreePath([$0]) }).count == bytes.count, "seed \(seed)")
        #expect(Set(texts.map { RemoteKey([$0]) }).count == bytes.count, "seed \(seed)")
        #expect(Set(texts.map { ETag($0) }).count == bytes.count, "seed \(seed)")
    }
}
