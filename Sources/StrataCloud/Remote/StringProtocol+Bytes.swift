/// Paths, keys and names are compared and split by the bytes of their UTF-8.
///
/// Swift compares texts by characters. A slash and a combining mark after it are one character, so a search for a slash misses that slash.
/// Two spellings of one letter (`ä`, and `a` with a combining diaeresis) are equal, but they are two names for a file system or a server.
extension StringProtocol {
    /// Whether both texts have the same bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the text begins with the bytes of another text.
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the text ends with the bytes of another text.
    package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
        utf8.reversed().starts(with: suffix.utf8.reversed())
    }

    /// The text without its first bytes. The count must end between two Unicode scalars.
    package func droppingFirstBytes(_ count: Int) -> String { String(decoding: utf8.dropFirst(count), as: UTF8.self) }

    /// The text without its last bytes. The count must begin between two Unicode scalars.
    package func droppingLastBytes(_ count: Int) -> String { String(decoding: utf8.dropLast(count), as: UTF8.self) }

    /// The texts between slashes.
    ///
    /// - Parameter omitsEmpty: whether texts without bytes are left out.
    package func splitAtSlashes(omitsEmpty: Bool = true) -> [String] {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: omitsEmpty)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes before the first occurrence of an ASCII character, and the bytes after it; nil if it does not occur.
    package func splitAtFirst(_ character: Unicode.Scalar) -> (before: String, after: String)? {
        guard let index = utf8.firstIndex(of: UInt8(ascii: character)) else { return nil }
        return (
            String(decoding: utf8[..<index], as: UTF8.self),
            String(decoding: utf8[utf8.index(after: index)...], as: UTF8.self)
        )
    }
}
