import Foundation

extension ChunkedSource {
    /// The lines of one export.
    ///
    /// - Parameter make: creates an element from the bytes of a line.
    static func lines(
        of models: [any Model.Type]?,
        _ store: Store,
        _ make: @escaping @Sendable (Data) -> Element
    ) -> ChunkedSource {
        ChunkedSource("strata.lines", store) {
            let export = try LineExport(of: store) { _ in try EntityLines.all(of: models, in: store.schema) }
            return { try export.next().map { (make($0), $0.count) } }
        }
    }
}

extension ChunkedSource<Data> {
    /// The lines of tables that the store records.
    ///
    /// - Parameter tables: the names of the tables.
    static func recordedLines(of tables: [String], _ store: Store) -> ChunkedSource {
        ChunkedSource("strata.lines", store) {
            let export = try LineExport(of: store) { connection in
                let schema = try connection.recordedSchema()
                // Lines do not need the declarations, which a newer version of Strata may have written.
                let declared = try? connection.recordedModels(for: schema)
                return try RecordedLines.all(named: tables, in: schema, declared)
            }
            return { try export.next().map { ($0, $0.count) } }
        }
    }

    /// Writes all lines to a file. The file appears at `url` only when it is complete.
    ///
    /// - Parameter isReplacing: whether the file replaces an existing one. Otherwise, an existing file is an error.
    /// - Returns: the number of lines.
    func write(to url: URL, _ progress: (@Sendable (Int) -> Void)?, isReplacing: Bool = true) throws -> Int {
        let part = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(UUID())")
        do {
            // Found before the work, and again at its end.
            if !isReplacing, access(url.path, F_OK) == 0 { throw Self.exists(url) }
            let count = try writeLines(to: part, progress)
            try Self.move(part, to: url, isReplacing: isReplacing)
            return count
        } catch {
            try? FileManager.default.removeItem(at: part)
            if error is StrataError || error is CancellationError { throw error }
            throw TemporaryLineFile.unwritable(url, error)
        }
    }

    private static func exists(_ url: URL) -> StrataError {
        StrataError(.cannotOpen, "The lines could not be written to \(url.path): the file exists. Name another file.")
            .because(.fileExists)
    }

    private static func move(_ part: URL, to url: URL, isReplacing: Bool) throws {
        if !isReplacing {
            // A second name is an error if a file has it, while a renamed file would replace the other one.
            if link(part.path, url.path) == 0 {
                unlink(part.path)
                return
            }
            // The file system may not support second names.
            if errno == EEXIST || access(url.path, F_OK) == 0 { throw exists(url) }
        }
        guard rename(part.path, url.path) == 0 else { throw POSIXError(.last) }
    }

    private func writeLines(to url: URL, _ progress: (@Sendable (Int) -> Void)?) throws -> Int {
        try Data().write(to: url)
        let file = try FileHandle(forWritingTo: url)
        defer { try? file.close() }
        var count = 0
        while true {
            try Task.checkCancellation()
            let lines = try next()
            if lines.isEmpty { break }
            var piece = Data()
            for line in lines {
                piece.append(line)
                piece.append(LineReader.newline)
                guard piece.count >= TemporaryLineFile.pieceSize else { continue }
                try file.write(contentsOf: piece)
                piece.removeAll(keepingCapacity: true)
            }
            try file.write(contentsOf: piece)
            count += lines.count
            progress?(count)
        }
        try file.synchronize()
        return count
    }
}
