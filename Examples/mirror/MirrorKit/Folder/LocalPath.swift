import Foundation
import Strata

/// A path below the mirrored folder: names separated by slashes.
///
/// Paths are compared and split by the bytes of their UTF-8, as the file system does. Swift compares texts by
/// characters: a slash with a following combining mark is one character, and two spellings of one letter are equal.
struct LocalPath: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    init(_ names: [String]) { text = names.joined(separator: "/") }

    private static let slash = UInt8(ascii: "/")

    /// The names, from the top.
    var names: [String] {
        text.utf8.split(separator: Self.slash).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The folder that contains the path. Nil at the top.
    var folder: LocalPath? {
        text.utf8.lastIndex(of: Self.slash).map { LocalPath(String(decoding: text.utf8[..<$0], as: UTF8.self)) }
    }

    /// The folders that contain the path, the nearest first.
    var folders: [LocalPath] { Array(sequence(first: self, next: \.folder).dropFirst()) }

    /// The last name.
    var last: String {
        guard let index = text.utf8.lastIndex(of: Self.slash) else { return text }
        return String(decoding: text.utf8[text.utf8.index(after: index)...], as: UTF8.self)
    }

    /// The path of a name in a folder. Nil is the top.
    static func join(_ folder: LocalPath?, _ name: String) -> LocalPath {
        folder.map { LocalPath($0.text + "/" + name) } ?? LocalPath(name)
    }

    /// Whether the path is in a folder, at any depth.
    func isBelow(_ folder: LocalPath) -> Bool {
        let (own, other) = (text.utf8, folder.text.utf8)
        guard own.count > other.count, own.starts(with: other) else { return false }
        return own[own.index(own.startIndex, offsetBy: other.count)] == Self.slash
    }

    /// The path after one of its folders was moved.
    func moved(from old: LocalPath, to new: LocalPath) -> LocalPath {
        LocalPath(new.text + String(decoding: text.utf8.dropFirst(old.text.utf8.count), as: UTF8.self))
    }

    static func == (left: LocalPath, right: LocalPath) -> Bool { UTF8Text(left.text) == UTF8Text(right.text) }

    static func < (left: LocalPath, right: LocalPath) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(UTF8Text(text)) }

    /// The path with its letters composed. Two spellings of one name are two files in a folder, but one name in the
    /// tree.
    var composed: LocalPath {
        // ASCII has no compositions, and most names are ASCII.
        text.utf8.allSatisfy { $0 < 0x80 } ? self : LocalPath(text.precomposedStringWithCanonicalMapping)
    }
}

extension LocalPath: CustomStringConvertible, ExpressibleByStringLiteral {
    var description: String { text }

    init(stringLiteral text: String) { self.init(text) }
}
