import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// Models whose rows have other forms in coders than in the store.
enum CodedModels {
    enum Plan: String, AttributeValue { case free, paid }
    enum Size: String, Codable, AttributeValue { case small, large }

    /// An unsigned number, which the store may keep as a blob.
    struct Mark: RawRepresentable, Equatable, AttributeValue { var rawValue: UInt64 }

    struct Stamp: RawRepresentable, Equatable, AttributeValue { var rawValue: Date }

    struct Place: Codable, Equatable, AttributeValue {
        var street: String
        var since: Date
    }

    /// A type that only the store can represent.
    struct Version: Equatable, AttributeValue {
        var major: Int

        static var columnType: ColumnType { .text }
        var storedValue: StoredValue { .text("v\(major)") }

        init(major: Int) { self.major = major }
        init?(storedValue: StoredValue) {
            guard case .text(let text) = storedValue, text.hasPrefix("v"), let major = Int(text.dropFirst()) else {
                return nil
            }
            self.init(major: major)
        }
    }

    struct Origin: Codable, Equatable { var country: String }

    /// A transformer that uses a coder of its own.
    enum OriginText: ValueTransformer {
        static func store(_ origin: Origin) throws -> String {
            String(decoding: try JSONEncoder().encode(origin), as: UTF8.self)
        }
        static func load(_ text: String) throws -> Origin {
            try JSONDecoder().decode(Origin.self, from: Data(text.utf8))
        }
    }

    @Model final class Ticket {
        @Attribute(.notEmpty) var title: String
        var count: Int = 3
        var limit: Int? = 10
        var note: String?
        var plan: Plan = .free
        var size: Size?
        var mark: Mark?
        var stamp: Stamp?
        var version: Version?
        var place: Place?
        var date: Date?
        var tags: [String] = ["new"]
        @Attribute(.transformed(by: HexColor.self)) var color: Color = Color(red: 0, green: 0, blue: 255)
        @Attribute(.transformed(by: OriginText.self)) var origin: Origin?
        @Attribute(.externalStorage) var image: Data = Data([7])
        @Derived var label: String { "\(title)!" }
        var parent: Ticket?
        @Relationship(inverse: \Ticket.parent) var children: Many<Ticket>
        @Transient var isSelected = false
    }

    @Model final class Account {
        var userName: String
        var imageURL: URL?
        var passwordHash: String
        var isAdmin: Bool = false
        var sponsor: Account?
    }

    /// A model whose rows have a form of their own.
    @Model final class Word {
        var text: String
    }
}

extension CodedModels.Word.Row {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension DecodingError {
    private var parts: (kind: String, key: (any CodingKey)?, context: Context) {
        switch self {
        case .typeMismatch(_, let context): ("typeMismatch", nil, context)
        case .valueNotFound(_, let context): ("valueNotFound", nil, context)
        case .dataCorrupted(let context): ("dataCorrupted", nil, context)
        case .keyNotFound(let key, let context): ("keyNotFound", key, context)
        @unknown default: ("unknown", nil, Context(codingPath: [], debugDescription: ""))
        }
    }

    fileprivate var kind: String { parts.kind }

    fileprivate var message: String { parts.context.debugDescription }

    fileprivate var underlying: (any Error)? { parts.context.underlyingError }

