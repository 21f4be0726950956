import Foundation
import Metrics
import MetricsTestKit
import TestHomeTraits
import Testing

@testable import Strata

@Model final class Fare {
    var amount: Decimal = 0
    var weight: Float = 0
    var since: Date?
}

@Suite("Lines with long or unusual values", .timeLimit(.minutes(2)))
struct JSONLinesValueTests {
    @Test("A chunk ends when it gets large")
    func chunks() async throws {
        let models: [any Model.Type] = [Photo.self, Song.self]
        let stack = try await JSONLinesFixture.open(models + [Playlist.self, Label.self, Jacket.self, Album.self])
        try await stack.background { context in
            for name in 0..<5 {
                context.insert(Photo(name: "\(name)", image: Data(repeating: 7, count: 600_000), thumbnail: nil))
                context.insert(Song(name: "\(name)", model: String(repeating: "x", count: 600_000)))
            }
            try context.commit()
        }
        let lines = ChunkedSource<Data>.lines(of: models, stack.core.engine) { $0 }
        let rows = try stack.rows(Song.all).source
        var counts: [[Int]] = [[], []]
        while let count = Optional(try await lines.next().count), count > 0 { counts[0].append(count) }
        while let count = Optional(try await rows.next().count), count > 0 { counts[1].append(count) }
        // A chunk ends at one million bytes. 600,000 bytes become 800,000 as Base64.
        #expect(counts == [[2, 2, 2, 2, 2], [2, 2, 1]])
        try await stack.close()
    }

    @Test("A line of any length is read only once", .timeLimit(.minutes(1)))
    func longLine() throws {
        let folder = try ScratchFolder()
        let url = folder.file("long.jsonl")
        try Data("first\n".utf8).write(to: url)
        // These zeros take no space on the disk. Copying the bytes read so far for each new piece would take minutes.
        #expect(truncate(url.path, 256 << 20) == 0)
        var reader = try LineReader(url)
        #expect(try reader.next() == Data("first".utf8))
        #expect(try reader.next()?.count == 256 << 20 - 6)
        #expect(try reader.next() == nil)
    }

    @Test("References in lines are looked up by index, however large the store is")
    func plan() async throws {
        let stack = try await JSONLinesFixture.open()
        let store = stack.core.engine
        let info = try #require(store.schema.infosByName["Song"])
        let column = try #require(info.outgoing.first).column
        var plans: [[String]] = []
        try store.write { connection in
            try connection.execute(LinesSQL.create)
            try connection.execute(LinesSQL.indexExisting)
            for sql in [LinesSQL.findExisting(info), LinesSQL.relate(info, column), LinesSQL.find] {
                var plan: [String] = []
                try connection.statement("EXPLAIN QUERY PLAN \(sql)").run([]) { plan.append($0.string(at: 3)) }
                plans.append(plan)
            }
            try connection.execute(LinesSQL.drop)
            return []
        }
        #expect(plans[0].contains { $0.contains("INTEGER PRIMARY KEY (rowid=?)") }, "\(plans)")
        #expect(!plans[0].contains { $0.contains("SCAN") || $0.contains("rowid<?") }, "\(plans)")
        // For each row, the object is looked up by its id.
        #expect(plans[1].contains { $0.contains("strata_import_existing (id=?") }, "\(plans)")
        #expect(plans[2].contains { $0.contains("PRIMARY KEY (entity=? AND key=?)") }, "\(plans)")
        try await stack.close()
    }

