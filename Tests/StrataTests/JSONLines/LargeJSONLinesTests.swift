import Foundation
import Synchronization
import Testing

@testable import Strata

@Suite("Export and import of many lines", .timeLimit(.minutes(5)))
struct LargeJSONLinesTests {
    @Test("Exporting and importing 100,000 lines takes bounded memory")
    func large() async throws {
        let folder = try ScratchFolder()
        let (one, two) = (
            try await ContextStack.open(
                .sqlite(folder.file("one.sqlite")),
                models: JSONLinesFixture.models,
                stack: .rootOnly
            ),
            try await ContextStack.open(
                .sqlite(folder.file("two.sqlite")),
                models: JSONLinesFixture.models,
                stack: .rootOnly
            )
        )
        try await one.background { context in
            let padding = String(repeating: "x", count: 1500)
            try context.batchInsert((0..<100_000).lazy.map { Song(name: "\($0)", plays: $0, model: padding).snapshot })
        }
        let file = folder.file("lines.jsonl")
        try await two.importJSONLines([#"{"$model":"Label","name":"warm"}"#])
        let start = Memory.residentBytes
        let most = Peak()
        try await one.exportJSONLines(of: [Song.self], to: file) { _ in most.note(Memory.residentBytes - start) }
        let count = try await one.readRecordedJSONLines(of: ["Song"]) { _ in most.note(Memory.residentBytes - start) }
        #expect(count == 100_000)
        #expect(most.value < 30_000_000 * Memory.room, "\(most.value)")
        let changes = try await two.importJSONLines(from: file) { _ in most.note(Memory.residentBytes - start) }
        #expect(changes.of(Song.self).inserted.count == 100_000)
        // The store's cache of pages takes 64 MB. The file is larger than the whole limit.
        #expect(most.value < 100_000_000 * Memory.room, "\(most.value)")
        let sums = try await two.background { try $0.sum(Song.all, \.plays) }
        #expect(sums == (0..<100_000).reduce(0, +))
        try await one.close()
        try await two.close()
    }

    private final class Peak: Sendable {
        private let most = Mutex(0)
        var value: Int { most.withLock { $0 } }
        func note(_ bytes: Int) { most.withLock { $0 = Swift.max($0, bytes) } }
    }

    @Test("Random data is the same after an export and an import", arguments: 0..<6)
    func random(run: Int) async throws {
        let seed = SeededGenerator.seed &+ UInt64(run)
        var generator = SeededGenerator(seed: seed)
        let (one, two) = (try await JSONLinesFixture.open(), try await JSONLinesFixture.open())
        let steps = (0..<120).map { _ in (0..<4).map { _ in Int.random(in: 0..<1000, using: &generator) } }
        try await one.background { context in
            for (index, step) in steps.enumerated() {
                let songs = try context.fetch(Song.sorted { $0.name.ascending })
                let lists = try context.fetch(Playlist.sorted { $0.name.ascending })
                let labels = try context.fetch(Label.sorted { $0.name.ascending })
                switch step[0] % 10 {
                case 0, 1:
                    context.insert(Song(name: "s\(index)", plays: step[1], model: step[2] % 2 == 0 ? nil : "é\n\"\\"))
                case 2: context.insert(Playlist(name: "p\(index)"))
                case 3: context.insert(Label(name: "l\(index)"))
                case 4 where !songs.isEmpty && !lists.isEmpty:
                    lists[step[1] % lists.count].songs.insert(songs[step[2] % songs.count])
                case 5 where !songs.isEmpty && !lists.isEmpty:
                    songs[step[1] % songs.count].playlist = step[3] % 4 == 0 ? nil : lists[step[2] % lists.count]
                case 6 where !labels.isEmpty && !lists.isEmpty:
                    lists[step[1] % lists.count].labels.insert(labels[step[2] % labels.count])
                case 7 where !songs.isEmpty:
                    songs[step[1] % songs.count].follows.insert(songs[step[2] % songs.count])
                case 8 where !lists.isEmpty:
                    let members = try lists[step[1] % lists.count].songs.fetch()
                    if members.count > 1 {
                        try lists[step[1] % lists.count].songs.move(
                            members[step[2] % members.count],
                            before: members[0]
                        )
                    }
                case 9 where !songs.isEmpty && step[3] % 3 == 0: context.delete(songs[step[1] % songs.count])
                default: break
                }
                if step[3] % 5 == 0 { try context.commit() }
            }
            try context.commit()
        }
        var lines = try await JSONLinesFixture.lines(one)
        lines.shuffle(using: &generator)
        try await two.importJSONLines(lines)
        let (before, after) = (try JSONLinesFixture.content(lines), try await JSONLinesFixture.content(two))
        #expect(before == after, "seed \(seed)")
        for stack in [one, two] { try await stack.close() }
    }
}
