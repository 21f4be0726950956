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
            let export = try LineExport(models, store: store)
            return { try export.next().map { (make($0), $0.count) } }
        }
    }
}

extension ChunkedSource<Data> {
    /// Writes all lines to a file. The file appears at `url` only when it is complete.
    ///
    /// - Returns: the number of lines.
    func write(to url: URL, _ progress: (@Sendable (Int) -> Void)?) throws -> Int {
        let part = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(UUID())")
        do {
            let count = try writeLines(to: part, progress)
            guard rename(part.path, url.path) == 0 else { throw POSIXError(.last) }
            return count
        } catch {
            try? FileManager.default.removeItem(at: part)
            if error is StrataError || error is CancellationError { throw error }
            throw TemporaryLineFile.unwritable(url, error)
        }
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
