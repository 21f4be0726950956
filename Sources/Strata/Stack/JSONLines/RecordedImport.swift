import Foundation

/// The choices of an import into a store whose models the program does not have.
package struct RecordedImportOptions: Sendable {
    /// The names of the models whose lines are imported; nil for all. Lines of others are skipped.
    package var models: [String]?
    /// Whether values are stored although only code of the program could check them.
    package var skipsCodeChecks = false
    /// Whether the values of derived attributes are taken from the lines, instead of being calculated.
    package var keepsDerivedValues = false
    /// Whether the import is rolled back at its end.
    package var isDryRun = false

    package init() {}
}

/// The result of an import into a store whose models the program does not have.
package struct RecordedImportResult: Sendable {
    /// The number of lines, including empty and skipped ones.
    package let lineCount: Int
    /// The number of lines of models that were not selected.
    package let skippedLineCount: Int
    /// The number of inserted objects, by the names of their tables, in the order of the names.
    package let inserted: [(table: String, count: Int)]
    /// The number of the commit; nil if nothing was committed.
    package let sequence: Int64?
}

/// An import of lines into a store whose models the program does not have.
///
/// The import itself is ``LineImport``. The store's description and declarations replace the models. They are read in
/// the transaction of the import, because another process may migrate the store before.
struct RecordedImport {
    let store: Store
    let author: String?
    let options: RecordedImportOptions
    let cancellation: Cancellation

    /// Ends the transaction of a dry run.
    private struct DryRun: Error {}

    /// - Throws: as ``ContextStack/importRecordedJSONLines(from:_:progress:)``; a cancellation as a ``PassedError``.
    func run(_ file: FileHandle, _ progress: (@Sendable (Int) -> Void)?) throws -> RecordedImportResult {
        let lines = try seekable(file)
        var counts = (read: 0, skipped: 0)
        var changes = CommitChanges()
        var commit: ChangeSet?
        do {
            commit = try store.batch(author: author, for: "an import of lines") { job in
                let (schema, selection) = try recordedSchema(on: job.connection)
                let own = BatchJob(job.connection, schema, base: job.base, time: job.time)
                counts = try LineImport.run(
                    own,
                    store.identity,
                    matching: [],
                    selecting: selection,
                    progress,
                    cancellation
                ) { _ in
                    var reader = try LineReader(lines, end: LineReader.newline)
                    return { try reader.next() }
                }
                changes = own.changes
                if options.isDryRun { throw PassedError(DryRun()) }
                job.include(own)
            }
        } catch is DryRun {
            // The transaction was rolled back.
        }
        return RecordedImportResult(
            lineCount: counts.read,
            skippedLineCount: counts.skipped,
            inserted: changes.changedTables.filter { !$0.inserted.isEmpty }.map { ($0.name, $0.inserted.count) },
            sequence: changes.isEmpty ? nil : commit?.token.sequence
        )
    }

    /// The file, or a copy of it if it can be read only once. The writer would wait for the other end of a pipe.
    private func seekable(_ file: FileHandle) throws -> FileHandle {
        var info = stat()
        if fstat(file.fileDescriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG { return file }
        return try TemporaryLineFile.copied(from: file, cancellation).file
    }

    private func recordedSchema(on connection: Connection) throws -> (Schema, LineSelection) {
        let description = try connection.recordedSchema()
        guard let declared = try connection.recordedModels(for: description) else {
            throw StrataError(
                .schemaMismatch,
                "Nothing was imported: the store does not contain the declarations of its models. Open the store once "
                    + "with its program, built with this version of Strata or a later one."
            )
            .because(.missingDeclarations)
        }
        let builder = try RecordedSchemaBuilder(description, declared, keepsDerived: options.keepsDerivedValues)
        var selection = LineSelection(models: options.models.map { Set($0.map { UTF8Text($0) }) })
        for table in description.tables where !table.isRelationship {
            guard let model = declared.model(ofTable: table.name) else { continue }
            selection.refusals[UTF8Text(table.subject)] = model.refusal(of: table.subject, options)
        }
        return (builder.schema, selection)
    }
}

extension RecordedModel {
    /// The error of the model's lines, if they cannot be imported without its program; nil if they can.
    fileprivate func refusal(of name: String, _ options: RecordedImportOptions) -> LineFailure? {
        if isOfEngine == true { return LineFailure(name, nil, "is a model whose objects only its engine may insert") }
        var reasons: [String] = []
        if !options.skipsCodeChecks, !codeChecks.isEmpty {
            reasons.append("has checks that only its program can run: \(codeChecks.joined(separator: ", "))")
        }
        let derived = attributes.filter { $0.role == .derived }.map(\.name)
        if !options.keepsDerivedValues, !derived.isEmpty {
            reasons.append("has values that only its program can calculate: \(derived.joined(separator: ", "))")
        }
        guard !reasons.isEmpty else { return nil }
        var failure = LineFailure(name, nil, reasons.joined(separator: "; it "))
        failure.reason = .programCode
        return failure
    }

    /// The checks of the model that are code of the program, each in a few words.
    private var codeChecks: [String] {
        var checks = validatesRows == true ? ["validate(_:_:)"] : []
        for attribute in attributes where attribute.role != .derived {
            if let type = attribute.type, type.isCode {
                checks.append("the type of \(attribute.name)" + (type.isTransformed == true ? "" : " (\(type.name))"))
            }
            checks += (attribute.codeRules ?? []).map { "'\($0)' of \(attribute.name)" }
        }
        return checks
    }
}
