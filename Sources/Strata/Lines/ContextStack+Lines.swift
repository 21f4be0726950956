public import Foundation

extension ContextStack {
    /// The committed objects as lines of JSON, one for each object, as an asynchronous sequence: see ``exportLines(of:to:progress:)``.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter models: whose objects; without it those of all models of the stack. Models follow each other in this order, and
    ///   the objects of each in the order of their ids.
    public func lines(of models: [any Model.Type]? = nil) -> LineSequence {
        LineSequence(models: models, store: core.engine)
    }

    /// Writes the committed objects to a file as lines of JSON, one for each object, as they are at one moment.
    ///
    /// ```json
    /// {"$id":"Article-42-9f3c","$model":"Article","author":"Author-1-9f3c","tags":["Tag-7-9f3c"],"title":"The Left Hand of Darkness"}
    /// ```
    ///
    /// - Every column is there, and every many-to-many or ordered relationship, with the ids of its members in their order.
    /// - Dates are texts of ISO 8601 with as many digits as it takes to read the very same date back, `Data` and external bytes are
    ///   Base64, decimals and `Codable` values the texts that the store keeps, transformed ones what their transformer stores.
    /// - The file is replaced once all lines are written. Commits go on meanwhile; memory stays bounded.
    ///
    /// - Isolation: callable from anywhere; the disk is waited for on a thread of its own.
    /// - Parameters:
    ///   - models: as in ``lines(of:)``.
    ///   - progress: told now and then, on that thread, how many lines are written.
    /// - Returns: how many lines there are.
    /// - Throws: ``StrataError`` with `unknownModel`, `closed`, `cannotOpen` where the file cannot be written, or if the store cannot
    ///   be read; `CancellationError`. The file is as it was then.
    @discardableResult
    public func exportLines(
        of models: [any Model.Type]? = nil,
        to url: URL,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Int {
        try await PortionSource<Data>.lines(of: models, core.engine) { $0 }.write(to: url, progress)
    }

    /// Inserts the objects of a file of lines, as ``exportLines(of:to:progress:)`` writes them, into this store: all or none.
    ///
    /// A commit of its own, as ``ObjectContext/batchInsert(_:)`` is: objects are validated, timestamps that are not given are set,
    /// everybody is told as of other commits, and life cycle hooks do not run. Other commits wait until it is over.
    ///
    /// - All objects get new ids. `$id` is what a line calls its object, any text, and other lines refer to it by that, also before
    ///   its own line. What no line is called must be the id of an object that this store has.
    /// - A property that is not given gets its default, nil where it is optional. Derived ones may be given and are calculated anew.
    /// - Lines of models in `matching` update the object that has the same unique values, if the store has one when the import begins,
    ///   and other lines that refer to such a line lead to it. What a line gives is set, a relationship to exactly the members given;
    ///   what it leaves out stays, as `createdAt` does, and `updatedAt` is set where anything changes. Of an ordered one-to-many
    ///   relationship lines give the order: whose the members are is said by their own lines. Lines are read twice then.
    ///
    /// - Isolation: callable from anywhere; the disk is waited for on a thread of its own.
    /// - Parameters:
    ///   - matching: by what lines of a model are matched with objects of the store; those of other models are new objects.
    ///   - progress: told every thousand lines and after the last one, on that thread, how many were read. It uses neither stack
    ///     nor contexts, since the store is being written to.
    /// - Returns: what was inserted and updated.
    /// - Throws: ``StrataError`` with `invalidImport`, naming the line and what is wrong with it, `cannotOpen`, `closed`, `invalidQuery`
    ///   or `unknownModel` where lines cannot be matched as asked for, and what the store reports; `CancellationError`. Nothing is imported then.
    /// - Complexity: O(lines) in time; in memory, a number for each object at most. What lines are called is kept on disk.
    @discardableResult
    public func importLines(
        from url: URL,
        matching: [LineMatch] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet {
        try await importLines(matching, progress) { _ in
            let reader = try LineReader(url)
            return { isAgain in
                var reader = reader
                if isAgain { try reader.rewind() }
                return { try reader.next() }
            }
        }
    }

    /// Inserts the objects of lines; otherwise as ``importLines(from:matching:progress:)``.
    ///
    /// Lines are taken one by one while the store is being written to. What makes them, and `progress`, run on that thread and use
    /// neither stack nor contexts. Lines that are matched are kept in a temporary file before.
    @discardableResult
    public func importLines(
        _ lines: some Sequence<String> & Sendable,
        matching: [LineMatch] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet {
        try await importLines(matching, progress) { cancellation in
            // What is read twice need not be the same the second time.
            guard matching.isEmpty else { return try LineSpool.filled(with: lines, cancellation).open }
            return { _ in
                var iterator = lines.makeIterator()
                return { iterator.next().map { Data($0.utf8) } }
            }
        }
    }

    /// Inserts the objects of lines that come one after the other; otherwise as ``importLines(from:matching:progress:)``.
    ///
    /// They are kept in a temporary file until the last one is there, so that commits do not wait for the sequence.
    ///
    /// - Throws: also what the sequence throws, as it is.
    @discardableResult
    public nonisolated(nonsending) func importLines<Lines: AsyncSequence>(
        _ lines: Lines,
        matching: [LineMatch] = [],
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet where Lines.Element == String {
        let spool = try await LineSpool.filled(with: lines, core.engine)
        return try await importLines(matching, progress) { _ in spool.open }
    }

    /// - Parameter open: gives what reads the lines, on the thread that does.
    private nonisolated(nonsending) func importLines(
        _ matching: [LineMatch],
        _ progress: (@Sendable (Int) -> Void)?,
        _ open: @escaping @Sendable (Cancellation) throws -> LineImport.Opening
    ) async throws -> ChangeSet {
        let (store, author, cancellation) = (core.engine, core.author, Cancellation())
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
