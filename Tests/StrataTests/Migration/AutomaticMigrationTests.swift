import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Changes that a migration makes by itself", .aboutTheFile("migrates stores")) struct AutomaticMigrationTests {
    @Test("One migration makes every kind of change at once and keeps the data, from both formats", arguments: [1, 2])
    func everything(format: Int) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: format)
        let before = try await folder.with(url, Library1.models) { try LibraryContent(first: $0) }
        let after = try await folder.with(url, Library2.models, Library2.migration) { context in
            let articles = try context.fetch(Library2.Article.self)
            #expect(Set(articles.map(\.token)).count == 12)
            #expect(articles.allSatisfy { $0.language == "it's \"en\"" && $0.note == nil && $0.stars == -5 })
            #expect(articles.allSatisfy { $0.cover == Data([1, 2, 3]) })
            return try LibraryContent(second: context)
        }
        #expect(after == before)
        #expect(before.people[0].contains("article-9"))
        #expect(try folder.rows(url, "SELECT max(migrations) FROM strata_history") == ["1"])
        // The migration has moved bytes of the scans into the rows, and bytes of checksums and covers out of the rows.
        #expect(try folder.rows(url, "SELECT count(*) FROM strata_data") == ["24"])

        // The migrated store is like any other: writes, deletes, constraints and triggers work, and the store opens
        // unchanged.
        try await folder.with(url, Library2.models, Library2.migration) { context in
            let article = try context.first(Library2.Article.where { $0.slug == "article-3" })!
            article.checksum = Data([9])
            context.delete(try context.first(Library2.Article.where { $0.slug == "article-4" })!)
            context.insert(Library2.Review(text: "fine", article: article))
            try context.commit()
            context.insert(Library2.Person(fullName: "Author 1"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
        }
        #expect(try folder.rows(url, "SELECT count(*) FROM strata_data") == ["22"])
        #expect(try folder.rows(url, "SELECT max(migrations) FROM strata_history") == ["1"])
        let text = try ContextStack.schemaText(of: Library2.models)
        #expect(try await ContextStack.schemaText(in: .sqlite(url)) == text)
        #expect(try folder.rows(url, "PRAGMA integrity_check") == ["ok"])
    }

    @Test("An id keeps its meaning under the model's new name, and its text form is still read")
    func ids() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let id = try await folder.with(url, Library1.models) { try $0.first(Library1.Author.all)!.id }
        let text = try await folder.with(url, Library2.models, Library2.migration) { context in
            let person = try context.find(ObjectID<Library2.Person>(id.description)!)
            #expect(person != nil)
            return person!.id.description
        }
        #expect(text == id.description.replacingOccurrences(of: "Author", with: "Person"))
        #expect(ObjectID<Library2.Person>("Other-1-1") == nil)
    }

    enum InPlaceNext {
        @Model final class Counter {
            var name: String = "main"
            var last: Int = 0
            var ratio: Double = 1e-7
            var data: Data = Data([0, 255])
            var flag: Bool = true
            var maybe: String?
        }
    }

    enum InPlaceFirst {
        @Model final class Counter {
            var last: Int = 0
            var maybe: String?
        }
    }

    @Test("A migration adds and reorders columns without a copy and without a backup")
    func inPlace() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("counter.sqlite")
        try await folder.with(url, [InPlaceFirst.Counter.self]) { context in
            for index in 0..<3 { context.insert(InPlaceFirst.Counter(last: index, maybe: index == 1 ? "one" : nil)) }
            try context.commit()
        }
        let plan = try await Migration().plan(for: .sqlite(url), models: [InPlaceNext.Counter.self])
        #expect(plan.rewritten.isEmpty && !plan.needsBackup && plan.refusals.isEmpty)
        #expect(
            plan.changes == [
                "add Counter.name with 'main'", "add Counter.ratio with 1e-07", "add Counter.data with 2 bytes",
                "add Counter.flag with 1",
            ]
        )
        for _ in 0..<2 {
            let values = try await folder.with(url, [InPlaceNext.Counter.self]) { context in
                try context.fetch(InPlaceNext.Counter.self).map {
                    "\($0.name) \($0.last) \($0.ratio) \(Array($0.data)) \($0.flag) \($0.maybe ?? "-")"
                }
            }
            #expect(
                values == [
                    "main 0 1e-07 [0, 255] true -", "main 1 1e-07 [0, 255] true one", "main 2 1e-07 [0, 255] true -",
                ]
            )
        }
        #expect(try folder.image().keys.sorted() == ["counter.sqlite", "counter.sqlite-turn"])
        #expect(try await Migration().plan(for: .sqlite(url), models: [InPlaceNext.Counter.self]).isEmpty)
    }

    enum OtherSideFirst {
        @Model final class Song {
            var title: String
            @Relationship(inverse: \List.songs, ordered: true) var lists: Many<List>
        }
        @Model final class List {
            var name: String
            @Relationship(ordered: true) var songs: Many<Song>
        }
    }

    enum OtherSideNext {
        @Model final class Song {
            var title: String
            @Relationship(ordered: true) var lists: Many<List>
        }
        @Model final class List {
            var name: String
            @Relationship(inverse: \Song.lists, ordered: true) var songs: Many<Song>
        }
    }

    enum Tokens {
        @Model final class Key {
            var name: String
            var token: UUID?
        }
    }

    enum RequiredTokens {
        @Model final class Key {
            var name: String
            var token: UUID = UUID()
        }
    }

    @Test("If an attribute loses its optional, each object without a value gets a fresh default value")
    func ownValues() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("keys.sqlite")
        let token = UUID()
        try await folder.with(url, [Tokens.Key.self]) { context in
            for index in 0..<5 { context.insert(Tokens.Key(name: "\(index)", token: index == 2 ? token : nil)) }
            try context.commit()
        }
        let tokens = try await folder.with(url, [RequiredTokens.Key.self]) {
            try $0.fetch(RequiredTokens.Key.self).map(\.token)
        }
        #expect(Set(tokens).count == 5 && tokens[2] == token)
    }

    @Test("A many-to-many relationship keeps members and order when its inverse is named on the other side")
    func otherSide() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("songs.sqlite")
        try await folder.with(url, [OtherSideFirst.Song.self, OtherSideFirst.List.self]) { context in
            let lists = (0..<3).map { context.insert(OtherSideFirst.List(name: "list \($0)")) }
            for index in 0..<4 {
                let song = context.insert(OtherSideFirst.Song(title: "song \(index)"))
                for list in lists.reversed() where list.name != "list \(index)" { song.lists.insert(list) }
            }
            try lists[0].songs.move(try lists[0].songs.last!, before: try lists[0].songs.first!)
            try context.commit()
        }
        let before = try await folder.with(url, [OtherSideFirst.Song.self, OtherSideFirst.List.self]) { context in
            (
                try context.fetch(OtherSideFirst.Song.self).map { try $0.lists.fetch().map(\.name) },
                try context.fetch(OtherSideFirst.List.self).map { try $0.songs.fetch().map(\.title) }
            )
        }
        let after = try await folder.with(url, [OtherSideNext.Song.self, OtherSideNext.List.self]) { context in
            (
                try context.fetch(OtherSideNext.Song.self).map { try $0.lists.fetch().map(\.name) },
                try context.fetch(OtherSideNext.List.self).map { try $0.songs.fetch().map(\.title) }
            )
        }
        #expect(after.0 == before.0 && after.1 == before.1)
        #expect(before.1[0].first == "song 3")
    }

    enum OrderPlain {
        @Model final class Box {
            var name: String
            @Relationship(inverse: \Thing.box) var things: Many<Thing>
        }
        @Model final class Thing {
            var name: String
            var box: Box?
        }
    }

    enum OrderOrdered {
        @Model final class Box {
            var name: String
            @Relationship(inverse: \Thing.box, ordered: true) var things: Many<Thing>
        }
        @Model final class Thing {
            var name: String
            var box: Box?
        }
    }

    @Test("A newly ordered relationship starts in the order of creation, and one that loses its order forgets it")
    func order() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("boxes.sqlite")
        let plain: [any Model.Type] = [OrderPlain.Box.self, OrderPlain.Thing.self]
        let ordered: [any Model.Type] = [OrderOrdered.Box.self, OrderOrdered.Thing.self]
        try await folder.with(url, plain) { context in
            let box = context.insert(OrderPlain.Box(name: "box"))
            for name in ["a", "b", "c"] { context.insert(OrderPlain.Thing(name: name, box: box)) }
            try context.commit()
        }
        try await folder.with(url, ordered) { context in
            let box = try context.first(OrderOrdered.Box.all)!
            #expect(try box.things.fetch().map(\.name) == ["a", "b", "c"])
            try box.things.move(try box.things.last!, before: try box.things.first!)
            try context.commit()
        }
        try await folder.with(url, ordered) { context in
            let names = try context.first(OrderOrdered.Box.all)!.things.fetch().map(\.name)
            #expect(names == ["c", "a", "b"])
        }
        try await folder.with(url, plain) { context in
            let names = try context.first(OrderPlain.Box.all)!.things.fetch().map(\.name)
            #expect(names == ["a", "b", "c"])
        }
    }
}
