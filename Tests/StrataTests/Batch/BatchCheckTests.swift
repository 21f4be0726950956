import Foundation
import TestHomeTraits
import Testing

@testable import Strata

/// A model without rules and derived attributes.
@Model final class Parcel {
    var number: Int
    var shelf: Int = 0
    var weight: Double = 0
    var label: String = ""
    var note: String?
    var seal: Data = Data()
    var sentAt: Date?
    var grade: SampleGrade = SampleGrade.first
    var isSent: Bool = false
}

/// A model with a rule for one attribute.
@Model final class Invoice {
    var amount: Int
    @Attribute(.range(0...100)) var discount: Int = 0
}

/// A model whose rows are checked by a method in an extension, which the macro does not see.
@Model final class Voyage {
    var days: Int
    var port: String = ""
}

extension Voyage {
    static func validate(_ row: Row, _ failures: inout Validation<Voyage>) {
        failures.require(row.days != 7, "must not last a week", column: \.days)
    }
}

@Model final class Plank {
    var width: Int
    @Derived var isWide: Bool { width > 100 }
}

@Suite("The checks of batch updates", .timeLimit(.minutes(2)))
struct BatchCheckTests {
    private static let models: [any Model.Type] = [Parcel.self, Invoice.self, Voyage.self, Plank.self]

