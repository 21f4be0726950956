/// Names, keys and paths are compared and split by the bytes of their UTF-8, as SQLite, file systems and servers do.
///
/// Swift compares texts by characters. A slash and a combining mark after it are one character, so a search for a slash misses that slash,
/// and so are a carriage return and a line feed. Two spellings of one letter (`ä`, and `a` with a combining diaeresis) are equal, but they
/// are two names for a file system or a server. ``UTF8Text`` is the key of dictionaries and sets.
extension StringProtocol {
    /// Whether both texts have the same bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the bytes of the text come before those of another text.
    package func precedesByBytes(_ other: some StringProtocol) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// Whether the text begins with the bytes of another text.
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the text ends with the bytes of another text.
    package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
        let surplus = utf8.count - suffix.utf8.count
        return surplus >= 0 && utf8.dropFirst(surplus).elementsEqual(suffix.utf8)
    }

    /// Whether an ASCII character occurs among the bytes.
    package func containsByte(of character: Unicode.Scalar) -> Bool { utf8.contains(UInt8(ascii: character)) }

    /// The text without its first bytes. The count must end between two Unicode scalars.
    package func droppingFirstBytes(_ count: Int) -> String { String(decoding: utf8.dropFirst(count), as: UTF8.self) }

    /// The text without its last bytes. The count must begin between two Unicode scalars.
    package func droppingLastBytes(_ count: Int) -> String { String(decoding: utf8.dropLast(count), as: UTF8.self) }

    /// The texts between the occurrences of an ASCII character.
    ///
    /// - Parameters:
    ///   - separator: the character.
    ///   - maxSplits: how often the text is split at most.
    ///   - omitsEmpty: whether texts without bytes are left out.
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
    /// - Parameter omitsEmpty: whether texts without bytes are left out.
    package func splitAtSlashes(omitsEmpty: Bool = true) -> [String] { split(atBytes: "/", omitsEmpty: omitsEmpty) }

    /// The bytes before the first occurrence of an ASCII character, and the bytes after it; nil if it does not occur.
    package func splitAtFirst(_ character: Unicode.Scalar) -> (before: String, after: String)? {
        utf8.firstIndex(of: UInt8(ascii: character)).map(split(around:))
    }

    /// The bytes before the last occurrence of an ASCII character, and the bytes after it; nil if it does not occur.
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
    /// Whether both sequences have the same texts in the same order, by their bytes.
    package func hasSameBytes(as other: some Sequence<Element>) -> Bool {
        elementsEqual(other) { $0.hasSameBytes(as: $1) }
    }

    /// Whether one of the texts has the bytes of another text.
    package func containsBytes(of text: some StringProtocol) -> Bool { contains { $0.hasSameBytes(as: text) } }

    /// The texts in the order of their bytes.
    package func sortedByBytes() -> [Element] { sorted { $0.precedesByBytes($1) } }
}
