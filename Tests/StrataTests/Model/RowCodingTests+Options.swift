import Foundation
import Synchronization
import Testing

@testable import Strata

/// The keys of rows, and omitted properties.
extension RowCodingTests {
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
}
