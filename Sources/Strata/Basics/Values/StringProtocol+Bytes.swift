import Foundation

/// Comparing and splitting of names, keys and paths by their UTF-8 bytes, as SQLite, file systems and servers do.
///
/// Swift compares texts by characters. A slash followed by a combining mark is one character, so a search for a slash
/// misses that slash. The same holds for a carriage return followed by a line feed. Two spellings of one letter (`ä`,
/// and `a` with a combining diaeresis) are equal in Swift, but they are two names for a file system or a server.
/// ``UTF8Text`` is the key type of dictionaries and sets.
extension StringProtocol {
    /// Whether both texts have the same bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the bytes of this text come before the bytes of the other text.
    package func precedesByBytes(_ other: some StringProtocol) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// Whether this text begins with the bytes of the other text.
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether this text ends with the bytes of the other text.
    package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
        let surplus = utf8.count - suffix.utf8.count
        return surplus >= 0 && utf8.dropFirst(surplus).elementsEqual(suffix.utf8)
    }

    /// Whether the bytes contain an ASCII character.
    package func containsByte(of character: Unicode.Scalar) -> Bool { utf8.contains(UInt8(ascii: character)) }

    /// The text without its first `count` bytes. The cut must be between two Unicode scalars.
    package func droppingFirstBytes(_ count: Int) -> String { String(decoding: utf8.dropFirst(count), as: UTF8.self) }

    /// The text without its last `count` bytes. The cut must be between two Unicode scalars.
    package func droppingLastBytes(_ count: Int) -> String { String(decoding: utf8.dropLast(count), as: UTF8.self) }

    /// The texts between the occurrences of an ASCII character.
    ///
    /// - Parameters:
    ///   - separator: the character.
    ///   - maxSplits: the maximum number of splits.
    ///   - omitsEmpty: whether texts without bytes are omitted.
    package func split(
        atBytes separator: Unicode.Scalar,
        maxSplits: Int = .max,
        omitsEmpty: Bool = true
    ) -> [String] {
        utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: omitsEmpty)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The texts between slashes.
    ///
    /// - Parameter omitsEmpty: whether texts without bytes are omitted.
    package func splitAtSlashes(omitsEmpty: Bool = true) -> [String] { split(atBytes: "/", omitsEmpty: omitsEmpty) }

    /// The texts before and after the first occurrence of an ASCII character; nil if the character does not occur.
    package func splitAtFirst(_ character: Unicode.Scalar) -> (before: String, after: String)? {
        utf8.firstIndex(of: UInt8(ascii: character)).map(split(around:))
    }

    /// The texts before and after the last occurrence of an ASCII character; nil if the character does not occur.
    package func splitAtLast(_ character: Unicode.Scalar) -> (before: String, after: String)? {
        utf8.indices.filter { utf8[$0] == UInt8(ascii: character) }.last.map(split(around:))
    }

    private func split(around index: Index) -> (before: String, after: String) {
        (
            String(decoding: utf8[..<index], as: UTF8.self),
            String(decoding: utf8[utf8.index(after: index)...], as: UTF8.self)
        )
    }
}

extension String {
    /// Whether both texts have the same bytes.
    ///
    /// This is faster than the function of all texts, which compares one byte after the other.
    package func hasSameBytes(as other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        // Only native strings have contiguous storage. For them, `memcmp` compares at the speed of memory.
        return utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { others in
                count == 0 || memcmp(bytes.baseAddress!, others.baseAddress!, count) == 0  // both are non-empty
            }
        }.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }
}

extension Optional where Wrapped: StringProtocol {
    /// Whether both are nil, or both texts have the same bytes.
    package func hasSameBytes(as other: Wrapped?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        default: false
        }
    }
}

extension Sequence where Element: StringProtocol {
    /// Whether both sequences have the same texts in the same order, compared by bytes.
    package func hasSameBytes(as other: some Sequence<Element>) -> Bool {
        elementsEqual(other) { $0.hasSameBytes(as: $1) }
    }

    /// Whether one of the texts has the same bytes as `text`.
    package func containsBytes(of text: some StringProtocol) -> Bool { contains { $0.hasSameBytes(as: text) } }

    /// The texts in the order of their bytes.
    package func sortedByBytes() -> [Element] { sorted { $0.precedesByBytes($1) } }
}
