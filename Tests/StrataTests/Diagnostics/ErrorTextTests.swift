import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Texts of errors")
struct ErrorTextTests {
    @Test("The text of an error has ten details, and the number of the others", arguments: [0, 1, 10, 11, 1000])
    func tenDetails(_ count: Int) {
        let details = (1...1000).prefix(count).map {
            StrataError.Detail(model: "Author", id: Int64($0), column: "name", message: "must not be empty")
        }
        let error = StrataError(.validation, "Nothing was saved.", details: details)
        let lines = error.description.split(separator: "\n")
        #expect(error.details.count == count)
        #expect(lines.count == 1 + min(count, 10) + (count > 10 ? 1 : 0))
        #expect(lines.dropFirst().prefix(10).allSatisfy { $0.hasPrefix("  - Author ") })
        if count > 10 { #expect(lines.last == "  - and \(count - 10) more") }
    }

    @Test("A damaged file is named by reads and by opening", .aboutTheFile("damages the file"))
    func damagedFile() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank(transfers: 12)
        let bytes = try Data(contentsOf: url)
        var worse = bytes
        worse.replaceSubrange(4096..., with: Data(repeating: 0xA5, count: bytes.count - 4096))
        try worse.write(to: url)
        let whole = try #require(try await errorOfOpening(url))
        #expect(whole.code == .damagedStore && whole.message.contains("'\(url.path)'"), "\(whole)")
        try bytes.write(to: url)
        try folder.sql(url, "DELETE FROM strata_store")
        let own = try #require(try await errorOfOpening(url))
        #expect(own.code == .damagedStore && own.message.contains("'\(url.path)'"), "\(own)")
        // The same holds if an open connection meets the error.
        try bytes.write(to: url)
        let stack = try await openBank(url)
        let error = await #expect(throws: StrataError.self) {
            try await stack.on(.root) { context in
                let connection = try context.currentSnapshot().reader.connection
                throw StrataError(sqlite: 11, connection: connection.pointer)  // SQLITE_CORRUPT
            }
        }
        #expect(error?.code == .damagedStore && error?.message.contains("bank.sqlite'") == true, "\(error as Any)")
        try await stack.close()
    }

    @Test("The error of a full disk suggests to open again after opening, and to save again otherwise")
    func fullDisk() {
        let full = StrataError(sqlite: 13, connection: nil)  // SQLITE_FULL
        #expect(full.code == .diskFull && full.message.contains("save again"))
        let opening = full.whileOpening("/x.sqlite")
        #expect(opening.code == .diskFull && opening.message.contains("open the store again"))
        #expect(!opening.message.contains("save") && opening.isAccessFailure)
    }

    @Test("Result codes of SQLite that mean a damaged file or a lock of another process are reported as such")
    func resultCodes() {
        // SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_IOERR_SHORT_READ, SQLITE_IOERR_DATA and SQLITE_IOERR_CORRUPTFS.
        for code: Int32 in [11, 26, 522, 8202, 8458] {
            let error = StrataError(sqlite: code, connection: nil)
            #expect(error.code == .damagedStore && !error.isAccessFailure, "\(code): \(error)")
        }
        // SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL.
        for code: Int32 in [5, 6, 15] {
            let error = StrataError(sqlite: code, connection: nil)
            #expect(error.code == .busy && error.isAccessFailure, "\(code): \(error)")
        }
        // SQLITE_IOERR_SHMSIZE: the index of the journal cannot grow.
        #expect(StrataError(sqlite: 4874, connection: nil).code == .diskFull)
        // SQLITE_IOERR_READ: the disk may work again.
        let reading = StrataError(sqlite: 266, connection: nil)
        #expect(reading.code == .database && reading.isAccessFailure)
    }

    @Test("A full disk is a damaged file only for a statement that does not even write temporary files")
    func fullWhileReading() async throws {
        let full = StrataError(sqlite: 13, connection: nil)  // SQLITE_FULL
        let damaged = full.ofPureReading
        #expect(damaged.code == .damagedStore && !damaged.isAccessFailure && !"\(damaged)".contains("diskFull"))
        let index = StrataError(sqlite: 4874, connection: nil)  // SQLITE_IOERR_SHMSIZE
        #expect(index.ofPureReading.code == .diskFull)
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let error = await #expect(throws: StrataError.self) {
            try await stack.on(.root) { context in
                let connection = try context.currentSnapshot().reader.connection
                throw StrataError(sqlite: 13, connection: connection.pointer)
            }
        }
        #expect(error?.code == .diskFull && error?.message.contains("temporary files") == true, "\(error as Any)")
        let growing = await #expect(throws: StrataError.self) {
            try await stack.on(.root) { context in
                let connection = try context.currentSnapshot().reader.connection
                throw StrataError(sqlite: 4874, connection: connection.pointer)
            }
        }
        #expect(growing?.code == .diskFull && growing?.message.contains("temporary files") == false)
        try await stack.close()
    }

    @Test("The reason of an error stays when its message gets the name of a file")
    func reason() {
        let error = StrataError(.notAStore, "This is another database.").because(.otherProgram)
        #expect(error.reason == .otherProgram)
        #expect(error.naming("/x.sqlite").reason == .otherProgram)
        #expect(error.whileOpening("/x.sqlite").reason == .otherProgram)
        #expect(error.whileBackingUp(to: "/y.sqlite").reason == .otherProgram)
        #expect(StrataError(.notAStore, "This is not a database.").naming("/x.sqlite").reason == nil)
    }

    @Test("A query of a person is refused with a reason, if it would write or has parameters")
    func reasonOfQueries() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let queries: [(sql: String, reason: StrataError.Reason?)] = [
            ("DELETE FROM Account", .writingSQL), ("SELECT * FROM Account WHERE id = ?", .missingParameters),
            ("PRAGMA cache_size", nil),
        ]
        for (sql, reason) in queries {
            let error = await #expect(throws: StrataError.self) {
                try await stack.query(sql) { _ in
                } row: { _ in
                }
            }
            #expect(error?.code == .invalidQuery && error?.reason == reason, "\(sql): \(error as Any)")
        }
        try await stack.close()
    }

    @Test("A file or folder without permission is named once")
    func missingPermission() async throws {
        // Root may write everywhere.
        guard getuid() != 0 else { return }
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: url.path)
        let error = try #require(try await errorOfOpening(url))
        #expect(error.code == .readOnly && error.message.components(separatedBy: url.path).count == 2, "\(error)")
    }
}
