package import Foundation

/// Exports of a store whose models the program does not have.
extension ContextStack {
    /// Reads the committed objects of some tables as JSON lines, from one snapshot of the store.
    ///
    /// The lines have the format of ``exportJSONLines(of:to:progress:)``. If the store does not have the declarations of
    /// its models, both sides of a many-to-many relationship are listed.
    ///
    /// - Isolation: callable from anywhere. Disk access blocks only a separate thread. The function runs where the
    ///   caller runs.
    /// - Parameters:
    ///   - tables: the names of the tables, in the order of the lines.
    ///   - body: receives some lines without their ends.
    /// - Returns: the number of lines.
    /// - Throws: ``StrataError`` with `unknownModel`, `undecodable` for a value that a column cannot hold, `closed`, or
    ///   another code if the store cannot be read; errors of the function; `CancellationError`.
    /// - Complexity: O(objects) in time. Memory holds about a mebibyte of lines, or one line that is longer.
    @discardableResult
    package nonisolated(nonsending) func readRecordedJSONLines(
        of tables: [String],
        _ body: ([Data]) throws -> Void
    ) async throws -> Int {
        let source = ChunkedSource<Data>.recordedLines(of: tables, core.engine)
        var count = 0
        while true {
            try Task.checkCancellation()
            let lines = try await source.next()
            if lines.isEmpty { return count }
            try body(lines)
            count += lines.count
        }
    }

    /// Writes the committed objects of some tables to a new file; otherwise like ``readRecordedJSONLines(of:_:)``.
    ///
    /// - Parameter url: the file to create. It appears when it is complete.
    /// - Throws: also `cannotOpen` if the file exists, is one of the files that SQLite or Strata uses beside the store,
    ///   or cannot be written. The reason of an existing file is `fileExists`.
    package func exportRecordedJSONLines(of tables: [String], to url: URL) async throws -> Int {
        let path = try await maintain { store, _ in try store.reading { connection, _ in connection.path } }
        if let path, StoreCopy.isBeside(path, url.path) {
            throw StrataError(
                .cannotOpen,
                "The lines could not be written to \(url.path), because the store itself uses this file. Name another "
                    + "file."
            )
        }
        return try await ChunkedSource<Data>.recordedLines(of: tables, core.engine)
            .write(to: url, nil, isReplacing: false)
    }
}
