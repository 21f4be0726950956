import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Rows in coders", .timeLimit(.minutes(1)))
struct RowCodingTests {
    typealias Ticket = CodedModels.Ticket
    typealias Account = CodedModels.Account

    func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Ticket.self], stack: .rootOnly)
    }

    func text(
        _ value: some Encodable,
        _ coding: RowCoding? = nil,
        _ setUp: (JSONEncoder) -> Void = { _ in }
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if let coding { encoder.userInfo[.rowCoding] = coding }
        setUp(encoder)
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    func decode<Value: Decodable>(
        _ type: Value.Type,
        _ text: String,
        _ coding: RowCoding? = nil
    ) throws -> Value {
        let decoder = JSONDecoder()
        if let coding { decoder.userInfo[.rowCoding] = coding }
        return try decoder.decode(type, from: Data(text.utf8))
    }

    /// The names of the columns in which two rows differ. External bytes always differ.
    func differences<Row: ModelRow>(_ left: Row, _ right: Row) -> [String] {
        left._$differences(from: right).map { Row.Object._$schema.columns[$0].name }
    }

    func full() -> Ticket.Row {
        let start = Date(timeIntervalSinceReferenceDate: 0)
        var row = Ticket(
            title: "a",
            limit: nil,
            plan: .paid,
            size: .large,
            mark: .init(rawValue: .max),
            stamp: .init(rawValue: start),
            version: .init(major: 2),
            place: .init(street: "s", since: start),
            tags: ["x"],
            image: Data([0, 255])
        ).snapshot
        row.id = ObjectID(rawValue: 9, fingerprint: 0xABCD)
        row.parent = ObjectID(rawValue: 5, fingerprint: 0xBEEF)
        return row
    }

    // MARK: The form

    @Test("A row has the names of its properties as keys, and its values as their types encode them")
    func form() throws {
        let coded = try text(full()) { $0.dateEncodingStrategy = .iso8601 }
        #expect(
            coded == ##"{"color":"#0000ff","count":3,"id":"Ticket-9-abcd","image":"AP8=","label":"a!","limit":null,"##
                + #""mark":18446744073709551615,"parent":"Ticket-5-beef","#
                + #""place":{"since":"2001-01-01T00:00:00Z","street":"s"},"plan":"paid","size":"large","#
                + #""stamp":"2001-01-01T00:00:00Z","tags":["x"],"title":"a","version":"v2"}"#
        )
    }

    @Test("A new row has neither an id nor keys for nil")
    func newRow() throws {
        let row = Account(userName: "ada", passwordHash: "").snapshot
        #expect(try text(row) == #"{"isAdmin":false,"passwordHash":"","userName":"ada"}"#)
    }

    @Test("Rows of every attribute type survive JSON", arguments: [false, true])
    func everything(optionals: Bool) throws {
        let row = try ModelRowTests.everything(optionals: optionals).snapshot
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        let read = try decoder.decode(MacroModels.Everything.Row.self, from: try encoder.encode(row))
        #expect(differences(read, row) == [])
        #expect(read.id == row.id && read.parent == row.parent)
    }

    @Test("Rows with awkward names and values of special types survive JSON and property lists")
    func roundTrips() throws {
        var row = full()
        let read = try decode(Ticket.Row.self, try text(row))
        #expect(differences(read, row) == ["image"])
        #expect(read.image.data == Data([0, 255]) && read.id == row.id && read.parent == row.parent)

        row.mark = .init(rawValue: 8)
        let list = try PropertyListEncoder().encode(row)
        let listed = try PropertyListDecoder().decode(Ticket.Row.self, from: list)
        #expect(differences(listed, row) == ["image"])
        #expect(listed.image.data == Data([0, 255]) && listed.limit == nil && listed.parent == row.parent)

        let awkward = MacroModels.Awkward(encoder: "x", column: 7, default: .high).snapshot
        #expect(differences(try decode(MacroModels.Awkward.Row.self, try text(awkward)), awkward) == [])
    }

    @Test("Rows can be parts of other Codable types")
    func parts() throws {
        struct Page: Codable {
            var count: Int
            var first: Account.Row?
            var rows: [Account.Row]
            var byName: [String: Account.Row]
        }
        let row = Account(userName: "ada", passwordHash: "p").snapshot
        let page = Page(count: 1, first: row, rows: [row, row], byName: ["ada": row])
        let read = try decode(Page.self, try text(page))
        #expect(read.count == 1 && read.rows.count == 2)
        for found in [read.first, read.rows.last, read.byName["ada"]] {
            #expect(differences(try #require(found), row) == [])
        }
    }

    @Test("A row can have a form of its own")
    func customForm() throws {
        func coded<Row: ModelRow>(_ rows: [Row]) throws -> String { try text(rows) }
        #expect(try coded([CodedModels.Word(text: "a").snapshot]) == #"["a"]"#)
    }

    // MARK: Decoding

    @Test("A missing key gives the property its default or nil")
    func defaults() throws {
        let row = try decode(Ticket.Row.self, #"{"title": "a"}"#)
        #expect(differences(row, Ticket(title: "a").snapshot) == ["image"])
        #expect(row.image.data == Data([7]) && row.limit == 10 && row.tags == ["new"] && row.plan == .free)
        #expect(!row.id.isAssigned && row.parent == nil)
    }

    @Test("Null is nil, also for a property with a default")
    func null() throws {
        let row = try decode(
            Ticket.Row.self,
            #"{"title": "a", "limit": null, "id": null, "parent": null, "note": null}"#
        )
        #expect(row.limit == nil && row.note == nil && row.parent == nil && !row.id.isAssigned)
    }

    @Test("Keys of derived, transient and unknown properties are ignored")
    func ignored() throws {
        let row = try decode(
            Ticket.Row.self,
            #"{"title": "a", "label": "b", "isSelected": 1, "children": ["x"], "more": {"y": 1}}"#
        )
        #expect(row.label == "a!")
    }

    @Test(
        "An error names the path to the value",
        arguments: [
            (#"{}"#, "title"), (#"{"title": null}"#, "title"), (#"{"title": 7}"#, "title"),
            (#"{"title": "a", "count": 1.5}"#, "count"), (#"{"title": "a", "count": 1e30}"#, "count"),
            (#"{"title": "a", "count": null}"#, "count"), (#"{"title": "a", "limit": "x"}"#, "limit"),
            (#"{"title": "a", "plan": "gold"}"#, "plan"), (#"{"title": "a", "size": "huge"}"#, "size"),
            (#"{"title": "a", "mark": -1}"#, "mark"), (#"{"title": "a", "version": "2"}"#, "version"),
            (#"{"title": "a", "place": {"street": 1, "since": 0}}"#, "place.street"),
            (#"{"title": "a", "tags": ["x", 1]}"#, "tags.1"), (#"{"title": "a", "color": "red"}"#, "color"),
            (#"{"title": "a", "image": "%"}"#, "image"), (#"{"title": "a", "parent": "Account-1-1"}"#, "parent"),
            (#"{"title": "a", "parent": 5}"#, "parent"), (#"{"title": "a", "id": "Ticket-01-1"}"#, "id"),
            (#"{"title": "a", "origin": 5}"#, "origin"), (#"{"title": "a", "origin": "{}"}"#, "origin"),
        ]
    )
    func errors(_ row: String, _ path: String) throws {
        let rows = #"{"rows": [{"title": "fine"}, \#(row)]}"#
        let error = #expect(throws: DecodingError.self) { try decode([String: [Ticket.Row]].self, rows) }
        #expect(error?.path == "rows.1.\(path)", "\(String(describing: error))")
    }

    @Test(
        "An error says whether a key is missing, or a value is null, of another type or not valid",
        arguments: [
            (#"{}"#, "keyNotFound"), (#"{"title": null}"#, "valueNotFound"), (#"{"title": 7}"#, "typeMismatch"),
            (#"{"title": "a", "plan": "gold"}"#, "dataCorrupted"),
        ]
    )
    func kinds(_ row: String, _ kind: String) {
        let error = #expect(throws: DecodingError.self) { try decode(Ticket.Row.self, row) }
        #expect(error?.kind == kind)
    }

    @Test("The error of a transformer is the underlying error")
    func transformerError() {
        let error = #expect(throws: DecodingError.self) {
            try decode(Ticket.Row.self, #"{"title": "a", "color": "red"}"#)
        }
        #expect(error?.underlying is ColorError)
    }

    // MARK: With a store

    @Test("Objects can be inserted from a file of rows, and the rows of a store can be read elsewhere")
    func fixture() async throws {
        let folder = try ScratchFolder()
        let file = folder.file("tickets.json")
        try Data(#"[{"title": "a", "count": 1, "image": "AP8="}, {"title": "b", "plan": "paid"}]"#.utf8).write(to: file)
        let rows = try JSONDecoder().decode([Ticket.Row].self, from: try Data(contentsOf: file))
        let stack = try await open()
        let answer = try await stack.background { context in
            try context.batchInsert(rows)
            let tickets = try context.fetch(Ticket.sorted { $0.title })
            #expect(tickets.map(\.count) == [1, 3] && tickets.map(\.plan) == [.free, .paid])
            #expect(tickets.map(\.image) == [Data([0, 255]), Data([7])])
            tickets[1].parent = tickets[0]
            try context.commit()
            return try JSONEncoder().encode(tickets.map(\.snapshot))
        }
        let received = try JSONDecoder().decode([Ticket.Row].self, from: answer)
        #expect(received[1].parent == received[0].id)
        let new = try decode(Ticket.Row.self, try text(received[0]), RowCoding().omitting(\.id, of: Ticket.self))
        let inserted = try await stack.background { try $0.batchInsert([new]).inserted }
        #expect(inserted.count == 1 && inserted.first != received[0].id)
        try await stack.background { context in
            let found = try context.find(received[1].id)
            #expect(found?.parent?.title == "a")
        }
        let other = try await open()
        try await other.background { context in
            let refused = #expect(throws: StrataError.self) { try context.batchInsert([received[1]]) }
            #expect(refused?.code == .idOfOtherStore)
        }
        for stack in [stack, other] { try await stack.close() }
    }

    @Test("Rules are checked when a decoded row is inserted")
    func rules() async throws {
        let stack = try await open()
        let row = try decode(Ticket.Row.self, #"{"title": ""}"#)
        try await stack.background { context in
            let error = #expect(throws: StrataError.self) { try context.batchInsert([row]) }
            #expect(error?.code == .validation && error?.details.first?.column == "title")
        }
        try await stack.close()
    }

    @Test("A row whose bytes were not read cannot be encoded with them")
    func unreadBytes() async throws {
        let stack = try await open()
        try await stack.background { context in
            context.insert(Ticket(title: "a", image: Data([1])))
            try context.commit()
        }
        let row = try await stack.background { context in try context.rows(Ticket.all)[0] }
        let snapshot = try await stack.background { context in try #require(try context.first(Ticket.all)).snapshot }
        let error = #expect(throws: EncodingError.self) { try text([row]) }
        if case .invalidValue(_, let context) = error {
            #expect(context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue } == ["0", "image"])
        }
        #expect(try !text(row, RowCoding().omitting(\.image, of: Ticket.self)).contains("image"))
        #expect(try text(snapshot).contains(#""image":"AQ==""#))
        try await stack.close()
    }
}
