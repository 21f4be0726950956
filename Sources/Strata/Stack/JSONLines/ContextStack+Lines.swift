public import Foundation

extension ContextStack {
    /// The committed objects as an asynchronous sequence of JSON lines, one line for each object.
    ///
    /// ``exportJSONLines(of:to:progress:)`` describes the format.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter models: the models whose objects are exported; nil for all models of the stack. The models are
    ///   exported in this order, and the objects of each model in the order of their ids.
    public func jsonLines(of models: [any Model.Type]? = nil) -> JSONLineSequence {
        JSONLineSequence(models: models, store: core.engine)
    }

    /// Writes the committed objects to a file of JSON lines, one line for each object, from one snapshot of the store.
    ///
    /// ```json
    /// {"$id":"Article-42-9f3c","$model":"Article","author":"Author-1-9f3c","tags":["Tag-7-9f3c"],"title":"Left Hand"}
    /// ```
    ///
    /// - A line contains every column and every many-to-many or ordered relationship. A relationship is the list of its
    ///   members' ids in their order.
    /// - Dates are ISO 8601 texts with enough digits to read the exact same date back. `Data` and external bytes are
    ///   Base64. Decimals and `Codable` values are the texts that the store keeps. Transformed values are written as
    ///   their transformer stores them.
    /// - The file is replaced after all lines have been written. Commits continue during the export, and memory use
    ///   stays bounded.
    ///
    /// - Isolation: callable from anywhere. Disk access blocks only a separate thread.
    /// - Parameters:
    ///   - models: as in ``jsonLines(of:)``.
    ///   - url: the file to write or replace.
    ///   - progress: called from time to time on that thread with the number of lines written.
    /// - Returns: the number of lines.
    /// - Throws: ``StrataError`` with `unknownModel`, `closed`, `cannotOpen` if the file cannot be written, or another
    ///   code if the store cannot be read; `CancellationError`. After an error, the file is unchanged.
    @discardableResult
    public func exportJSONLines(
        of models: [any Model.Type]? = nil,
        to url: URL,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Int {
        try await ChunkedSource<Data>.lines(of: models, core.engine) { $0 }.write(to: url, progress)
    }

    /// Inserts the objects of a file of lines into this store: all objects or none.
    ///
    /// The lines have the format that ``exportJSONLines(of:to:progress:)`` writes.
    ///
    /// The import is one separate commit, like ``SavingContext/batchInsert(_:)``. Objects are validated, missing
    /// timestamps are set, and all observers are notified as of other commits. Life cycle hooks do not run. Other
    /// commits wait until the import ends.
    ///
    /// - All objects get new ids. `$id` is the line's name for its object and can be any text. Other lines refer to the
    ///   object by this name, even before the object's own line. A name that no line has must be the id of an object in
    ///   this store.
    /// - A missing property gets its default, or nil if it is optional. Derived properties can be given, but are
    ///   recalculated.
    /// - Lines of models in `matching` update the object that has the same unique values, if the store has one when the
    ///   import begins. References from other lines to such a line lead to that object. The update sets the properties
    ///   that the line gives, and sets a relationship to exactly the given members. Properties that the line omits stay
    ///   unchanged, as does `createdAt`. `updatedAt` is set if anything changes. For an ordered one-to-many
    ///   relationship, a line gives only the order: the members' own lines say which object they belong to. With
    ///   `matching`, lines are read twice.
    ///
    /// - Isolation: callable from anywhere. Disk access blocks only a separate thread.
    /// - Parameters:
    ///   - url: the file to read.
    ///   - matching: how lines of a model are matched with objects of the store. Lines of other models create new
    ///     objects.
    ///   - progress: called on that thread every thousand lines and after the last line with the number of lines read.
    ///     It must not use the stack or contexts, because the import holds the store's write lock.
    /// - Returns: the inserted and updated objects.
    /// - Throws: ``StrataError`` with `invalidImport`, which names the line and its error; `cannotOpen`; `closed`;
    ///   `readOnly`; `invalidQuery` or `unknownModel` if lines cannot be matched as requested; and the errors of the
    ///   store. Also `CancellationError`. After an error, nothing is imported.
    /// - Complexity: O(lines) in time. Memory holds at most a number for each object. The names of lines are kept on
    ///   disk.
    @discardableResult
    public func importJSONLines(
        from url: URL,
        matching: [ImportKey] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet {
        try await importJSONLines(matching, progress) { _ in
            let reader = try LineReader(url)
            return { isAgain in
                var reader = reader
                if isAgain { try reader.rewind() }
                return { try reader.next() }
            }
        }
    }

    /// Inserts the objects of lines; otherwise like ``importJSONLines(from:matching:progress:)``.
    ///
    /// Lines are read one by one while the import writes to the store. The sequence and `progress` run on the import's
    /// thread and must not use the stack or contexts. If lines are matched, they are first copied to a temporary file.
    @discardableResult
    public func importJSONLines(
        _ lines: some Sequence<String> & Sendable,
        matching: [ImportKey] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet {
        try await importJSONLines(matching, progress) { cancellation in
            // A sequence that is read twice can yield different elements the second time.
            guard matching.isEmpty else { return try TemporaryLineFile.filled(with: lines, cancellation).open }
            return { _ in
                var iterator = lines.makeIterator()
                return { iterator.next().map { Data($0.utf8) } }
            }
        }
    }

    /// Inserts the objects of an asynchronous sequence of lines; otherwise like
    /// ``importJSONLines(from:matching:progress:)``.
    ///
    /// The lines are kept in a temporary file until the last one has arrived, so that commits do not wait for the
    /// sequence.
    ///
    /// - Throws: also the errors of the sequence, unchanged.
    @discardableResult
    public nonisolated(nonsending) func importJSONLines<Lines: AsyncSequence>(
        _ lines: Lines,
        matching: [ImportKey] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet where Lines.Element == String {
        // Lines that were read could not be read again.
        try core.engine.checkWritable()
        let temporaryFile = try await TemporaryLineFile.filled(with: lines, core.engine)
        return try await importJSONLines(matching, progress) { _ in temporaryFile.open }
    }

    /// - Parameter open: returns the function that reads the lines. Runs on the import's thread.
    private nonisolated(nonsending) func importJSONLines(
        _ matching: [ImportKey],
        _ progress: (@Sendable (Int) -> Void)?,
        _ open: @escaping @Sendable (Cancellation) throws -> LineImport.Opening
    ) async throws -> ChangeSet {
        let (store, author, cancellation) = (core.engine, core.author, Cancellation())
        try store.checkWritable()
        return try await withTaskCancellationHandler {
            try await store.onThread {
                do {
                    let open = try open(cancellation)
                    return try store.batch(author: author, for: "an import of lines") { job in
                        try LineImport.run(
                            job,
                            store.identity,
                            matching: matching,
                            progress,
                            cancellation,
                            open: open
                        )
                    }
                } catch let passed as PassedError {
                    throw passed.error
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
