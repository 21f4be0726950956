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
    ///
    /// - Isolation: callable from anywhere; the disk is waited for on a thread of its own.
    /// - Parameter progress: told every thousand lines and after the last one, on that thread, how many were read. It uses neither stack
    ///   nor contexts, since the store is being written to.
    /// - Returns: what was inserted.
    /// - Throws: ``StrataError`` with `invalidImport`, naming the line and what is wrong with it, `cannotOpen`, `closed`, and what the
    ///   store reports; `CancellationError`. Nothing is imported then.
    /// - Complexity: O(lines) in time; in memory, a number for each object at most. What lines are called is kept on disk.
    @discardableResult
    public func importLines(from url: URL, progress: (@Sendable (Int) -> Void)? = nil) async throws -> ChangeSet {
        try await importLines(progress) {
            var reader = try LineReader(url)
            return { try reader.next() }
        }
    }

    /// Inserts the objects of lines; otherwise as ``importLines(from:progress:)``.
    ///
    /// Lines are taken one by one while the store is being written to. What makes them, and `progress`, run on that thread and use
    /// neither stack nor contexts.
    @discardableResult
    public func importLines(
        _ lines: some Sequence<String> & Sendable,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet {
        try await importLines(progress) {
            var iterator = lines.makeIterator()
            return { iterator.next().map { Data($0.utf8) } }
        }
    }

    /// Inserts the objects of lines that come one after the other; otherwise as ``importLines(from:progress:)``.
    ///
    /// They are kept in a temporary file until the last one is there, so that commits do not wait for the sequence.
    ///
    /// - Throws: also what the sequence throws, as it is.
    @discardableResult
    public nonisolated(nonsending) func importLines<Lines: AsyncSequence>(
        _ lines: Lines,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> ChangeSet where Lines.Element == String {
        let spool = try await LineSpool.filled(with: lines, core.engine)
        return try await importLines(progress) {
            var reader = try spool.reader()
            return { try reader.next() }
        }
    }

    /// - Parameter open: gives what gives the lines, one after the other, on the thread that reads them.
    private nonisolated(nonsending) func importLines(
        _ progress: (@Sendable (Int) -> Void)?,
        _ open: @escaping @Sendable () throws -> () throws -> Data?
    ) async throws -> ChangeSet {
        let (store, author, cancellation) = (core.engine, core.author, Cancellation())
        return try await withTaskCancellationHandler {
            try await store.onThread {
                let next = try open()
                return try store.batch(author: author, for: "an import of lines") { job in
                    try LineImport.run(job, store.identity, progress, cancellation, next: next)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
