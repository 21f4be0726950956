import Foundation

/// The lines of a file, read piece by piece.
struct LineReader {
    static let newline = UInt8(ascii: "\n")

    private let file: FileHandle
    /// The byte that ends a line.
    private let end: UInt8
    private var buffer = Data()
    /// How much of the buffer has no end of a line in it.
    private var searched = 0
    private var isAtEnd = false

    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(_ url: URL) throws {
        do {
            self.init(try FileHandle(forReadingFrom: url), Self.newline)
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// Reads a file from the beginning on.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(_ file: FileHandle, end: UInt8) throws {
        self.init(file, end)
        try rewind()
    }

    private init(_ file: FileHandle, _ end: UInt8) { (self.file, self.end) = (file, end) }

    /// Begins again with the first line.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`, of a pipe for one.
    mutating func rewind() throws {
        do { try file.seek(toOffset: 0) } catch { throw Self.unreadable(error) }
        (buffer, searched, isAtEnd) = (Data(), 0, false)
    }

    /// The line that comes next, without its end; nil at the end.
    ///
    /// - Complexity: O(its length).
    mutating func next() throws -> Data? {
        while true {
            if let end = endOfLine() {
                defer { buffer = buffer.dropFirst(end + 1) }
                searched = 0
                return buffer.prefix(end)
            }
            if isAtEnd {
                defer { buffer = Data() }
                return buffer.isEmpty ? nil : buffer
            }
            try fill()
        }
    }

    /// How many bytes are before the first end of a line.
    private mutating func endOfLine() -> Int? {
        let found = buffer.withUnsafeBytes { bytes -> Int? in
            guard searched < bytes.count, let start = bytes.baseAddress,
                let end = memchr(start + searched, Int32(self.end), bytes.count - searched)
            else { return nil }
            return UnsafeRawPointer(end) - start
        }
        searched = buffer.count
        return found
    }

    private mutating func fill() throws {
        do {
            let piece = try file.read(upToCount: 1 << 16) ?? Data()
            isAtEnd = piece.isEmpty
            // Appending to a slice would keep what was read before. That is let go once, not with each piece of a long line.
            if buffer.startIndex > 0 { buffer = Data(buffer) }
            buffer.append(piece)
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ error: any Error) -> StrataError {
        StrataError(
            .cannotOpen,
            "The file of lines cannot be read. Check the path and the permissions.",
            underlying: error
        )
    }
}