    private func open(_ folder: ScratchFolder) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(folder.file("batch.sqlite")), models: Self.models, stack: .rootOnly)
    }

    /// Opens a stack and inserts parcels with the numbers from 0, on the shelves 0 and 1 in turn.
    private func open(_ folder: ScratchFolder, parcels count: Int) async throws -> ContextStack {
        let stack = try await open(folder)
        try await stack.background { context in
            _ = try context.batchInsert((0..<count).lazy.map { Parcel(number: $0, shelf: $0 % 2).snapshot })
        }
        return stack
    }

    /// Sets a column to a value of a wrong type in the row with the number 2, and to a correct value in other rows.
    private static func wrong(_ column: String, _ parcel: Parcel.Columns) -> Assignment<Parcel> {
        switch column {
        case "number": parcel.number.set(to: parcel.number + (Int.max - 1))
        case "weight": parcel.weight.set(to: .sql("iif(\(parcel.number) = 2, 'x', 1.5)"))
        case "label": parcel.label.set(to: .sql("iif(\(parcel.number) = 2, x'00', 'x')"))
        case "note": parcel.note.set(to: .sql("iif(\(parcel.number) = 2, x'00', NULL)"))
        case "seal": parcel.seal.set(to: .sql("iif(\(parcel.number) = 2, 'x', x'00')"))
        case "sentAt": parcel.sentAt.set(to: .sql("iif(\(parcel.number) = 2, 'x', NULL)"))
        case "grade": parcel.grade.set(to: .sql("iif(\(parcel.number) = 2, 7, 1)"))
        default: parcel.isSent.set(to: .sql("iif(\(parcel.number) = 2, 7, 1)"))
        }
    }

    @Test(
        "A calculated value of a wrong type stops the update, also if only a later row has it",
        arguments: ["number", "weight", "label", "note", "seal", "sentAt", "grade", "isSent"]
    )
    func types(column: String) async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, parcels: 3)
        let token = stack.historyToken
        try await stack.background { context in
            let third = try #require(try context.first(Parcel.where { $0.number == 2 })).id.rawValue
            let error = #expect(throws: StrataError.self) {
                try context.batchUpdate(Parcel.all) { [$0.shelf.set(to: $0.shelf + 5), Self.wrong(column, $0)] }
            }
            #expect(error?.code == .validation, "\(String(describing: error))")
            #expect(error?.details.map(\.column) == [column] && error?.details.map(\.id) == [third])
            #expect(try context.column(Parcel.sorted { $0.number }, \.shelf) == [0, 1, 0])
        }
        #expect(stack.historyToken == token)
        try await stack.close()
    }

    @Test("An update without rules sets values of every type, and reports the columns that it sets")
    func withoutRules() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, parcels: 3)
        let date = Date(timeIntervalSinceReferenceDate: 7)
        try await stack.background { context in
            let done = try context.batchUpdate(Parcel.all) { parcel -> [Assignment<Parcel>] in
                let calculated = [
                    parcel.shelf.set(to: parcel.number + 1), parcel.weight.set(to: parcel.weight + 0.5),
                    parcel.note.set(to: parcel.label),
                ]
                let constant = [
                    parcel.label.set(to: "x"), parcel.seal.set(to: Data([1])), parcel.sentAt.set(to: date),
                    parcel.grade.set(to: .second), parcel.isSent.set(to: true),
                ]
                return calculated + constant
            }
            let rows = try context.rows(Parcel.sorted { $0.number })
            #expect(done.updated == rows.map(\.id) && rows.map(\.shelf) == [1, 2, 3])
            for row in rows {
                // The note is the label from before the update.
                #expect(row.weight == 0.5 && row.label == "x" && row.note == "")
                #expect(row.seal == Data([1]) && row.sentAt == date && row.grade == .second && row.isSent)
            }
            let columns = done.updatedColumns(of: rows[0].id)
            #expect(columns == ["shelf", "weight", "label", "note", "seal", "sentAt", "grade", "isSent"])
        }
        try await stack.close()
    }

    @Test("A change set contains exactly the rows that the query finds before the update")
    func changedRows() async throws {
        let folder = try ScratchFolder()
        let count = Int(BatchJob.portion) * 2 + 10
        let stack = try await open(folder, parcels: count)
        let found = try await stack.background { context in
            // After the update of a row, the query would find it again.
            let all = try context.batchUpdate(Parcel.where { $0.number >= 0 }) { $0.number.set(to: $0.number + 1) }
            #expect(all.updated.count == count)
            #expect(try context.sum(Parcel.all, \.number) == count * (count + 1) / 2)
            let done = try context.batchUpdate(Parcel.where { $0.shelf == 1 }) { $0.shelf.set(to: 2) }
            let found = try context.rows(Parcel.where { $0.shelf == 2 }.sorted { $0.number }).map(\.id)
            #expect(done.updated == found && found.count == count / 2)
            let none = try context.batchUpdate(Parcel.where { $0.shelf == 1 }) { $0.shelf.set(to: 3) }
            #expect(none.isEmpty)
            return found
        }
        let last = try #require(try await stack.history().last)
        #expect(last.of(Parcel.self).updated == found)
        // Other processes see the commit by the version of its rows.
        let versions = try plainRows(folder.file("batch.sqlite"), "SELECT count(DISTINCT _version) FROM Parcel")
        #expect(versions == [[2]])
        try await stack.close()
    }

    @Test("A rule for an attribute that is set is checked for all rows, also beyond the first portion")
    func ruleForSetAttribute() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder)
        let count = Int(BatchJob.portion) + 10
        try await stack.background { context in
            _ = try context.batchInsert((0..<count).lazy.map { Invoice(amount: $0).snapshot })
            let last = try #require(try context.first(Invoice.where { $0.amount == count - 1 })).id.rawValue
            let error = #expect(throws: StrataError.self) {
                try context.batchUpdate(Invoice.all) { $0.discount.set(to: $0.amount - (count - 102)) }
            }
            // The first rows would get a negative discount.
            #expect(error?.code == .validation && error?.details.count == 100)
            let end = #expect(throws: StrataError.self) {
                try context.batchUpdate(Invoice.all) {
                    $0.discount.set(to: .sql("iif(\($0.amount) = \(count - 1), 101, 100)"))
                }
            }
            #expect(end?.code == .validation && end?.details.map(\.id) == [last])
            #expect(end?.details.first?.column == "discount" && end?.details.first?.mine == .integer(101))
            #expect(try context.count(Invoice.where { $0.discount == 0 }) == count)
            let valid = try context.batchUpdate(Invoice.all) { $0.discount.set(to: 100) }
            #expect(valid.updated.count == count)
        }
        try await stack.close()
    }

    @Test(
        "A rule for another attribute does not stop an update, even if a row breaks the rule",
        .aboutTheFile("changes rows of the file from outside")
    )
    func ruleForOtherAttribute() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder)
        try await stack.background { context in
            _ = try context.batchInsert((0..<3).lazy.map { Invoice(amount: $0).snapshot })
        }
        try await stack.close()
        try folder.sql(folder.file("batch.sqlite"), "UPDATE Invoice SET discount = 500")
        let again = try await open(folder)
        try await again.background { context in
            #expect(try context.batchUpdate(Invoice.all) { $0.amount.set(to: $0.amount + 1) }.updated.count == 3)
            let rows = try context.rows(Invoice.sorted { $0.amount })
            #expect(rows.map(\.amount) == [1, 2, 3] && rows.map(\.discount) == [500, 500, 500])
        }
        try await again.close()
    }

    @Test(
        "The model's check of whole rows runs for all updated rows, also if an extension declares it",
        .aboutTheFile("changes rows of the file from outside")
    )
    func checkOfRows() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder)
        try await stack.background { context in
            _ = try context.batchInsert((4..<7).lazy.map { Voyage(days: $0).snapshot })
            let last = try #require(try context.first(Voyage.where { $0.days == 6 })).id.rawValue
            let error = #expect(throws: StrataError.self) {
                try context.batchUpdate(Voyage.all) { $0.days.set(to: $0.days + 1) }
            }
            #expect(error?.code == .validation && error?.details.map(\.id) == [last])
            #expect(error?.details.first?.message == "must not last a week")
            #expect(try context.batchUpdate(Voyage.all) { $0.days.set(to: $0.days + 4) }.updated.count == 3)
        }
        try await stack.close()
        try folder.sql(folder.file("batch.sqlite"), "UPDATE Voyage SET days = 7 WHERE days = 10")
        let again = try await open(folder)
        try await again.background { context in
            // The check is about the whole row, whichever attributes are set.
            await expect(.validation) { try context.batchUpdate(Voyage.all) { $0.port.set(to: "Oran") } }
            let others = try context.batchUpdate(Voyage.where { $0.days > 7 }) { $0.port.set(to: "Oran") }
            #expect(others.updated.count == 2)
        }
        try await again.close()
    }

    @Test("An update writes the derived attributes of all rows, also beyond the first portion")
    func derivedAttributes() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder)
        let count = Int(BatchJob.portion) + 10
        try await stack.background { context in
            _ = try context.batchInsert((0..<count).lazy.map { Plank(width: $0 % 100).snapshot })
            #expect(try context.count(Plank.where { $0.isWide }) == 0)
            let done = try context.batchUpdate(Plank.all) { $0.width.set(to: $0.width + 101) }
            #expect(try context.count(Plank.where { $0.isWide }) == count)
            let first = try #require(done.updated.first)
            #expect(done.updated.count == count && done.updatedColumns(of: first) == ["width", "isWide"])
        }
        try await stack.close()
    }

    @Test(
        "A value that cannot be read stops an update that copies it, and not an update of other attributes",
        .aboutTheFile("changes rows of the file from outside")
    )
    func unreadable() async throws {
        let folder = try ScratchFolder()
        try await open(folder, parcels: 3).close()
        try folder.sql(folder.file("batch.sqlite"), "UPDATE Parcel SET label = x'00' WHERE number = 2")
        let stack = try await open(folder)
        try await stack.background { context in
            let updated = try context.batchUpdate(Parcel.all) { $0.shelf.set(to: $0.shelf + 5) }.updated
            #expect(updated.count == 3)
            #expect(try context.column(Parcel.sorted { $0.number }, \.shelf) == [5, 6, 5])
            let error = #expect(throws: StrataError.self) {
                try context.batchUpdate(Parcel.all) { $0.note.set(to: $0.label) }
            }
            #expect(error?.code == .undecodable && error?.details.map(\.column) == ["label"])
            #expect(try context.column(Parcel.all, \.note) == [nil, nil, nil])
        }
        try await stack.close()
    }
}
