import Foundation

/// The lines of a file, read piece by piece.
struct LineReader {
    private let file: FileHandle
    private var buffer = Data()
    /// How much of the buffer has no end of a line in it.
    private var searched = 0
    private var isAtEnd = false

    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(_ url: URL) throws {
        do {
            file = try FileHandle(forReadingFrom: url)
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// The line that comes next, without its end; nil at the end.
    ///
    /// - Complexity: O(its length).
    mutating func next() throws -> Data? {
        while true {
            if let end = endOfLine() {
                var line = buffer.prefix(end)
                buffer = buffer.dropFirst(end + 1)
                searched = 0
                if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
                return line
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
                let end = memchr(start + searched, Int32(UInt8(ascii: "\n")), bytes.count - searched)
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