    @Test(
        "An import into a copy accepts ids that the original assigned before the copy",
        .aboutTheFile("copies the file")
    )
    func lineage() async throws {
        let folder = try ScratchFolder()
        let (url, copy) = (folder.file("one.sqlite"), folder.file("two.sqlite"))
        let original = try await ContextStack.open(.sqlite(url), models: JSONLinesFixture.models, stack: .rootOnly)
        let id = try await original.background { context in
            let list = context.insert(Playlist(name: "list"))
            try context.commit()
            return list.id
        }
        try await original.close()
        try FileManager.default.copyItem(at: url, to: copy)
        let stack = try await ContextStack.open(.sqlite(copy), models: JSONLinesFixture.models, stack: .rootOnly)
        try await stack.importJSONLines([#"{"$model":"Song","name":"s","playlist":"\#(id)"}"#])
        let name = try await stack.background { try $0.first(Song.all)?.playlist?.name }
        #expect(name == "list")
        try await stack.close()
    }

    @Test("Each text of an asynchronous sequence is one line, whatever line breaks it contains")
    func breaks() async throws {
        let stack = try await JSONLinesFixture.open()
        let texts = ["{\"$model\":\"Label\",\n\"name\":\"a\"}", "", "\n", "{\"$model\":\"Label\",\"name\":\"b\"}\r\n"]
        try await stack.importJSONLines(texts)
        try await stack.importJSONLines(Self.sequence(texts))
        let names = try await stack.background { try $0.fetch(Label.all).map(\.name) }
        #expect(names == ["a", "b", "a", "b"])
        let wrong = Self.sequence([texts[0], "{\"$model\":\"Label\",\"name\":\"a\nb\"}"])
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines(wrong) }
        #expect(error?.code == .invalidImport && error?.message.contains("line 2") == true, "\(error?.message ?? "")")
        try await stack.close()
    }

    private static func sequence(_ texts: [String]) -> AsyncStream<String> {
        AsyncStream { stream in
            for text in texts { stream.yield(text) }
            stream.finish()
        }
    }

    @Test("Texts wait in a file that no other user can open, and nothing of the file is left")
    func temporaryFile() async throws {
        let stack = try await JSONLinesFixture.open()
        let folder = try ScratchFolder()
        let empty = try TemporaryLineFile(in: folder.url)
        #expect(try folder.image().isEmpty)
        var info = stat()
        #expect(fstat(empty.file.fileDescriptor, &info) == 0 && info.st_mode & 0o777 == 0o600)
        // More texts than are written at a time.
        let texts = (0..<3000).map { "\($0)\n" + String(repeating: "é", count: $0 % 100) }
        let temporaryFile = try await TemporaryLineFile.filled(with: Self.sequence(texts), stack.core.engine)
        var (reader, read) = (try temporaryFile.reader(), [String]())
        while let text = try reader.next() { read.append(String(decoding: text, as: UTF8.self)) }
        #expect(read == texts)
        await expect(.cannotOpen) { _ = try TemporaryLineFile(in: folder.file("none")) }
        try await stack.close()
    }

    @Test(
        "A value that the property's type cannot hold is refused",
        arguments: [
            #""amount":"12abc""#, #""amount":"1.2.3""#, #""amount":"""#, #""amount":"1e""#, #""amount":"1e1.5""#,
            #""weight":1e300"#, #""weight":-1e39"#, #""since":"soon""#,
        ]
    )
    func numbers(property: String) async throws {
        let stack = try await JSONLinesFixture.open([Fare.self])
        await expect(.invalidImport) { try await stack.importJSONLines([#"{"$model":"Fare",\#(property)}"#]) }
        #expect(try await JSONLinesFixture.lines(stack) == [])
        try await stack.close()
    }

    @Test("The largest numbers and the infinities of a type survive an export and an import")
    func infinities() async throws {
        let (one, two) = (try await JSONLinesFixture.open([Fare.self]), try await JSONLinesFixture.open([Fare.self]))
        try await one.background { context in
            for sign in [1.0, -1] {
                let since = Date(timeIntervalSinceReferenceDate: sign * .infinity)
                context.insert(Fare(amount: Decimal(sign) * .greatestFiniteMagnitude, weight: .infinity, since: since))
                context.insert(Fare(weight: Float(sign) * .greatestFiniteMagnitude))
            }
            try context.commit()
        }
        try await two.importJSONLines(one.jsonLines())
        let (before, after) = (try await Self.fares(one), try await Self.fares(two))
        #expect(before == after && before.count == 4)
        try await two.importJSONLines([#"{"$model":"Fare","amount":"-12.5E+2"}"#])
        #expect(try await Self.fares(two).last?.first == "-1250")
        for stack in [one, two] { try await stack.close() }
    }

    private static func fares(_ stack: ContextStack) async throws -> [[String]] {
        try await stack.background { context in
            try context.fetch(Fare.all).map {
                [$0.amount.description, "\($0.weight)", "\($0.since?.timeIntervalSinceReferenceDate ?? 0)"]
            }
        }
    }

    @Test("An export of bytes that are missing from the store throws instead of writing null")
    func lostBytes() async throws {
        let stack = try await JSONLinesFixture.open()
        try await JSONLinesFixture.fill(stack)
        try stack.core.engine.write { connection in
            try connection.execute("DELETE FROM \"strata_data\"")
            return []
        }
        await expect(.damagedStore) { _ = try await JSONLinesFixture.lines(stack) }
        try await stack.close()
    }

    @Test("The error of a failed export says why the file cannot be replaced")
    func unwritable() async throws {
        let stack = try await JSONLinesFixture.open()
        let folder = try ScratchFolder()
        let place = folder.file("lines.jsonl")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let error = await #expect(throws: StrataError.self) { try await stack.exportJSONLines(to: place) }
        #expect(error?.code == .cannotOpen && (error?.underlying as? POSIXError)?.code == .EISDIR)
        #expect(try folder.image().keys.sorted() == ["lines.jsonl"])
        try await stack.close()
    }

    @Test("A cancelled import is not counted as a database failure")
    func cancelled() async throws {
        let metrics = TestMetrics()
        let stack = try await ContextStack.open(
            .inMemory,
            models: JSONLinesFixture.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(metrics: metrics)
        )
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await stack.importJSONLines([#"{"$model":"Label","name":"a"}"#])
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(metrics.counterTotal(label: "strata.batch.failures", dimensions: [("code", "CancellationError")]) == 1)
        #expect(metrics.counterTotal(label: "strata.batch.failures", dimensions: [("code", "database")]) == 0)
        try await stack.close()
    }

    @Test("The sweep of temporary files spares files whose names only resemble Strata's")
    func sweep() throws {
        let folder = try ScratchFolder()
        // No process has this id, which is beyond the range of Linux and macOS.
        let process = 12_345_678
        let names = ["strata-\(process)-9ABC-4DEF-8123-456789ABCDEF.jsonl", "strata-\(process)", "strata-\(process)-x"]
        let left = "strata-\(process)-\(UUID())"
        for name in names + [left] { try Data().write(to: folder.file(name)) }
        TemporaryFolder.sweep(folder.url)
        #expect(Set(try folder.image().keys) == Set(names))
    }
}
