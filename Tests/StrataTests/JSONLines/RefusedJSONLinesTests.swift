import Foundation
import Testing

@testable import Strata

@Suite("Refused lines", .timeLimit(.minutes(2)))
struct RefusedJSONLinesTests {
    @Test(
        "An import reports an invalid line with its number and the property, and imports nothing",
        arguments: [
            (#"{"#, "line 2"),
            (#"[]"#, "line 2"),
            (#"{"name":"n"}"#, "line 2, $model"),
            (#"{"$model":"Nobody"}"#, "line 2, $model is 'Nobody', which is not a model"),
            (#"{"$model":"Playlist.songs"}"#, "is not a model"),
            (#"{"$model":"Song"}"#, "line 2, Song.name is missing"),
            (#"{"$model":"Song","name":null}"#, "line 2, Song.name must have a value"),
            (#"{"$model":"Song","name":1}"#, "line 2, Song.name cannot be read"),
            (#"{"$model":"Song","name":"n","plays":1.5}"#, "line 2, Song.plays cannot be read"),
            (#"{"$model":"Song","name":"n","plays":1e40}"#, "line 2, Song.plays cannot be read"),
            (#"{"$model":"Song","name":"n","nothing":1}"#, "line 2, Song.nothing is not a property"),
            (#"{"$model":"Song","name":"n","follows":"x"}"#, "line 2, Song.follows cannot be read"),
            (#"{"$model":"Song","name":"n","follows":["x"]}"#, "line 2, Song.follows refers to 'x'"),
            (#"{"$model":"Song","name":"n","playlist":"x"}"#, "line 2, Song.playlist refers to 'x'"),
            (#"{"$model":"Song","name":"n","playlist":"s"}"#, "line 2, Song.playlist refers to 's'"),
            (#"{"$model":"Song","name":"first"}"#, "line 2 cannot be imported (notUnique)"),
            (#"{"$id":"s","$model":"Song","name":"n"}"#, "'s' is already used in line 1"),
            (
                #"{"$model":"Jacket","name":"n","image":"%"}"#,
                "line 2, Jacket.image cannot be read: The text is not Base64"
            ),
            (
                #"{"$model":"Playlist","name":"n","songs":["s"]}"#,
                "line 2, Playlist.songs lists an object whose Song.playlist"
            ),
        ]
    )
    func refusals(line: String, message: String) async throws {
        let stack = try await JSONLinesFixture.open()
        let token = stack.historyToken
        let lines = [#"{"$id":"s","$model":"Song","name":"first"}"#, line, #"{"$model":"Song","name":"last"}"#]
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines(lines) }
        #expect(error?.code == .invalidImport)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(stack.historyToken == token)
        #expect(try await JSONLinesFixture.lines(stack) == [])
        // The store stays usable.
        try await stack.importJSONLines([lines[0], lines[2]])
        #expect(try await JSONLinesFixture.lines(stack).count == 2)
        try await stack.close()
    }

    @Test("Values that break a model's rules are refused")
    func validation() async throws {
        let stack = try await openStack(.rootOnly)
        for line in [#"{"$model":"Writer","name":""}"#, #"{"$model":"Writer","name":"nobody"}"#] {
            let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
            #expect(error?.code == .invalidImport && error?.details.first?.column == "name")
            #expect((error?.underlying as? StrataError)?.code == .validation)
            let detail = try #require(error?.details.first).description
            #expect(error?.description.components(separatedBy: detail).count == 2, "it is said once")
        }
        try await stack.close()
    }

    @Test("A damaged file is imported as a whole or not at all")
    func damage() async throws {
        let source = try await JSONLinesFixture.open()
        try await JSONLinesFixture.fill(source)
        let text = Array((try await JSONLinesFixture.lines(source)).joined(separator: "\n").utf8)
        let stack = try await JSONLinesFixture.open()
        let folder = try ScratchFolder()
        let url = folder.file("lines.jsonl")
        var taken = 0
        for position in stride(from: 0, to: text.count, by: 3) {
            var bytes = text
            switch position % 4 {
            case 0: bytes.remove(at: position)
            case 1: bytes[position] = UInt8(ascii: "}")
            case 2: bytes[position] = 0xFF
            default: bytes.removeSubrange(position...)
            }
            try Data(bytes).write(to: url)
            do {
                try await stack.importJSONLines(from: url)
                taken += 1
                // The damage was in a letter of a value, or removed whole lines at the end.
                try await stack.background { context in
                    try context.batchDelete(Song.all)
                    try context.batchDelete(Label.all)
                    try context.batchDelete(Jacket.all)
                    try context.batchDelete(Playlist.all)
                }
            } catch let error as StrataError {
                #expect(error.code == .invalidImport, "\(position): \(error)")
            }
            #expect(try await JSONLinesFixture.lines(stack) == [], "\(position)")
        }
        #expect(taken < text.count / 6)
        for stack in [source, stack] { try await stack.close() }
    }

    @Test("A cancelled import leaves nothing, and the store stays usable")
    func cancelled() async throws {
        let stack = try await JSONLinesFixture.open()
        let token = stack.historyToken
        let (started, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task { try await stack.importJSONLines(Endless(), progress: { _ in begin.yield() }) }
        for await _ in started { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // An import that keeps lines in order to read them twice can be cancelled too.
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await stack.importJSONLines(Endless(), matching: [ImportKey(Song.self, by: "name")])
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(stack.historyToken == token)
        #expect(try await JSONLinesFixture.lines(stack) == [])
        try await JSONLinesFixture.fill(stack)
        #expect(try await JSONLinesFixture.lines(stack).count == 9)
        try await stack.close()
    }

    /// An endless sequence of lines.
    private struct Endless: Sequence, IteratorProtocol, Sendable {
        var count = 0

        mutating func next() -> String? {
            count += 1
            return #"{"$model":"Label","name":"\#(count)"}"#
        }
    }
}
