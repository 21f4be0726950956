import Strata

/// A path in an account's tree: a trunk, and the names below it.
///
/// ```swift
/// let path: TreePath = "/customers/42"                    // below the trunk `home`
/// let note = TreePath(["50% off", "a/b"], in: .inbox)     // names may hold any character
/// print(note)                                             // inbox:/50%25 off/a%2Fb
/// ```
///
/// ``init(parsing:)`` reads the text of a path back. The text escapes ambiguous characters as `RemoteKey` describes.
/// Paths are compared by their UTF-8 bytes.
public struct TreePath: Hashable, Sendable {
    /// The trunk.
    public var trunk: Trunk
    /// The names from the top down; empty for the trunk itself.
    public var names: [String] { didSet { if !names.contains(where: \.isEmpty) { unread = nil } } }
    /// The text of a literal that is not a valid path.
    private(set) var unread: String?

    /// Creates a path from unescaped names.
    public init(_ names: [String], in trunk: Trunk = .home) {
        self.names = names
        self.trunk = trunk
    }

    /// Parses a path such as `/customers/42` or `inbox:/message`.
    ///
    /// - Throws: ``CloudError`` with `invalidPath` for an unknown trunk, an empty name, or an invalid escape.
    public init(parsing text: String) throws {
        var rest = text
        var trunk = Trunk.home
        if !rest.hasBytePrefix("/"), let (before, after) = rest.splitAtFirst(":") {
            guard let known = Trunk(rawValue: before) else {
                throw CloudError(.invalidPath, "'\(text)' does not begin with a trunk. The trunks are \(Trunk.list).")
            }
            trunk = known
            rest = after
        }
        if rest.hasBytePrefix("/") { rest = rest.droppingFirstBytes(1) }
        let segments = rest.isEmpty ? [] : rest.splitAtSlashes(omitsEmpty: false)
        names = try segments.map { segment in
            guard !segment.isEmpty else {
                throw CloudError(
                    .invalidPath,
                    "'\(text)' has an empty name. Write one slash before each name, and no others."
                )
            }
            guard let (name, mark) = RemoteKey(escaped: [segment]).name, mark == nil else {
                throw CloudError(
                    .invalidPath,
                    "'\(segment)' in '\(text)' is not a valid name. Write a percent sign as %25."
                )
            }
            return name
        }
        self.trunk = trunk
    }

    /// The last name; nil for a trunk.
    public var name: String? { names.last }

    /// The path of the parent folder; nil for a trunk.
    public var parent: TreePath? {
        // An invalid literal has an unknown parent, so it returns itself and the caller reports the invalid text.
        if unread != nil { return self }
        return names.isEmpty ? nil : TreePath(Array(names.dropLast()), in: trunk)
    }

    /// The path of a child with this name.
    public func appending(_ name: String) -> TreePath {
        var path = TreePath(names + [name], in: trunk)
        if let unread { path.unread = unread + "/" + RemoteKey.escape(name) }
        return path
    }

    /// Whether the path equals the other path or is below it, byte by byte.
    public func isWithin(_ other: TreePath) -> Bool {
        trunk == other.trunk && names.starts(with: other.names) { $0.hasSameBytes(as: $1) }
    }

    /// Whether the trunks and the bytes of all names are equal.
    public static func == (left: TreePath, right: TreePath) -> Bool {
        left.trunk == right.trunk && left.names.hasSameBytes(as: right.names)
            && left.unread.hasSameBytes(as: right.unread)
    }

    /// Hashes the bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(trunk)
        hasher.combine(names.count)
        for name in names { name.hashBytes(into: &hasher) }
    }
}

extension TreePath: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a path from a literal. Every function that takes a path rejects an invalid literal with `invalidPath`,
    /// as ``init(parsing:)`` does.
    public init(stringLiteral text: String) {
        do {
            self = try TreePath(parsing: text)
        } catch {
            // Functions that take a path or a single name reject an empty name.
            self.init([""])
            unread = text
        }
    }

    /// - Throws: ``CloudError`` with `invalidPath` if the path is a literal that is not valid.
    func check() throws {
        if let unread { _ = try TreePath(parsing: unread) }
    }

    /// The text that ``init(parsing:)`` reads.
    public var description: String {
        unread ?? (trunk == .home ? "/" : trunk.rawValue + ":/") + names.map(RemoteKey.escape).joined(separator: "/")
    }
}

extension TreePath: Codable {
    /// Decodes a path from its text.
    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the path as its text.
    ///
    /// - Throws: ``CloudError`` with `invalidPath` for a literal that is not a valid path.
    public func encode(to encoder: any Encoder) throws {
        try check()
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Trunk {
    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
