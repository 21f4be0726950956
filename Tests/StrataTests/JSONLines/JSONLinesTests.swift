import Foundation
import Testing

@testable import Strata

@Suite("Export and import of JSON lines", .timeLimit(.minutes(2)))
struct JSONLinesTests {
    @Test("Relationships of all kinds, external bytes and custom orders survive an export and an import")
    func relationships() async throws {
        let (one, two) = (try await JSONLinesFixture.open(), try await JSONLinesFixture.open())
        try await JSONLinesFixture.fill(one)
        let lines = try await JSONLinesFixture.lines(one)
        #expect(lines.count == 9)
        let changes = try await two.importJSONLines(lines)
        #expect(changes.of(Song.self).inserted.count == 3)
        #expect(try await JSONLinesFixture.content(two) == JSONLinesFixture.content(lines))
        try await two.background { context in
            let list = try #require(try context.first(Playlist.where { $0.name == "list" }))
            #expect(try list.songs.fetch().map(\.name) == ["b", "a", "c"])
            #expect(try list.labels.fetch().map(\.name).sorted() == ["x", "y"])
            #expect(list.jacket?.image == Data([0, 255, 1]))
            let label = try #require(try context.first(Label.where { $0.name == "y" }))
            #expect(try label.playlists.fetch().map(\.name) == ["other", "list"])
        }
        // In reverse order, every reference comes before its line.
        let three = try await JSONLinesFixture.open()
        try await three.importJSONLines(Array(lines.reversed()))
        #expect(try await JSONLinesFixture.content(three) == JSONLinesFixture.content(lines))
        for stack in [one, two, three] { try await stack.close() }
    }

    @Test("A file and a sequence carry the same lines, and the same store gets a second set of objects")
    func files() async throws {
        let folder = try ScratchFolder()
        let (one, two) = (
            try await JSONLinesFixture.open(),
            try await JSONLinesFixture.open([Label.self, Playlist.self, Song.self, Jacket.self])
        )
        try await JSONLinesFixture.fill(one)
        let file = folder.file("lines.jsonl")
        #expect(try await one.exportJSONLines(to: file) == 9)
        #expect(try folder.image().keys.sorted() == ["lines.jsonl"])
        try await two.importJSONLines(from: file)
        #expect(try await JSONLinesFixture.content(two) == JSONLinesFixture.content(one))
        let three = try await JSONLinesFixture.open()
        let set = try await three.importJSONLines(one.jsonLines())
        #expect(set.of(Playlist.self).inserted.count == 2)
        #expect(try await JSONLinesFixture.content(three) == JSONLinesFixture.content(one))
        // The names of songs are unique, so a second import is refused. The names of labels are not unique.
        await expect(.invalidImport) { try await one.importJSONLines(from: file) }
        #expect(try await one.exportJSONLines(of: [Label.self], to: file) == 2)
        await expect(.cannotOpen) { try await one.importJSONLines(from: folder.file("none")) }
        await expect(.cannotOpen) { try await one.exportJSONLines(to: folder.file("none/none")) }
        for stack in [one, two, three] { try await stack.close() }
    }

