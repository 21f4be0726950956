package import Foundation

extension ContextStack {
    /// Inserts the objects of lines into a store whose models the program does not have: all objects or none.
    ///
    /// The lines have the format of ``importJSONLines(from:matching:progress:)``, and the result is the same. The store's
    /// record replaces the models: its description, and the declarations that a program has recorded. An import whose
    /// lines need code of the program is refused, unless the options name the code that is left out.
    ///
    /// Open the stack with ``StoreConfiguration/allowsUnopenedModels`` and the models of all engines of the store.
    ///
    /// - Isolation: callable from anywhere. Disk access blocks only a separate thread.
    /// - Parameters:
    ///   - file: the lines. A pipe is copied to a temporary file before other processes have to wait for the import.
    ///   - options: the models that are imported, and the code of the program that the import leaves out.
    ///   - progress: called on that thread every thousand lines and after the last line with the number of lines read.
    /// - Returns: the counts of lines and of inserted objects.
    /// - Throws: ``StrataError`` with `invalidImport`, which names the line and its error, and whose reason is
    ///   `programCode` if the program must import the line; `schemaMismatch` with the reason `missingDeclarations`, or
    ///   `newerStore`, if the store does not have declarations that this version can read; `cannotOpen`; `closed`;
    ///   `readOnly`; and the errors of the store. Also `CancellationError`. After an error, nothing is imported.
    /// - Complexity: O(lines) in time. Memory holds at most a number for each object, and the longest line.
    package nonisolated(nonsending) func importRecordedJSONLines(
        from file: FileHandle,
        _ options: RecordedImportOptions = RecordedImportOptions(),
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> RecordedImportResult {
        let store = core.engine
        try store.checkWritable()
        let cancellation = Cancellation()
        let lines = RecordedImport(store: store, author: core.author, options: options, cancellation: cancellation)
        return try await withTaskCancellationHandler {
            try await store.onThread {
                do {
                    return try lines.run(file, progress)
                } catch let passed as PassedError {
                    throw passed.error
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
