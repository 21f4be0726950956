import Foundation
import Testing

@testable import Strata

@Model final class Railway { var name: String }

/// A model whose properties have the names of columns of the table of an import.
@Model final class Station {
    var name: String
    var entity: Railway?
    var key: Railway?
    var line: Railway?
    var property: Railway?
    var number: Railway?
    var existing: Railway?
}

@Suite("Names and keys in lines", .timeLimit(.minutes(2)))
struct JSONLinesNameTests {
    @Test("References to existing objects survive in properties of any name")
    func existing() async throws {
        let stack = try await JSONLinesFixture.open([Railway.self, Station.self])
        let (one, two) = try await stack.background { context in
            let railways = ["one", "two"].map { context.insert(Railway(name: $0)) }
            try context.commit()
            return (railways[0].id, railways[1].id)
        }
        try await stack.importJSONLines([
            #"{"$model":"Station","name":"s","entity":"\#(one)","key":"\#(two)","line":"\#(one)","#
                + #""property":"\#(two)","number":"\#(one)","existing":"\#(two)"}"#
        ])
        try await stack.background { context in
            let station = try #require(try context.first(Station.all))
            #expect(station.entity?.name == "one" && station.key?.name == "two" && station.line?.name == "one")
            #expect(station.property?.name == "two" && station.number?.name == "one")
            #expect(station.existing?.name == "two")
        }
        try await stack.close()
    }

    @Test("A name may be a number, also beside objects without names")
    func numbers() async throws {
        let stack = try await JSONLinesFixture.open()
        var lines: [String] = []
        for number in 0..<300 {
            lines.append(#"{"$model":"Song","name":"without \#(number)","follows":["\#(299 - number)"]}"#)
            lines.append(#"{"$id":"\#(number)","$model":"Song","name":"\#(number)","follows":["\#(number)"]}"#)
        }
        let changes = try await stack.importJSONLines(lines)
        #expect(changes.of(Song.self).inserted.count == 600)
        try await stack.background { context in
            for song in try context.fetch(Song.all) {
                let words = song.name.split(separator: " ").map(String.init)
                let number = try #require(words.last.flatMap { Int($0) })
                let followed = words.count == 2 ? 299 - number : number
                #expect(try song.follows.fetch().map(\.name) == ["\(followed)"])
            }
        }
        try await stack.close()
    }

    @Test("A name is refused if two lines have it, also after references to it")
    func repeatedNames() async throws {
        let stack = try await JSONLinesFixture.open()
        let lines = [
            #"{"$model":"Song","name":"a","playlist":"x"}"#, #"{"$id":"x","$model":"Playlist","name":"b"}"#,
            #"{"$id":"x","$model":"Label","name":"the same name of another model"}"#,
            #"{"$id":"x","$model":"Playlist","name":"c"}"#,
        ]
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines(lines) }
        #expect(
            error?.message == "Nothing was imported: line 4, Playlist.$id 'x' is already used in line 2.",
            "\(error?.message ?? "")"
        )
        try await stack.importJSONLines(lines.dropLast())
        #expect(try await stack.background { try $0.first(Song.all)?.playlist?.name } == "b")
        try await stack.close()
    }

    @Test("Of several unknown names, the error reports the one that the lines use first")
    func unknownNames() async throws {
        let stack = try await JSONLinesFixture.open()
        let error = await #expect(throws: StrataError.self) {
            try await stack.importJSONLines([
                #"{"$model":"Label","name":"l"}"#, #"{"$model":"Song","name":"n","follows":["a"],"playlist":"z"}"#,
                #"{"$model":"Song","name":"m","playlist":"b"}"#,
            ])
        }
        #expect(error?.message.contains("line 2, Song.playlist refers to 'z'") == true, "\(error?.message ?? "")")
        try await stack.close()
    }

    @Test("Null stands for a missing name, version, timestamp or optional value, and derived values are not read")
    func nulls() async throws {
        let stack = try await JSONLinesFixture.open([Shop.self, Ware.self, Badge.self])
        try await stack.importJSONLines([
            #"{"$id":null,"$version":null,"$model":"Badge","name":"1","note":null,"createdAt":null,"updatedAt":null}"#,
            #"{"$id":null,"$model":"Ware","name":"w","barcode":null,"picture":null,"shop":null,"label":5}"#,
        ])
        try await stack.background { context in
            let badge = try #require(try context.first(Badge.all))
            #expect(badge.note == nil && badge.createdAt != nil && badge.updatedAt == badge.createdAt)
            let ware = try #require(try context.first(Ware.all))
            #expect(ware.barcode == nil && ware.picture == nil && ware.shop == nil && ware.label == "w: untitled")
        }
        try await stack.close()
    }

    @Test(
        "An unknown key is found in a line with any other keys",
        arguments: [
            (#"{"$model":"Badge","name":"1","$other":1}"#, "line 1, Badge.$other is not a property"),
            (#"{"$model":"Badge","name":"1","Name":"2"}"#, "line 1, Badge.Name is not a property"),
            (#"{"$model":"Ware","name":"w","label":"l","labels":[]}"#, "line 1, Ware.labels is not a property"),
            (#"{"$model":"Ware","name":"w","badges":null}"#, "line 1, Ware.badges cannot be read"),
            (#"{"$model":"Ware","name":"w","shop":{"name":"n","name":"n"}}"#, "line 1, Ware.shop cannot be read"),
            (#"{"$model":"Ware","name":"w","label":{"a":1},"label":{"a":1}}"#, "line 1, Ware.label is given twice"),
            (#"{"$model":"Ware","name":"w","$id":"a","$id":null}"#, "line 1, Ware.$id is given twice"),
        ]
    )
    func unknownKeys(line: String, message: String) async throws {
        let stack = try await JSONLinesFixture.open([Shop.self, Ware.self, Badge.self])
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        try await stack.close()
    }

    @Test("An unknown key is found in a line in UTF-16", arguments: [true, false])
    func otherEncodings(isLittleEndian: Bool) async throws {
        let stack = try await JSONLinesFixture.open()
        let folder = try ScratchFolder()
        let file = folder.file("lines.jsonl")
        // One byte of ∀ is the byte of a quotation mark, so a count by bytes finds two members instead of three.
        let bytes = #"{"$model":"Label","name":"∀","other":1}"#.utf16.flatMap { unit -> [UInt8] in
            let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
            return isLittleEndian ? [low, high] : [high, low]
        }
        try Data(bytes).write(to: file)
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines(from: file) }
        #expect(error?.message.contains("line 1, Label.other is not a property") == true, "\(error?.message ?? "")")
        try await stack.close()
    }
}
