import Foundation
import TestRepositories
import Testing

/// Random edits on both sides, and processes that are killed at any moment. `STRATA_SEED` repeats a run as far as the
/// kernel permits.
@Suite(.serialized) struct MirrorInterruptionTests {
    @Test("Two mirrors of one remote end with the same files after random edits on both sides")
    func randomEditsOnBothSides() throws {
        var random = SeededGenerator.forThisRun()
        let seed = "STRATA_SEED=\(random.seed)"
        let fixture = try MirrorFixture()
        var editors = [Editor("a"), Editor("b")]
        for _ in 0..<30 { try editors[0].edit(fixture, &random) }
        let programs = try [fixture.start("a"), fixture.start("b")]
        for _ in 0..<120 {
            let side = Int.random(in: 0..<2, using: &random)
            try editors[side].edit(fixture, &random)
            // Some edits happen during a scan, a pull or a download, and some in between.
            usleep(.random(in: 0...20_000, using: &random))
        }
        for program in programs { try #require(program.end(by: SIGTERM) == 0, "\(seed) \(program.said.suffix(1000))") }
        try fixture.settle()
        try fixture.expectSame(seed)
        let names = try fixture.tree("a").keys
        #expect(!names.contains { $0.contains("/.mirror-") || $0.hasPrefix(".mirror-") }, "\(seed)")
    }

    @Test("A mirror that is killed repeatedly ends with identical files and without false conflicts")
    func repeatedKills() throws {
        var random = SeededGenerator.forThisRun()
        let seed = "STRATA_SEED=\(random.seed)"
        let fixture = try MirrorFixture()
        var editor = Editor("a")
        for _ in 0..<40 { try editor.edit(fixture, &random, longest: 100_000) }
        for round in 0..<12 {
            let (writer, reader) = (try fixture.start("a", "--limit", "4M"), try fixture.start("b"))
            for _ in 0..<3 { try editor.edit(fixture, &random, longest: 100_000) }
            usleep(.random(in: 20_000...400_000, using: &random))
            if round % 3 > 0 { writer.end(by: SIGKILL) }
            if round % 3 < 2 { reader.end(by: SIGKILL) }
            writer.end(by: SIGTERM)
            reader.end(by: SIGTERM)
        }
        try fixture.settle()
        try fixture.expectSame(seed)
        let (tree, written) = (try fixture.tree("a"), editor.files)
        #expect(tree.compactMapValues { $0 } == written, "\(seed)")
    }
}

/// A person who works in a folder.
private struct Editor {
    private let side: String
    private var count = 0
    /// The files in the folder, provided that no one else has worked there.
    private(set) var files: [String: Data] = [:]

    init(_ side: String) { self.side = side }

    private static let folders = ["", "f/", "g/", "f/deep/"]

    mutating func edit(_ fixture: MirrorFixture, _ random: inout SeededGenerator, longest: Int = 3000) throws {
        count += 1
        let manager = FileManager.default
        let known = files.keys.sorted().filter { manager.fileExists(atPath: fixture.url("\(side)/\($0)").path) }
        let name = "\(Self.folders.randomElement(using: &random) ?? "")\(Int.random(in: 0..<12, using: &random))"
        switch Int.random(in: 0..<10, using: &random) {
        case 0...4:
            let size = Int.random(in: 0...longest, using: &random)
            let data = Data("\(side) \(count) ".utf8) + Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* count) })
            try write(fixture, name, data)
        case 5, 6:
            guard let old = known.randomElement(using: &random) else { return }
            try write(fixture, old, Data("\(side) \(count) again".utf8))
        case 7:
            guard let old = known.randomElement(using: &random) else { return }
            guard (try? manager.removeItem(at: fixture.url("\(side)/\(old)"))) != nil else { return }
            files[old] = nil
        default:
            guard let old = known.randomElement(using: &random),
                !manager.fileExists(atPath: fixture.url("\(side)/\(name)").path)
            else { return }
            let target = fixture.url("\(side)/\(name)")
            try manager.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            // The mirror may have moved the file at this very moment.
            guard (try? manager.moveItem(at: fixture.url("\(side)/\(old)"), to: target)) != nil else { return }
            files[name] = files.removeValue(forKey: old)
        }
    }

    private mutating func write(_ fixture: MirrorFixture, _ name: String, _ data: Data) throws {
        try fixture.write("\(side)/\(name)", data)
        files[name] = data
    }
}
