import ArgumentParser
import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// The arguments of a command that changes queued operations, by ids or filters.
struct JobChange: ParsableArguments {
    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection
    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    /// Counts the operations, asks, and changes them.
    ///
    /// - Parameters:
    ///   - participle: the action as a participle, such as `retried`.
    ///   - query: the operations among the selected ones that the action changes.
    ///   - condition: why an operation may be left as it is, as a sentence.
    ///   - warnsOfAccounts: whether the action loses changes of accounts, so that a note must say so.
    ///   - body: changes the operations in a separate commit, and returns their number.
    /// - Returns: the number of changed operations.
    /// - Throws: ``ToolError`` for an id that is not queued, for an unknown pipeline, and if ids were given and no
    ///   operation would change.
    @discardableResult
    func run(
        _ participle: String,
        _ query: Query<QueuedOperation>,
        condition: String,
        warnsOfAccounts: Bool = false,
        on console: Console,
        _ body: @escaping @Sendable (SavingContext, Query<QueuedOperation>) throws -> Int
    ) async throws -> Int {
        let (ids, person, store, pipeline) = (selection.ids, person.name, file.store, selection.filters.pipeline)
        let (found, hasAccounts) = try await file.readingQueues { stack in
            let record = try await stack.storeRecord()
            let mayConcern = warnsOfAccounts && !record.accountModels.isEmpty
            return try await stack.background { context in
                try Self.check(ids, in: context)
                let count = try context.count(query)
                if count == 0, let pipeline { try StoreArgument.requireQueue(pipeline, of: store, in: context) }
                return (count, try mayConcern && context.exists(query.ofAccounts))
            }
        }
        guard found > 0 else {
            if !ids.isEmpty { throw ToolError("Nothing was changed. \(condition)") }
            try report(0, participle, on: console)
            return 0
        }
        if hasAccounts { console.note(Self.accountWarning) }
        try await confirmation.confirm(
            "\(Self.words(found)) of '\(file.store)' will be \(participle).",
            on: console
        )
        let count = try await file.writingQueues(on: console) { stack in
            try await stack.background { context in
                context.author = person
                return try body(context, query)
            }
        }
        try console.reportChange { try report(count, participle, on: console) }
        let rest = Set(ids.map(\.number)).count - count
        if rest > 0 { console.note("\(Self.words(rest)) stayed as before. \(condition)") }
        return count
    }

    private static let accountWarning =
        AccountOperations.warning + " 'strata pause' or 'strata jobs hold' stops them for a while."

    /// Refuses ids that are not queued, so that a spelling mistake is noticed.
    private static func check(_ ids: [JobID], in context: ObjectContext) throws {
        guard !ids.isEmpty else { return }
        for id in ids { try id.check(in: context) }
        let sql: SQL = "SELECT \"id\" FROM \"QueuedOperation\" WHERE \"id\" IN \(list: ids.map(\.number))"
        let known = Set(try context.values(Int64.self, sql))
        guard let missing = ids.first(where: { !known.contains($0.number) }) else { return }
        throw ToolError(
            "Operation \(missing.number) is not queued. 'strata jobs show' says whether it has finished. Nothing was "
                + "changed."
        )
    }

    private func report(_ count: Int, _ participle: String, on console: Console) throws {
        if output.json {
            try console.print(.object([("action", .text(participle)), ("count", .count(count))]))
        } else {
            try console.print("\(Self.words(count)) \(count == 1 ? "was" : "were") \(participle).")
        }
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 operation" : "\(count) operations" }
}
