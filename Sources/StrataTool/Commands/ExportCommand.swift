import ArgumentParser
import Foundation
import Strata
import StrataInspection

/// `strata export`: the objects of a store as lines of JSON.
struct ExportCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes the objects of a store as lines of JSON, which programs can import.",
        discussion: """
            The lines are of one state of the store, and other processes write meanwhile. A program with the models of \
            the store imports them with importJSONLines.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(
        help: ArgumentHelp(
            "A table or model to export. May be repeated. By default, all models except those of queues and accounts.",
            valueName: "table"
        )
    )
    var table: [String] = []

    @Option(
        help: "The file to write. It must not exist. By default, the lines are printed.",
        completion: .file()
    )
    var output: String?

    @OptionGroup var format: OutputOptions

    func validate() throws {
        if let output, output.utf8.isEmpty { throw ValidationError("The name of the file is empty. Name a file.") }
    }

    func run(on console: Console) async throws {
        try await file.reading { stack in
            let tables = try tables(in: try await stack.storeRecord(), on: console)
            guard let output else {
                try await stack.readRecordedJSONLines(of: tables) { try console.print(encodedJSON: $0) }
                return
            }
            let count = try await stack.exportRecordedJSONLines(of: tables, to: URL(fileURLWithPath: output))
            try console.reportChange {
                if format.json {
                    try console.print(.object([("file", .text(output)), ("count", .count(count))]))
                } else {
                    try console.print("\(count) \(count == 1 ? "object was" : "objects were") written to \(output).")
                }
            }
        }
    }

    /// The names of the tables to export, in their order.
    private func tables(in record: StoreRecord, on console: Console) throws -> [String] {
        let models = record.schema.tables.filter { !$0.isRelationship }
        guard table.isEmpty else {
            // Two lines of one object would have the same name.
            var seen: Set<UTF8Text> = []
            return try table.map { try name(of: $0, in: record.schema) }.filter { seen.insert(UTF8Text($0)).inserted }
        }
        let engines = Set(record.engineModels.map { UTF8Text($0._$schema.table) })
        let own = models.map(\.name).filter { !engines.contains(UTF8Text($0)) }
        if own.count < models.count {
            console.note("The tables of queues and accounts are left out. --table exports them.")
        }
        return own
    }

    /// The table with a name, or of the model with this name.
    private func name(of table: String, in schema: SchemaDescription) throws -> String {
        let known = schema.tables.first { $0.name.hasSameBytes(as: table) }
        guard let found = known ?? schema.tables.first(where: { $0.subject.hasSameBytes(as: table) }) else {
            throw ToolError("'\(file.store)' has no table '\(table)'. 'strata inspect' lists its tables.")
        }
        guard !found.isRelationship else {
            throw ToolError("'\(table)' is a relationship. Export its models: their lines contain it.")
        }
        return found.name
    }
}
