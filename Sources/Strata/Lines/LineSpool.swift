import Foundation

/// Texts that are kept in a file until all of them are there.
///
/// The file has no name from the beginning on, so that nobody else opens it and nothing is left of it, whatever becomes of the process.
struct LineSpool: Sendable {
    /// How many bytes are written at a time.
    static let pieceSize = 1 << 16
    /// A byte that no text has, so that any text stays whole.
    private static let end: UInt8 = 0xFF

    let file: FileHandle

    /// Keeps all texts of a sequence. The disk is waited for on a thread of its own.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`; what the sequence throws.
    static nonisolated(nonsending) func filled<Lines: AsyncSequence>(
        with lines: Lines,
        _ store: Store
    ) async throws -> LineSpool where Lines.Element == String {
        let spool = try await store.onThread { try LineSpool() }
        var piece = Data()
        for try await line in lines {
            piece.append(contentsOf: line.utf8)
            piece.append(end)
            guard piece.count >= pieceSize else { continue }
            try await store.onThread { [piece] in try spool.write(piece) }
            piece.removeAll(keepingCapacity: true)
        }
        try await store.onThread { [piece] in try spool.write(piece) }
        return spool
    }

    /// Keeps all texts of a sequence that is at hand.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    static func filled(with lines: some Sequence<String>, _ cancellation: Cancellation) throws -> LineSpool {
        let spool = try LineSpool()
        var piece = Data()
        for line in lines {
            try cancellation.check()
            piece.append(contentsOf: line.utf8)
            piece.append(end)
            guard piece.count >= pieceSize else { continue }
            try spool.write(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try spool.write(piece)
        return spool
    }

    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(in folder: URL = FileManager.default.temporaryDirectory) throws {
        var path = Array(folder.appendingPathComponent("strata-lines-XXXXXX").path.utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw Self.unwritable(folder, POSIXError(.last)) }
        unlink(path)
        // Not for programs that this process starts.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private func write(_ piece: Data) throws {
        do {
            try file.write(contentsOf: piece)
        } catch {
            throw Self.unwritable(FileManager.default.temporaryDirectory, error)
        }
    }

    /// Reads the texts from the first one on.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    func reader() throws -> LineReader { try LineReader(file, end: Self.end) }

    /// The same for an import.
    func open(_ isAgain: Bool) throws -> LineImport.Reading {
        var reader = try reader()
        return { try reader.next() }
    }

    static func unwritable(_ url: URL, _ error: any Error) -> StrataError {
        StrataError(
            .cannotOpen,
            "The lines could not be written to \(url.path). Check the path, the permissions and the space.",
            underlying: error
        )
    }
}

extension POSIXErrorCode {
    /// Why the last call of the system failed.
    static var last: POSIXErrorCode { POSIXErrorCode(rawValue: errno) ?? .EIO }
}
