import Foundation
import GRDB

/// What a migration would do to a store. See ``Migration/plan(for:models:)``.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// A line for each change that is made to tables, columns and indexes.
    public let changes: [String]
    /// The names of the models and relationships whose rows are all copied.
    public let rewritten: [String]
    /// The names of the steps that would be run.
    public let steps: [String]
    /// Why the store would be refused, a line for each thing that you must write. Of the values in the rows, those are looked at that
    /// stay as they are in a column with new rules, such as `.notEmpty`, or of a new type that SQLite stores alike.
    public let refusals: [String]
    /// Whether a backup would be made first.
    public let needsBackup: Bool

    /// Whether the store is as it should be.
    public var isEmpty: Bool { changes.isEmpty && steps.isEmpty && refusals.isEmpty }

    /// All of it, a line each: what the store would be refused for, and what would be done, or would be once nothing is refused.
    public var description: String {
        let work =
            changes + rewritten.map { "copy all rows of \($0)" } + steps.map { "run step '\($0)'" }
            + (needsBackup ? ["back up first"] : [])
        var lines = refusals.map { "refused: \($0)" }
        if !lines.isEmpty, !work.isEmpty { lines.append("nothing is done; without these refusals it would be:") }
        lines += work
        return lines.isEmpty ? "nothing to do" : lines.joined(separator: "\n")
    }
}

extension Migration {
    /// Says what opening a store would do to it, and changes nothing.
    ///
    /// - Parameters:
    ///   - location: the store; a file that is not there yet needs nothing.
    ///   - models: as they would be given to `open`.
    /// - Isolation: callable from anywhere.
    /// - Throws: ``StrataError`` as `open` does where there is no store, or one that is newer or was changed by hand.
    /// - Complexity: O(rows) for columns with new rules or a new type that SQLite stores alike.
    public func plan(for location: StoreLocation, models: [any Model.Type]) async throws -> MigrationPlan {
        let schema = try Schema(models)
        return try await StoreInspection.read(location) { connection in
            switch try StoreSchema.examine(schema, self, on: connection) {
            case .ready, .empty: MigrationPlan()
            case .outdated(let pending):
                MigrationPlan(
                    pending,
                    values: try pending.examineValues(schema, on: connection),
                    isBackedUp: isBackedUp
                )
            }
        } ?? MigrationPlan()
    }

    private var isBackedUp: Bool { if case .none = backup.place { false } else { true } }
}

extension MigrationPlan {
    fileprivate init() {
        (changes, rewritten, steps, refusals, needsBackup) = ([], [], [], [], false)
    }

    fileprivate init(
        _ pending: PendingMigration,
        values: (changes: [String], refusals: [String]),
        isBackedUp: Bool
    ) {
        changes = pending.changes.lines + values.changes
        rewritten = pending.changes.changed.filter(\.isRebuilt).map(\.new.subject)
        steps = pending.steps.filter { !$0.isRetired }.map(\.name)
        refusals = pending.refusals + values.refusals
        needsBackup = pending.needsBackup && isBackedUp
    }
}

extension ContextStack {
    /// What a store of these models keeps, as text: a paragraph for each model and a line for each column, always in the
    /// same order. Kept in a file beside the source, it shows in a review what a change of the models does to stores.
    ///
    /// - Throws: ``StrataError`` with `invalidSchema`.
    public static func schemaText(of models: [any Model.Type]) throws -> String { try Schema(models).text }

    /// The same of a store, as the last migration recorded it; nil where there is none, or one that was made before this was
    /// recorded.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`, `notAStore`, `newerStore`, `damagedStore`.
    public static func schemaText(in location: StoreLocation) async throws -> String? {
        try await StoreInspection.read(location) { try StoreState(on: $0).record?.description } ?? nil
    }
}

/// Looks into a store without changing it.
enum StoreInspection {
    /// Gives nil where there is no file.
    static func read<Value: Sendable>(
        _ location: StoreLocation,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value? {
        switch location.kind {
        case .inMemory: return nil
        case .pool(let pool): return try await run { try pool.read { try read($0, body) } }
        case .file(let url): return try await run { try read(url, body) }
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
        // Not one that is read-only, which would leave the files of its journal behind. What it runs only reads.
        let queue = try DatabaseQueue(path: url.path)
        defer { try? queue.close() }
        return try queue.read { try read($0, body) }
    }

    private static func read<Value>(_ db: Database, _ body: (Connection) throws -> Value) throws -> Value {
        guard let pointer = db.sqliteConnection else {
            throw StrataError(.closed, "The pool that was handed in is closed.")
        }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        return try body(connection)
    }
}