    @Test("References to objects that are not in the lines lead to the store, and ordered members get a position")
    func existing() async throws {
        let stack = try await JSONLinesFixture.open()
        try await JSONLinesFixture.fill(stack)
        let (list, song) = try await stack.background { context in
            (
                try #require(try context.first(Playlist.where { $0.name == "list" })).id,
                try #require(try context.first(Song.where { $0.name == "a" })).id
            )
        }
        try await stack.importJSONLines([
            #"{"$model":"Song","name":"new","playlist":"\#(list)","follows":["\#(song)","me"]}"#,
            "",
            #"{"$id":"me","$model":"Song","name":"me","model":"x"}"#,
        ])
        try await stack.background { context in
            let new = try #require(try context.first(Song.where { $0.name == "new" }))
            #expect(new.playlist?.name == "list" && new.plays == 7)
            #expect(try new.follows.fetch().map(\.name).sorted() == ["a", "me"])
            #expect(try context.find(list)?.songs.fetch().map(\.name) == ["b", "a", "c", "new"])
        }
        let gone = try stack.newID(for: Playlist.self)
        let error = await #expect(throws: StrataError.self) {
            try await stack.importJSONLines([#"{"$model":"Song","name":"n","playlist":"\#(gone)"}"#])
        }
        #expect(error?.code == .invalidImport && error?.message.contains("line 1, Song.playlist refers to") == true)
        try await stack.close()
    }

    @Test("Members of a many-to-many relationship may be listed on either side, or on both")
    func bothSides() async throws {
        let lines = [
            #"{"$id":"a","$model":"Song","name":"a","follows":["b"],"followers":["c"]}"#,
            #"{"$id":"b","$model":"Song","name":"b","followers":["a","c"]}"#,
            #"{"$id":"c","$model":"Song","name":"c"}"#,
        ]
        for order in [lines, Array(lines.reversed())] {
            let stack = try await JSONLinesFixture.open()
            try await stack.importJSONLines(order)
            let follows = try await stack.background { context in
                try context.fetch(Song.sorted { $0.name.ascending }).map { song in
                    let names = try song.follows.fetch().map(\.name).sorted()
                    return "\(song.name):\(names.joined())"
                }
            }
            #expect(follows == ["a:b", "b:", "c:ab"])
            try await stack.close()
        }
        // A to-one relationship at the other end contains the members of an unordered side.
        let stack = try await JSONLinesFixture.open()
        await expect(.invalidImport) {
            try await stack.importJSONLines([#"{"$model":"Playlist","name":"p","jacket":["j"]}"#])
        }
        try await stack.close()
    }

    @Test("A line that updates an object sets the members of either side")
    func updatedSide() async throws {
        let stack = try await JSONLinesFixture.open()
        try await JSONLinesFixture.fill(stack)
        let update = [
            #"{"$id":"b","$model":"Song","name":"b","followers":["a","b"]}"#,
            #"{"$id":"a","$model":"Song","name":"a"}"#,
        ]
        try await stack.importJSONLines(update, matching: [ImportKey(Song.self, by: "name")])
        let followers = try await stack.background { context in
            let song = try #require(try context.first(Song.where { $0.name == "b" }))
            return try song.followers.fetch().map(\.name).sorted()
        }
        #expect(followers == ["a", "b"])
        try await stack.close()
    }

    @Test("Values of all types survive to the bit, including derived values and timestamps")
    func values() async throws {
        let models: [any Model.Type] = [
            MacroModels.Everything.self, Person.self, Homestead.self, Photo.self, Album.self,
        ]
        let (one, two) = (try await JSONLinesFixture.open(models), try await JSONLinesFixture.open(models))
        let (first, second) = (
            try ModelRowTests.everything(optionals: false), try ModelRowTests.everything(optionals: true)
        )
        let rows = [first, second].map { object in
            var row = object.snapshot
            row.parent = nil
            // SQLite does not keep a negative zero.
            row.double = 0.1 + 0.2
            return row
        }
        try await one.background { context in
            try context.batchInsert(rows)
            let home = context.insert(Homestead(name: "h"))
            context.insert(Person(first: "Ann", last: "Bee", points: 12, home: home))
            context.insert(Photo(name: "p", image: Data([1]), thumbnail: nil))
            context.insert(Photo(name: "q", image: Data(), thumbnail: Data(repeating: 3, count: 10_000)))
            try context.commit()
        }
        let lines = try await JSONLinesFixture.lines(one)
        try await two.importJSONLines(lines)
        #expect(try await JSONLinesFixture.lines(two).map(Self.withoutIDs) == lines.map(Self.withoutIDs))
        try await two.background { context in
            let found = try context.rows(MacroModels.Everything.all)
            #expect(found.count == 2)
            for (row, read) in zip(rows, found) {
                #expect(read._$differences(from: row).map { MacroModels.Everything._$schema.columns[$0].name } == [])
            }
            let person = try #require(try context.first(Person.where { $0.fullName == "Ann Bee" && $0.best == 12 }))
            #expect(person.home?.name == "h" && person.isHomeless == false && person.updatedAt != nil)
            #expect(try context.first(Photo.where { $0.name == "q" })?.thumbnail?.count == 10_000)
        }
        for stack in [one, two] { try await stack.close() }
    }

    private static func withoutIDs(_ line: String) throws -> String {
        line.replacing(try Regex("-[0-9]+-[0-9a-f]+\""), with: "\"")
    }

    @Test("Dates are written as texts that mean exactly the same date, or as numbers")
    func dates() {
        var generator = SeededGenerator(seed: 20_261_122)
        for _ in 0..<3000 {
            let range = [1.0, 1e3, 1e9, 6e10].randomElement(using: &generator)!
            let seconds = Double.random(in: -range...range, using: &generator)
            let text = LineDate.text(seconds)
            #expect(text.flatMap(LineDate.seconds) == seconds, "\(seconds)")
        }
        #expect(LineDate.text(0) == "2001-01-01T00:00:00Z")
        #expect(LineDate.text(-0.25) == "2000-12-31T23:59:59.75Z")
        #expect(LineDate.seconds("2001-01-01T01:00:00.5+01:00") == 0.5)
        for text in ["", ".", "2001", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00.5", "2001-13-01T00:00:00Z"] {
            #expect(LineDate.seconds(text) == nil, "\(text)")
        }
        for seconds in [Double.infinity, 1e300, 1e12, -1e12] { #expect(LineDate.text(seconds) == nil) }
    }
}
