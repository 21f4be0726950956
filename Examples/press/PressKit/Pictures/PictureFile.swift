import Foundation

/// The type of a picture, by the first bytes of its file.
enum PictureType: String, Sendable {
    case png = "image/png"
    case jpeg = "image/jpeg"

    /// The end of the names of such files.
    var ending: String { self == .png ? "png" : "jpg" }

    /// The type of a `Content-Type`, which may have parameters.
    init?(mediaType: String) {
        let name = mediaType.split(separator: ";", omittingEmptySubsequences: false).first ?? ""
        self.init(rawValue: name.trimmingCharacters(in: .whitespaces).lowercased())
    }

    init?(firstBytes bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else {
            return nil
        }
    }
}

/// Reads the header of a picture. Nothing is decoded.
///
/// A real service makes thumbnails here, with an image library in a separate process, because such libraries read
/// hostile files.
struct PictureHeader {
    private let file: FileHandle

    init(_ url: URL) throws { file = try FileHandle(forReadingFrom: url) }

    /// The size of the picture; nil if the file is not a complete header of a PNG or JPEG.
    func preview() throws -> PicturePreview? {
        defer { try? file.close() }
        // The signature of a PNG and its first chunk: length, type, 13 bytes, checksum.
        let start = try bytes(33)
        switch PictureType(firstBytes: start) {
        case .png:
            guard start.count == 33, Self.number(start[8..<12]) == 13, Array(start[12..<16]) == Array("IHDR".utf8)
            else {
                return nil
            }
            return Self.preview(width: Self.number(start[16..<20]), height: Self.number(start[20..<24]))
        case .jpeg: return try jpegPreview()
        case nil: return nil
        }
    }

    /// Whether the file has all of its parts, as far as their lengths show it: the chunks of a PNG up to the last one.
    /// The data of a JPEG does not have a length, so its end is not checked.
    func isComplete() throws -> Bool {
        defer { try? file.close() }
        guard try PictureType(firstBytes: bytes(8)) == .png else { return true }
        let end = try file.seekToEnd()
        var position: UInt64 = 8
        for _ in 0..<100_000 {
            guard position + 12 <= end else { return false }
            try file.seek(toOffset: position)
            let head = try bytes(8)
            guard head.count == 8 else { return false }
            position += UInt64(Self.number(head[0..<4])) + 12
            if Array(head[4..<8]) == Array("IEND".utf8) { return position <= end }
        }
        return false
    }

    /// Skips from segment to segment, up to the one with the size. Files may have any number of segments, so the search
    /// has a limit.
    private func jpegPreview() throws -> PicturePreview? {
        try file.seek(toOffset: 2)
        for _ in 0..<1000 {
            let head = try bytes(4)
            guard head.count == 4, head[0] == 0xFF else { return nil }
            let length = Self.number(head[2..<4])
            guard length >= 2 else { return nil }
            // The markers of frames. The four others in this range are tables and reserved.
            if (0xC0...0xCF).contains(head[1]), ![0xC4, 0xC8, 0xCC].contains(head[1]) {
                let frame = try bytes(5)
                guard frame.count == 5 else { return nil }
                return Self.preview(width: Self.number(frame[3..<5]), height: Self.number(frame[1..<3]))
            }
            try file.seek(toOffset: file.offset() + UInt64(length - 2))
        }
        return nil
    }

    private func bytes(_ count: Int) throws -> [UInt8] { try file.read(upToCount: count).map { Array($0) } ?? [] }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func preview(width: Int, height: Int) -> PicturePreview? {
        width > 0 && height > 0 ? PicturePreview(width: width, height: height) : nil
    }
}
