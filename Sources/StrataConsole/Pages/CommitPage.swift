import Strata
import StrataInspection

/// The objects that one commit has changed.
struct CommitPage: ConsolePage {
    let path = "commit"
    let title = "Commit"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.store
    let template = PageTemplate.commit

    static let pageSize = 100
    private static let greatestPage = 100_000
    /// The greatest number of bytes of the commit's changes that are read.
    private static let largest = 8 << 20
    /// The greatest number of tables that are listed.
    private static let greatestTableCount = 100

    struct Values: Sendable {
        let facts: Facts
        let neighbours: [TitledLink]
        /// Nil if the changes are unknown.
        let changes: Changes?
        /// Why the changes are unknown.
        let reason: String?
    }

    struct Changes: Sendable {
        let tables: Table
        let objects: Table
    }

    private struct Found: Sendable {
        let commit: RecordedCommit
        let hasEarlier: Bool
        let hasLater: Bool
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let sequence = try request.query.requiredNumber("sequence")
        let page = Int(try request.query.number("page", upTo: Int64(Self.greatestPage)) ?? 1)
        let found = try await request.read { context -> Found? in
            guard let commit = try context.recordedCommit(sequence, largest: Self.largest) else { return nil }
            // No record of a neighbour is read.
            let earlier = try context.recordedCommit(sequence - 1, largest: 0)
            let later = try sequence < .max ? context.recordedCommit(sequence + 1, largest: 0) : nil
            return Found(commit: commit, hasEarlier: earlier != nil, hasLater: later != nil)
        }
        guard let found else {
            throw ConsoleError.notFound("The history of the store does not contain the commit \(sequence).")
        }
        let record = try await request.store.record()
        var facts = Facts()
        facts.add("Commit", .number(sequence))
        facts.add("Time", .time(found.commit.time))
        facts.add("Author", .text(found.commit.author ?? "-"))
        let links = [
            found.hasEarlier ? TitledLink("Earlier", request.address(ofCommit: sequence - 1)) : nil,
            found.hasLater ? TitledLink("Later", request.address(ofCommit: sequence + 1)) : nil,
        ]
        var changes: Changes?
        var reason: String?
        if case .known(let tables) = found.commit.changes {
            changes = Self.changes(tables, sequence, page, record, request)
        } else {
            reason = Self.reason(found.commit.changes)
        }
        let values = Values(
            facts: facts,
            neighbours: links.compactMap { $0 },
            changes: changes,
            reason: reason
        )
        return PageContent(title: "Commit \(sequence)", values)
    }

    /// Why the changes of a commit are not shown.
    static func reason(_ changes: RecordedCommit.Changes) -> String {
        switch changes {
        case .known: ""
        case .unknown: "unknown: a migration, or a commit without a history"
        case .tooLarge(let size): "\(ByteSize.text(size)) of changes"
        case .damaged: "the record of the changes is damaged"
        }
    }

    private static func changes(
        _ changed: [ChangedTable],
        _ sequence: Int64,
        _ page: Int,
        _ record: StoreRecord,
        _ request: ConsoleRequest
    ) -> Changes {
        var tables = Table("Changed tables", ["Table"], numbers: ["Inserted", "Updated", "Deleted"])
        for table in changed.prefix(greatestTableCount) {
            // A migration may have removed the table since.
            let isKnown = StoredTable(named: table.name, in: record) != nil
            tables.add([
                .text(table.name, href: isKnown ? request.address(ofTable: table.name) : nil),
                .number(table.inserted.count), .number(table.updatedRows.count), .number(table.deleted.count),
            ])
        }
        tables.whenEmpty = "The commit has changed no objects."
        let listed = CommitObject.list(changed, from: (page - 1) * pageSize, limit: pageSize + 1)
        var objects = Table("Changed objects", ["Table", "Object", "Change", "Columns"])
        for object in listed.prefix(pageSize) {
            let isThere = object.kind != .deleted && StoredTable(named: object.table, in: record) != nil
            let columns = object.columns.joined(separator: ", ")
            objects.add([
                .text(object.table),
                .number(object.id, href: isThere ? request.address(ofObject: object.id, in: object.table) : nil),
                .mark(object.kind.rawValue, mark(of: object.kind)),
                .text(columns.utf8.isEmpty ? "-" : columns, to: ViewText.factLength),
            ])
        }
        objects.whenEmpty =
            page > 1 ? "The commit has changed no further objects." : "The commit has changed no objects."
        objects.pager = Pager(page: page, hasMore: listed.count > pageSize && page < greatestPage) { number in
            request.link("commit", ["sequence": "\(sequence)", "page": "\(number)"])
        }
        return Changes(tables: tables, objects: objects)
    }

    private static func mark(of kind: CommitObject.Kind) -> String {
        switch kind {
        case .inserted: Mark.good
        case .updated: Mark.active
        case .deleted: Mark.bad
        }
    }
}