    /// The keys and indices that lead to the wrong or missing value.
    fileprivate var path: String {
        let keys = parts.context.codingPath + [parts.key].compactMap(\.self)
        return keys.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
    }
}

@Suite("Rows in coders", .timeLimit(.minutes(1)))
struct RowCodingTests {
    typealias Ticket = CodedModels.Ticket
    typealias Account = CodedModels.Account

    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Ticket.self], stack: .rootOnly)
    }

    private func text(
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

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        _ text: String,
        _ coding: RowCoding? = nil
    ) throws -> Value {
        let decoder = JSONDecoder()
        if let coding { decoder.userInfo[.rowCoding] = coding }
        return try decoder.decode(type, from: Data(text.utf8))
    }

    /// The names of the columns in which two rows differ. External bytes always differ.
    private func differences<Row: ModelRow>(_ left: Row, _ right: Row) -> [String] {
        left._$differences(from: right).map { Row.Object._$schema.columns[$0].name }
    }

    private func full() -> Ticket.Row {
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

    // MARK: Options

    @Test("Keys in snake case are read again, also with acronyms")
    func snakeCase() throws {
        let names = [
            "name": "name", "createdAt": "created_at", "imageURL": "image_url", "URLPath": "url_path",
            "html5Text": "html5_text", "a_B": "a_b", "isOK": "is_ok", "id": "id",
        ]
        for (name, key) in names { #expect(RowCoding.snakeCase.naming(name) == key) }
        var row = Account(userName: "ada", imageURL: URL(string: "https://a"), passwordHash: "p").snapshot
        row.sponsor = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        let coded = try text(row, .snakeCase)
        #expect(
            coded == #"{"image_url":"https://a","is_admin":false,"password_hash":"p","#
                + #""sponsor":"Account-5-abcd","user_name":"ada"}"#
        )
        #expect(differences(try decode(Account.Row.self, coded, .snakeCase), row) == [])
    }

    @Test("A function can name the keys, also that of the id, and errors name these keys")
    func customNames() throws {
        let coding = RowCoding { "x-\($0)" }
        var row = Account(userName: "ada", passwordHash: "p").snapshot
        row.id = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        let coded = try text(row, coding)
        #expect(
            coded == #"{"x-id":"Account-5-abcd","x-isAdmin":false,"x-passwordHash":"p","x-userName":"ada"}"#
        )
        #expect(try decode(Account.Row.self, coded, coding).id == row.id)
        let error = #expect(throws: DecodingError.self) { try decode(Account.Row.self, #"{"userName": "a"}"#, coding) }
        #expect(error?.path == "x-userName")
    }

    @Test("Properties are named once for each model, not for each row")
    func namedOnce() throws {
        let named = Mutex<[String]>([])
        let coding = RowCoding { name in
            named.withLock { $0.append(name) }
            return "x-\(name)"
        }
        let row = Account(userName: "ada", passwordHash: "p").snapshot
        let coded = try text([row, row, row], coding)
        let read = try decode([Account.Row].self, coded, coding)
        #expect(read.count == 3)
        #expect(named.withLock { $0 } == ["id"] + Account._$schema.columns.map(\.name))
        // Keys that are known already do not apply to changed options, or to another model.
        let changed = try text(row, coding.omitting(\.passwordHash, of: Account.self))
        #expect(changed == #"{"x-isAdmin":false,"x-userName":"ada"}"#)
        let ticket = try text(Ticket(title: "a").snapshot, coding)
        #expect(ticket.contains(#""x-title":"a""#))
    }

    @Test("The key strategies of JSON coders apply to rows")
    func strategies() throws {
        let row = Account(userName: "ada", passwordHash: "p").snapshot
        let coded = try text(row) { $0.keyEncodingStrategy = .convertToSnakeCase }
        #expect(coded == #"{"is_admin":false,"password_hash":"p","user_name":"ada"}"#)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(differences(try decoder.decode(Account.Row.self, from: Data(coded.utf8)), row) == [])
    }

    @Test("An omitted property is neither written nor read")
    func omitting() throws {
        let coding = RowCoding().omitting(\.isAdmin, \.sponsor, \.imageURL, of: Account.self)
        var row = Account(userName: "ada", imageURL: URL(string: "https://a"), passwordHash: "p").snapshot
        row.isAdmin = true
        row.sponsor = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        #expect(try text(row, coding) == #"{"passwordHash":"p","userName":"ada"}"#)
        let read = try decode(Account.Row.self, try text(row), coding)
        #expect(!read.isAdmin && read.sponsor == nil && read.imageURL == nil && read.userName == "ada")
    }

    @Test("An omitted property without a default cannot be decoded, and options of another model do not apply")
    func omittedWithoutDefault() throws {
        let coding = RowCoding().omitting(\.passwordHash, of: Account.self).omitting(\.text, of: CodedModels.Word.self)
        let error = #expect(throws: DecodingError.self) {
            try decode(Account.Row.self, #"{"userName": "ada", "passwordHash": "p"}"#, coding)
        }
        #expect(error?.path == "passwordHash")
        #expect(error?.message.contains("omits") == true)
        let missing = #expect(throws: DecodingError.self) { try decode(Account.Row.self, #"{"userName": "ada"}"#) }
        #expect(missing?.message.contains("omits") == false)
        let other = RowCoding().omitting(\.title, of: Ticket.self)
        let row = Account(userName: "ada", passwordHash: "p").snapshot
        #expect(try text(row, other) == text(row))
    }

    @Test("An omitted id is neither written nor read")
    func omittedID() throws {
        let coding = RowCoding.snakeCase.omitting(\.id, of: Account.self)
        var row = Account(userName: "ada", passwordHash: "p").snapshot
        row.id = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        #expect(try text(row, coding) == #"{"is_admin":false,"password_hash":"p","user_name":"ada"}"#)
        let read = try decode(Account.Row.self, try text(row, .snakeCase), coding)
        #expect(!read.id.isAssigned && read.userName == "ada")
        var ticket = Ticket(title: "a").snapshot
        ticket.id = ObjectID(rawValue: 9, fingerprint: 0xABCD)
        #expect(try text(ticket, coding).contains(#""id":"Ticket-9-abcd""#))
    }

    @Test("Options that omit a property of another object are refused when a row of the model is coded")
    func omittedOfOtherObject() throws {
        let row = Account(userName: "ada", passwordHash: "p").snapshot
        let codings = [
            RowCoding().omitting(\.sponsor.passwordHash, of: Account.self),
            RowCoding().omitting(\.passwordHash, \.sponsor.id, of: Account.self),
            RowCoding().omitting(\.userName.length, of: Account.self),
        ]
        for coding in codings {
            let encoding = #expect(throws: StrataError.self) { try text(["row": [row]], coding) }
            let decoding = #expect(throws: StrataError.self) {
                try decode([Account.Row].self, #"[{"userName": "ada", "passwordHash": "p"}]"#, coding)
            }
            #expect(encoding?.code == .invalidArgument && decoding?.code == .invalidArgument)
            #expect(encoding?.message.contains("not a property of Account itself") == true)
            let ticket = Ticket(title: "a").snapshot
            #expect(try text(ticket, coding) == text(ticket))
        }
    }

    /// Coders take both forms of the letter for one key.
    private static func accented(_ name: String) -> String {
        switch name {
        case "sponsor": "\u{E9}"
        case "isAdmin": "e\u{301}"
        default: name
        }
    }

    @Test("Two properties with one key are refused in both directions, so that no value replaces another")
    func sameKey() throws {
        var row = Account(userName: "ada", passwordHash: "p").snapshot
        let codings: [(coding: RowCoding, texts: [String])] = [
            (RowCoding { _ in "x" }, ["'x'", "Account.id", "Account.userName"]),
            (RowCoding { $0 == "imageURL" ? "id" : $0 }, ["'id'", "Account.id", "Account.imageURL"]),
            (RowCoding(naming: Self.accented), ["Account.isAdmin", "Account.sponsor"]),
        ]
        for (coding, texts) in codings {
            let encoding = #expect(throws: StrataError.self) { try text(row, coding) }
            let decoding = #expect(throws: StrataError.self) {
                try decode(Account.Row.self, #"{"x": "ada", "userName": "ada", "passwordHash": "p"}"#, coding)
            }
            for error in [encoding, decoding] {
                #expect(error?.code == .invalidArgument)
                for text in texts { #expect(error?.message.contains(text) == true, "\(String(describing: error))") }
            }
        }
        // An omitted property has no key.
        let coding = RowCoding { $0 == "imageURL" ? "id" : $0 }.omitting(\.id, of: Account.self)
        row.id = ObjectID(rawValue: 5, fingerprint: 0xABCD)
        row.imageURL = URL(string: "https://a")
        let coded = try text(row, coding)
        #expect(coded == #"{"id":"https://a","isAdmin":false,"passwordHash":"p","userName":"ada"}"#)
        #expect(try decode(Account.Row.self, coded, coding).imageURL == row.imageURL)
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
