import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

/// A model with declarations of all kinds that a store records.
enum DeclaredModels {
    enum Size: String, AttributeValue, CaseIterable { case small, large }
    enum Hidden: String, AttributeValue { case one, two }

    @Model(originalName: "Crate") final class Box {
        @Attribute(.notEmpty, .length(1...40), originalName: "title") var name: String
        @Attribute(.range(0.5...(.infinity)), .check("must be odd") { $0 != .integer(2) }) var count: Int = -7
        @Attribute(.required) var lid: Bool?
        var text: String = "a \"quoted\" text"
        var parts: [String] = ["x", "y"]
        var madeAt: Date = Date.now
        var size: Size = Size.small
        var hidden: Hidden?
        var price: Decimal = 0
        @Attribute(.createdAt) var createdAt: Date?
        @Attribute(.updatedAt) var updatedAt: Date?
        @Derived var label: String { "\(name)!" }
        @Relationship(inverse: \Slip.box, ordered: true, originalName: "papers") var slips: Many<Slip>
        @Relationship(inverse: \Sticker.boxes, ordered: true) var marks: Many<Sticker>
        @Relationship(deleteRule: .noAction, inverse: \Ghost.box) var ghosts: Many<Ghost>
    }

    @Model final class Slip { var box: Box? }
    @Model final class Sticker { var boxes: Many<Box> }
    @Model final class Ghost { var box: Box? }

    static let models: [any Model.Type] = [Box.self, Slip.self, Sticker.self, Ghost.self]
}

extension DeclaredModels.Slip {
    static func validate(_ row: Row, _ failures: inout Validation<DeclaredModels.Slip>) {
        failures.require(row.box != nil, "must be in a box", column: \.box)
    }
}

/// The same table twice, with different rules that no migration needs.
enum EarlierItems {
    @Model final class Item { var name: String }
    static let models: [any Model.Type] = [Item.self]
}

enum LaterItems {
    @Model final class Item {
        var name: String = "new"

        static func validate(_ row: Row, _ failures: inout Validation<Item>) {
            failures.require(row.name != "x", "must not be x", column: \.name)
        }
    }
    static let models: [any Model.Type] = [Item.self]
}

