import ArgumentParser
import Strata
import StrataInspection

/// `strata check`: the faults of a store.
struct CheckCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Looks for faults in a store.",
        discussion: """
            Verifies the file, relationships, unique values, bytes outside of rows, the history, queues and accounts. \
            Prints one line for each fault, and exits with status 1 if there is one. Reads every row.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(help: "The greatest number of faults of each kind for each table.")
    var limit = 100

    @Option(
        help: ArgumentHelp(
            "A relationship that may lead to deleted objects, such as Article.author. May be repeated.",
            valueName: "relationship"
        )
    )
    var allowMissing: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws { try ListOptions.check(limit) }

    func run(on console: Console) async throws {
        let record = try await file.reading { try await $0.storeRecord() }
        try checkNames(in: record.schema)
        let findings = try await findings(record.engineModels, on: console)
        for finding in findings {
            if output.json { try console.print(finding.json) } else { try console.print("\(finding)") }
        }
        if !findings.isEmpty { throw ExitCode.failure }
    }

    /// Refuses a relationship that the store does not have. A spelling mistake would otherwise have no effect.
    private func checkNames(in schema: SchemaDescription) throws {
        let known = schema.tables.flatMap { table in
            table.columns.filter { $0.referencedTable != nil }.map { "\(table.subject).\($0.name)" }
        }
        guard let unknown = allowMissing.first(where: { !known.containsBytes(of: $0) }) else { return }
        throw ToolError("The store has no to-one relationship '\(unknown)'. 'strata inspect' lists its relationships.")
    }

    /// The faults, with those of queues and accounts if this version knows their tables.
    private func findings(_ models: [any Model.Type], on console: Console) async throws -> [StoreFinding] {
        guard !models.isEmpty else { return try await findings([]) }
        do {
            return try await findings(models)
        } catch let error as IncompatibleStore {
            console.note("The rules of queues and accounts are not checked. \(error.message)")
            return try await findings([])
        }
    }

    private func findings(_ models: [any Model.Type]) async throws -> [StoreFinding] {
        try await file.reading(models: models) { stack in
            try await stack.checkRecorded(limit: limit, allowingMissing: allowMissing)
        }
    }
}

extension StoreFinding {
    fileprivate var json: JSON {
        .object([
            ("kind", .text(kind.description)), ("subject", .orNull(subject)),
            ("id", id.map { JSON.integer($0) } ?? JSON.null), ("message", .text(message)),
        ])
    }
}
