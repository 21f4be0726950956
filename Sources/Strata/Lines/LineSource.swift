import Foundation

/// Reads the lines of one export, on a queue of its own.
actor LineSource {
    private enum Phase {
        case beginning
        case running(LineExport)
        case ended
    }

    private let executor = ContextExecutor(label: "strata.lines")
    private let models: [any Model.Type]?
    private let store: Store
    private var phase = Phase.beginning

    init(_ models: [any Model.Type]?, store: Store) {
        self.models = models
        self.store = store
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The lines that come next; none at the end.
    func next() throws -> [Data] {
        do {
            let export: LineExport
            switch phase {
            case .ended: return []
            case .running(let running): export = running
            case .beginning:
                export = try LineExport(models, store: store)
                phase = .running(export)
            }
            var lines: [Data] = []
            while lines.count < Self.portion, let line = try export.next() { lines.append(line) }
            if lines.isEmpty { phase = .ended }
            return lines
        } catch {
            phase = .ended
            throw StrataError(grdb: error)
        }
    }

    /// Writes all lines to a file, which is there once they are complete.
    ///
    /// - Returns: how many there are.
    func write(to url: URL, _ progress: (@Sendable (Int) -> Void)?) throws -> Int {
        let part = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(UUID())")
        do {
            let count = try writeLines(to: part, progress)
            guard rename(part.path, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
            return count
        } catch {
            try? FileManager.default.removeItem(at: part)
            if error is StrataError || error is CancellationError { throw error }
            throw Self.unwritable(url, error)
        }
    }

    static func unwritable(_ url: URL, _ error: any Error) -> StrataError {
        StrataError(
            .cannotOpen,
            "The lines could not be written to \(url.path). Check the path, the permissions and the space.",
            underlying: error
        )
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
            var text = Data()
            for line in lines {
                text.append(line)
                text.append(UInt8(ascii: "\n"))
            }
            try file.write(contentsOf: text)
            count += lines.count
            progress?(count)
        }
        try file.synchronize()
        return count
    }

    /// How many lines are read at a time.
    private static var portion: Int { 256 }
}
