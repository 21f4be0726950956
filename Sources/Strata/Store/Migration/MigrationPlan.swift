import Foundation
import GRDB

/// The changes that a migration would make to a store. See ``Migration/plan(for:models:)``.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// One line for each change to tables, columns and indexes.
    public let changes: [String]
    /// The names of the models and relationships whose rows would all be copied.
    public let rewritten: [String]
    /// The names of the steps that would run.
    public let steps: [String]
    /// The reasons why the store would be refused, with one line for each thing that you must write.
    ///
    /// Values in rows are checked only if they stay unchanged in a column with new rules, such as `.notEmpty`, or with
    /// a new type that SQLite stores the same way.
    public let refusals: [String]
    /// Whether the migration would first make a backup.
    public let needsBackup: Bool
    /// The reasons why nodes of a store with a home that have the earlier models open could not commit any more, one
    /// line each. Empty if they could continue, and start again. Without a home, the reasons do not matter: see the guide
    /// "Operating a fleet".
    public let reasonsToStopNodes: [String]

    /// Whether the store needs no changes.
    public var isEmpty: Bool { changes.isEmpty && steps.isEmpty && refusals.isEmpty }

    /// The whole plan, one line for each item.
    ///
    /// The refusals come first. The changes follow; if there are refusals, these are the changes that would be made
    /// without them.
    public var description: String {
        let work =
            changes + rewritten.map { "copy all rows of \($0)" } + steps.map { "run step '\($0)'" }
            + (needsBackup ? ["back up first"] : [])
        var lines = refusals.map { "refused: \($0)" }
        if !lines.isEmpty, !work.isEmpty {
            lines.append("nothing is changed; without these refusals, the changes would be:")
        }
        lines += work
        return lines.isEmpty ? "nothing to do" : lines.joined(separator: "\n")
    }
}

extension Migration {
    /// Returns the changes that opening a store would make, without changing anything.
    ///
    /// - Parameters:
    ///   - location: the store. A file that does not exist yet needs no changes.
    ///   - models: the models that would be passed to `open`.
    /// - Isolation: callable from anywhere.
    /// - Throws: ``StrataError`` as `open` does, if the location is not a store, or if the store is newer or was
    ///   changed manually.
    /// - Complexity: O(rows) for columns with new rules, or with a new type that SQLite stores the same way.
    public func plan(for location: StoreLocation, models: [any Model.Type]) async throws -> MigrationPlan {
        let schema = try Schema(models)
        return try await StoreInspection.read(location) { connection in
            switch try StoreSchema.examine(schema, self, on: connection) {
            case .ready, .empty: MigrationPlan()
            case .outdated(let pending):
                MigrationPlan(
                    pending,
                    values: try pending.examineValues(schema, on: connection),
                    isBackedUp: isBackedUp,
                    schema
                )
            }
        } ?? MigrationPlan()
    }

    private var isBackedUp: Bool { if case .none = backup.place { false } else { true } }
}

extension MigrationPlan {
    fileprivate init() {
        (changes, rewritten, steps, refusals, needsBackup, reasonsToStopNodes) = ([], [], [], [], false, [])
    }

    fileprivate init(
        _ pending: PendingMigration,
        values: (changes: [String], refusals: [String]),
        isBackedUp: Bool,
        _ schema: Schema
    ) {
        changes = pending.changes.lines + values.changes
        rewritten = pending.changes.changed.filter(\.isRebuilt).map(\.new.subject)
        steps = pending.steps.filter { !$0.isRetired }.map(\.name)
        refusals = pending.refusals + values.refusals
        needsBackup = pending.needsBackup && isBackedUp
        reasonsToStopNodes = pending.reasonsToStopNodes(schema)
    }
}

/// Reads a store without changing it.
enum StoreInspection {
    /// Returns nil if the file does not exist.
    static func read<Value: Sendable>(
        _ location: StoreLocation,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value? {
        switch location.kind {
        case .inMemory: return nil
        case .pool(let pool): return try await run { try pool.read { try read($0, body) } }
        case .file(let url), .shared(_, let url): return try await run { try read(url, body) }
        case .userData: return try await run { try read(try StoreFile.userDataURL(), body) }
        }
    }

    private static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await Disk.run(body)
        } catch {
            throw StrataError(grdb: error)
        }
    }

    private static func read<Value>(_ url: URL, _ body: (Connection) throws -> Value) throws -> Value? {
        guard try !StoreFile.inspect(url) else { return nil }
        // The queue is not read-only, because a read-only connection would leave its journal files in the folder.
        // `body` only reads.
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: url.path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { try read($0, body) }
    }

    private static func read<Value>(_ db: Database, _ body: (Connection) throws -> Value) throws -> Value {
        guard let pointer = db.sqliteConnection else {
            throw StrataError(.closed, "The database pool that was passed in is closed.")
        }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        return try body(connection)
    }
}