@Suite(
    "The declarations of models that a store records",
    .aboutTheFile("reads and changes what the file records about the models"),
    .timeLimit(.minutes(2))
) struct ModelRecordTests {
    private func record(_ folder: ScratchFolder, _ url: URL) throws -> RecordedModels {
        let text = try #require(try folder.rows(url, "SELECT declarations FROM strata_models").first)
        return try RecordedModels(parsing: text)
    }

    /// The error that opening throws while another connection may hold the store; nil if opening succeeds.
    private func errorOfOpening(_ url: URL, _ models: [any Model.Type]) async throws -> StrataError? {
        do {
            let stack = try await ContextStack.open(
                .sqlite(url),
                models: models,
                stack: .rootOnly,
                configuration: StoreConfiguration(busyTimeout: 0.05)
            )
            try await stack.close()
            return nil
        } catch let error as StrataError {
            return error
        }
    }

    @Test("A store records rules, literals, cases, timestamps and orders, and that other code exists")
    func content() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("boxes.sqlite")
        try await folder.with(url, DeclaredModels.models) { _ in }
        let models = try record(folder, url)
        #expect(models.models.map(\.table) == ["Box", "Ghost", "Slip", "Sticker"])
        let expected = RecordedModels(try Schema(DeclaredModels.models))
        #expect(models == expected)
        let box = try #require(models.model(ofTable: "Box"))
        #expect(box.originalName == "Crate" && box.validatesRows == nil && box.isOfEngine == nil)

        let name = try #require(box.attribute(named: "name"))
        #expect(name.rules == [.notEmpty, .length(from: 1, to: 40)] && name.originalNames == ["title"])
        #expect(name.hasDefault == nil && name.type?.isOfLibrary == true && name.type?.name == "String")
        let count = try #require(box.attribute(named: "count"))
        #expect(count.rules == [.range(from: 0.5, to: .infinity)] && count.codeRules == ["must be odd"])
        #expect(count.defaultValue?.value == .integer(-7))
        #expect(box.attribute(named: "lid")?.rules == [.required])
        #expect(box.attribute(named: "text")?.defaultValue?.value == .text("a \"quoted\" text"))
        #expect(box.attribute(named: "parts")?.defaultValue?.value == .text(#"["x","y"]"#))
        #expect(box.attribute(named: "price")?.defaultValue?.value == .text("0"))
        let made = try #require(box.attribute(named: "madeAt"))
        #expect(made.hasDefault == true && made.defaultValue == nil)

        let size = try #require(box.attribute(named: "size"))
        #expect(size.type?.cases?.map(\.value) == [.text("small"), .text("large")])
        #expect(size.type?.isCode == false && size.hasDefault == true && size.defaultValue == nil)
        #expect(box.attribute(named: "hidden")?.type?.isCode == true)
        let roles = box.attributes.compactMap(\.role)
        #expect(roles == [.createdAt, .updatedAt, .derived])

        #expect(box.relationships.map(\.name) == ["slips", "marks", "ghosts"])
        #expect(box.relationships.map(\.isOrdered) == [true, true, nil])
        #expect(box.relationship(named: "slips")?.originalName == "papers")
        #expect(models.model(ofTable: "Sticker")?.relationship(named: "boxes")?.isOrdered == nil)
        #expect(models.model(ofTable: "Ghost")?.attribute(named: "box")?.mayDangle == true)
        #expect(models.model(ofTable: "Slip")?.attribute(named: "box")?.mayDangle == nil)
        // The method is in an extension, which the macro does not see.
        #expect(models.model(ofTable: "Slip")?.validatesRows == true)
        #expect(models.model(ofTable: "Sticker")?.validatesRows == nil)
    }

    @Test("A program with equal declarations writes nothing, and another one only its declarations")
    func changes() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("items.sqlite")
        try await folder.with(url, EarlierItems.models) { _ in }
        let holder = try DatabaseQueue(path: url.path, configuration: .unsafe)
        try holder.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        #expect(try await errorOfOpening(url, EarlierItems.models) == nil)
        #expect(try await errorOfOpening(url, LaterItems.models)?.code == .busy)
        try holder.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try holder.close()

        let schema = "SELECT name, sql FROM sqlite_schema ORDER BY name"
        let layout = "SELECT name, sql FROM strata_layout ORDER BY name"
        let history = "SELECT max(sequence), max(migrations) FROM strata_history"
        let before = try [schema, layout, history].map { try folder.rows(url, $0) }
        #expect(try record(folder, url).models[0].validatesRows == nil)
        try await folder.with(url, LaterItems.models) { _ in }
        #expect(try [schema, layout, history].map { try folder.rows(url, $0) } == before)
        let later = try record(folder, url).models[0]
        #expect(later.validatesRows == true && later.attributes[0].defaultValue?.value == .text("new"))
        try await folder.with(url, EarlierItems.models) { _ in }
        #expect(try record(folder, url).models[0].validatesRows == nil)
    }

    @Test("A store of an earlier version gets the record without a migration, and is the same store to that version")
    func added() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("items.sqlite")
        try await folder.with(url, EarlierItems.models) { _ in }
        // The state that an earlier version has left.
        try folder.sql(url, "DROP TABLE strata_models", "DELETE FROM strata_layout WHERE name = 'strata_models'")
        let earlier = try folder.rows(url, "SELECT name, sql FROM strata_layout ORDER BY name")
        try await folder.with(url, EarlierItems.models) { _ in }
        #expect(try record(folder, url).models.map(\.table) == ["Item"])
        #expect(try folder.rows(url, "SELECT max(migrations) FROM strata_history") == ["0"])
        // An earlier version compares the tables of the file with the recorded layout.
        let layout = try folder.rows(url, "SELECT name, sql FROM strata_layout ORDER BY name")
        let tables = try folder.rows(
            url,
            "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name IN (SELECT name FROM strata_layout) "
                + "ORDER BY name"
        )
        #expect(layout == tables && layout.count == earlier.count + 1)
    }

    @Test("After a migration that does not know the record, the declarations are not current")
    func outdated() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("items.sqlite")
        try await folder.with(url, EarlierItems.models) { _ in }
        let schema = try Schema(EarlierItems.models).description
        let stack = try await ContextStack.open(.sqlite(url), models: EarlierItems.models, stack: .rootOnly)
        let current = try await stack.maintain { store, _ in
            try store.reading { connection, _ in try connection.recordedModels(for: schema) }
        }
        #expect(current?.models.count == 1)
        try await stack.close()
        try folder.sql(url, "UPDATE strata_models SET description = 'model Item' || char(10)")
        let part = try await ContextStack.open(
            .sqlite(url),
            models: [],
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        let outdated = try await part.maintain { store, _ in
            try store.reading { connection, _ in try connection.recordedModels(for: schema) }
        }
        #expect(outdated == nil)
        try await part.close()
        // The program records them again.
        try await folder.with(url, EarlierItems.models) { _ in }
        #expect(try folder.rows(url, "SELECT description FROM strata_models") == [schema.description])
    }

    @Test("A read-only stack, a stack of some models and a store in memory record nothing")
    func unrecorded() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("items.sqlite")
        try await folder.with(url, EarlierItems.models) { _ in }
        let before = try folder.rows(url, "SELECT * FROM strata_models")
        for configuration in [
            StoreConfiguration(allowsUnopenedModels: true),
            StoreConfiguration(isReadOnly: true),
        ] {
            // A read-only stack needs a process that has the store open for writing.
            let writer = try await ContextStack.open(.sqlite(url), models: EarlierItems.models, stack: .rootOnly)
            let stack = try await ContextStack.open(
                .sqlite(url),
                models: LaterItems.models,
                stack: .rootOnly,
                configuration: configuration
            )
            try await stack.close()
            try await writer.close()
            #expect(try folder.rows(url, "SELECT * FROM strata_models") == before)
        }
        let memory = try await ContextStack.open(.inMemory, models: EarlierItems.models, stack: .rootOnly)
        let hasRecord = try await memory.maintain { store, _ in
            try store.reading { connection, _ in try connection.integer(SchemaSQL.hasModels) != nil }
        }
        #expect(!hasRecord)
        try await memory.close()
    }

    @Test("A record of a newer form, and a damaged one, are refused with the reason")
    func unreadable() throws {
        let newer = #expect(throws: StrataError.self) {
            try RecordedModels(parsing: #"{"form":2,"models":"elsewhere"}"#)
        }
        #expect(newer?.code == .newerStore)
        let damaged = #expect(throws: StrataError.self) { try RecordedModels(parsing: #"{"form":1}"#) }
        #expect(damaged?.code == .damagedStore)
    }
}
