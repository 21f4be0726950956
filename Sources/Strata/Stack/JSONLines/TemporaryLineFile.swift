import Foundation

/// A temporary file that keeps texts until all of them have arrived.
///
/// The file's name is removed right after its creation. Other processes therefore cannot open the file, and nothing
/// remains of it if this process crashes.
struct TemporaryLineFile: Sendable {
    /// The number of bytes written at a time.
    static let pieceSize = 1 << 16
    /// A byte that does not occur in UTF-8, so any text can be stored unchanged.
    private static let end: UInt8 = 0xFF

    let file: FileHandle

    /// Stores all texts of an asynchronous sequence. Disk access blocks only a separate thread.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`; the errors of the sequence.
    static nonisolated(nonsending) func filled<Lines: AsyncSequence>(
        with lines: Lines,
        _ store: Store
    ) async throws -> TemporaryLineFile where Lines.Element == String {
        let temporaryFile = try await store.onThread { try TemporaryLineFile() }
        var piece = Data()
        for try await line in lines {
            piece.append(contentsOf: line.utf8)
            piece.append(end)
            guard piece.count >= pieceSize else { continue }
            try await store.onThread { [piece] in try temporaryFile.write(piece) }
            piece.removeAll(keepingCapacity: true)
        }
        try await store.onThread { [piece] in try temporaryFile.write(piece) }
        return temporaryFile
    }

    /// Stores all texts of a synchronous sequence.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    static func filled(with lines: some Sequence<String>, _ cancellation: Cancellation) throws -> TemporaryLineFile {
        let temporaryFile = try TemporaryLineFile()
        var piece = Data()
        for line in lines {
            try cancellation.check()
            piece.append(contentsOf: line.utf8)
            piece.append(end)
            guard piece.count >= pieceSize else { continue }
            try temporaryFile.write(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try temporaryFile.write(piece)
        return temporaryFile
    }

    /// Stores the bytes of a file that can be read only once, as they are.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    static func copied(from source: FileHandle, _ cancellation: Cancellation) throws -> TemporaryLineFile {
        let temporaryFile = try TemporaryLineFile()
        while true {
            try cancellation.check()
            let piece: Data
            do { piece = try source.read(upToCount: pieceSize) ?? Data() } catch { throw LineReader.unreadable(error) }
            if piece.isEmpty { return temporaryFile }
            try temporaryFile.write(piece)
        }
    }

    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(in folder: URL = FileManager.default.temporaryDirectory) throws {
        var path = Array(folder.appendingPathComponent("strata-lines-XXXXXX").path.utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw Self.unwritable(folder, POSIXError(.last)) }
        unlink(path)
        // Child processes do not inherit the descriptor.
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

    /// Reads the texts for an import.
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
    /// The error code of the last failed system call.
    static var last: POSIXErrorCode { POSIXErrorCode(rawValue: errno) ?? .EIO }
}
