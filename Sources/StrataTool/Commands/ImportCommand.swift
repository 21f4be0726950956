import ArgumentParser
import Foundation
import Strata
import StrataInspection

/// `strata import`: inserts the objects of lines of JSON.
struct ImportCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Inserts the objects of lines of JSON into a store: all objects or none.",
        discussion: """
            The result is that of importJSONLines in the program of the store, which may have the store open. Lines that \
            need code of the program are refused. Asks first.
            """
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The file of the lines. With -, the lines are read from the standard input.", completion: .file())
    var lines = "-"

    @Option(
        help: ArgumentHelp(
            "A model or table whose lines are imported. May be repeated. Lines of others are skipped.",
            valueName: "model"
        )
    )
    var model: [String] = []

    @Flag(help: "Check all lines, and roll the import back.")
    var dryRun = false

    @Flag(help: "Store values that only the program's code could check: validate(_:_:), closures, and its own types.")
    var skipCodeChecks = false

    @Flag(help: "Store the values of derived attributes that the lines contain. Only the program could calculate them.")
    var keepDerivedValues = false

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if lines.utf8.isEmpty { throw ValidationError("The name of the file of lines is empty. Name a file, or -.") }
    }

    func run(on console: Console) async throws {
        let input = try open(on: console)
        let record = try await file.reading { try await $0.storeRecord() }
        var options = RecordedImportOptions()
        options.models = model.isEmpty ? nil : try model.map { try name(of: $0, in: record.schema) }
        options.skipsCodeChecks = skipCodeChecks
        options.keepsDerivedValues = keepDerivedValues
        options.isDryRun = dryRun
        if !dryRun {
            try await confirmation.confirm(
                "The objects of \(source) will be inserted into '\(file.store)'. Other processes cannot commit meanwhile.",
                on: console
            )
        }
        let result = try await insert(input, options, record)
        try console.reportChange {
            if output.json {
                try console.print(json(of: result))
            } else {
                try console.print(text(of: result))
                if result.skippedLineCount > 0 {
                    console.note("Lines of other models that were skipped: \(result.skippedLineCount).")
                }
            }
        }
    }

    private var isStandardInput: Bool { lines.hasSameBytes(as: "-") }
    private var source: String { isStandardInput ? "the standard input" : "'\(lines)'" }

    private func open(on console: Console) throws -> FileHandle {
        guard !isStandardInput else {
            // The answer to a question would be read from the same terminal.
            if console.canAsk { throw ToolError("The standard input is a terminal. Name the file of the lines.") }
            return .standardInput
        }
        do {
            return try FileHandle(forReadingFrom: URL(fileURLWithPath: lines))
        } catch {
            throw ToolError("\(source) cannot be read. Check the path and the permissions.")
        }
    }

    /// The name of the model of a table, or of the model with this name.
    private func name(of model: String, in schema: SchemaDescription) throws -> String {
        let tables = schema.tables.filter { !$0.isRelationship }
        let known = tables.first { $0.subject.hasSameBytes(as: model) }
        guard let found = known ?? tables.first(where: { $0.name.hasSameBytes(as: model) }) else {
            throw ToolError("'\(file.store)' has no model '\(model)'. 'strata inspect' lists its models.")
        }
        return found.subject
    }

    /// - Throws: ``ToolError`` if the import needs the program; otherwise the error of the import.
    private func insert(
        _ input: FileHandle,
        _ options: RecordedImportOptions,
        _ record: StoreRecord
    ) async throws -> RecordedImportResult {
        do {
            // The rules of engines apply to every commit.
            return try await file.writing(models: record.engineModels, author: person.name) { stack in
                try await stack.importRecordedJSONLines(from: input, options)
            }
        } catch let error as StrataError where error.reason == .programCode {
            throw ToolError(
                "\(error.code): \(error.message) Import the lines with the program. If the program has exported them, "
                    + "and its models have not changed since, --skip-code-checks and --keep-derived-values import them."
            )
        } catch let error as StrataError where error.reason == .missingDeclarations {
            throw ToolError(
                "'\(file.store)' does not contain the declarations of its models, and nothing was imported. Open the "
                    + "store once with its program, built with this version of Strata or a later one."
            )
        }
    }

    // MARK: Output

    private func text(of result: RecordedImportResult) -> String {
        let count = result.inserted.reduce(0) { $0 + $1.count }
        guard count > 0 else { return "The lines contain no objects to import." }
        let subject = count == 1 ? "1 object" : "\(count) objects"
        let verb = dryRun ? "would be imported" : count == 1 ? "was imported" : "were imported"
        let tables = result.inserted.map { "\($0.table) \($0.count)" }.joined(separator: ", ")
        return "\(subject) \(verb) into \(file.store): \(tables)."
    }

    private func json(of result: RecordedImportResult) -> JSON {
        .object([
            ("isDryRun", .bool(dryRun)), ("lines", .count(result.lineCount)),
            ("skippedLines", .count(result.skippedLineCount)),
            ("inserted", .object(result.inserted.map { (name: $0.table, value: JSON.count($0.count)) })),
            ("commit", .orNull(result.sequence)),
        ])
    }
}
