import Strata

/// A place in the tree of an account: a trunk, and names one below the other.
///
/// ```swift
/// let path: TreePath = "/customers/42"                    // below the trunk `home`
/// let note = TreePath(["50% off", "a/b"], in: .inbox)     // names may hold any character
/// print(note)                                             // inbox:/50%25 off/a%2Fb
/// ```
///
/// Its text can be read again: there, characters that would be misread are escaped as ``RemoteKey`` says. Paths are compared by the bytes of
/// their UTF-8.
public struct TreePath: Hashable, Sendable {
    /// The part of the tree.
    public var trunk: Trunk
    /// The names, from the top; none for the trunk itself.
    public var names: [String] { didSet { if !names.contains(where: \.isEmpty) { unread = nil } } }
    /// The text of a literal that is no path.
    private(set) var unread: String?

    /// A path of names, which are taken as they are.
    public init(_ names: [String], in trunk: Trunk = .home) {
        self.names = names
        self.trunk = trunk
    }

    /// Reads a path: `/customers/42`, or `inbox:/message`.
    ///
    /// - Throws: ``CloudError`` with `invalidPath` for an unknown trunk, an empty name, or an escape that is none.
    public init(parsing text: String) throws {
        var rest = text
        var trunk = Trunk.home
        if !rest.hasBytePrefix("/"), let (before, after) = rest.splitAtFirst(":") {
            guard let known = Trunk(rawValue: before) else {
                throw CloudError(.invalidPath, "'\(text)' names no trunk: those are \(Trunk.list).")
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
                    "'\(text)' has an empty name: a slash stands before each name, and nowhere else."
                )
            }
            guard let (name, mark) = RemoteKey(escaped: [segment]).name, mark == nil else {
                throw CloudError(.invalidPath, "'\(segment)' in '\(text)' is no name: write a percent sign as %25.")
            }
            return name
        }
        self.trunk = trunk
    }

    /// The last name; nil for a trunk.
    public var name: String? { names.last }

    /// The path of the folder that holds this; nil for a trunk.
    public var parent: TreePath? {
        // Of what cannot be read nothing is known.
        if unread != nil { return self }
        return names.isEmpty ? nil : TreePath(Array(names.dropLast()), in: trunk)
    }

    /// The path of a name below this one.
    public func appending(_ name: String) -> TreePath {
        var path = TreePath(names + [name], in: trunk)
        if let unread { path.unread = unread + "/" + RemoteKey.escape(name) }
        return path
    }

    /// Whether this is below another path, or that path, byte by byte.
    public func isWithin(_ other: TreePath) -> Bool {
        trunk == other.trunk && names.starts(with: other.names) { $0.hasSameBytes(as: $1) }
    }

    /// Whether the trunks are the same, and the bytes of all names.
    public static func == (left: TreePath, right: TreePath) -> Bool {
        left.trunk == right.trunk && left.names.hasSameBytes(as: right.names)
            && left.unread.hasSameBytes(as: right.unread)
    }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(trunk)
        hasher.combine(names.count)
        for name in names { name.hashBytes(into: &hasher) }
    }
}

extension TreePath: ExpressibleByStringLiteral, CustomStringConvertible {
    /// The path of a literal. One that cannot be read is refused with `invalidPath` by all that take paths, as ``init(parsing:)`` would.
    public init(stringLiteral text: String) {
        do {
            self = try TreePath(parsing: text)
        } catch {
            // An empty name is refused wherever one is taken by itself.
            self.init([""])
            unread = text
        }
    }

    /// - Throws: ``CloudError`` with `invalidPath` where it is a literal that cannot be read.
    func check() throws {
        if let unread { _ = try TreePath(parsing: unread) }
    }

    /// As ``init(parsing:)`` reads it.
    public var description: String {
        unread ?? (trunk == .home ? "/" : trunk.rawValue + ":/") + names.map(RemoteKey.escape).joined(separator: "/")
    }
}

extension TreePath: Codable {
    /// The path of a text.
    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode(String.self))
    }

    /// As a text.
    ///
    /// - Throws: ``CloudError`` with `invalidPath` for a literal that is no path.
    public func encode(to encoder: any Encoder) throws {
        try check()
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Trunk {
    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
