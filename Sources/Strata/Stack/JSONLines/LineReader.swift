import Foundation

/// Reads the lines of a file piece by piece.
struct LineReader {
    static let newline = UInt8(ascii: "\n")

    private let file: FileHandle
    /// The byte that ends a line.
    private let end: UInt8
    private var buffer = Data()
    /// The number of bytes at the beginning of the buffer that contain no end of a line.
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

    /// Reads a file from its beginning.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(_ file: FileHandle, end: UInt8) throws {
        self.init(file, end)
        try rewind()
    }

    private init(_ file: FileHandle, _ end: UInt8) { (self.file, self.end) = (file, end) }

    /// Restarts at the first line.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`, for example for a pipe.
    mutating func rewind() throws {
        do { try file.seek(toOffset: 0) } catch { throw Self.unreadable(error) }
        (buffer, searched, isAtEnd) = (Data(), 0, false)
    }

    /// The next line without its end; nil at the end.
    ///
    /// - Complexity: O(length of the line).
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

    /// The number of bytes before the first end of a line.
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
            // Appending to a slice would keep the bytes that were already read. The copy releases them once, not with
            // each piece of a long line.
            if buffer.startIndex > 0 { buffer = Data(buffer) }
            buffer.append(piece)
        } catch {
            throw Self.unreadable(error)
        }
    }

    static func unreadable(_ error: any Error) -> StrataError {
        StrataError(
            .cannotOpen,
            "The file of lines cannot be read. Check the path and the permissions.",
            underlying: error
        )
    }
}
