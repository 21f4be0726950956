import Strata

/// The location of an object in a remote: a path of names that are safe for file systems and URLs.
///
/// Names may contain any character. The segments of a key are the escaped names, and escaping is reversible:
///
/// - Control characters, `/`, `\` and `%` become `%` and two hexadecimal digits, byte by byte.
/// - A leading `.` is escaped too if the name is `.` or `..`.
///
/// A file that Strata keeps beside an object has a segment in which `%` is followed by a letter that is not a
/// hexadecimal digit. So no escaped name equals such a segment.
public struct RemoteKey: Hashable, Sendable, CustomStringConvertible {
    /// The escaped names, from the top; empty for the root.
    public let segments: [String]

    /// The root of the remote.
    public static let root = RemoteKey(escaped: [])

    /// Creates the key of names, which this initializer escapes.
    public init(_ names: [String]) { segments = names.map(Self.escape) }

    package init(escaped segments: [String]) { self.segments = segments }

    /// Creates the key of segments that a remote has found, from the top.
    ///
    /// - Returns: nil if a segment is empty, `.`, `..`, or contains a slash or a control character. Keys of Strata
    ///   never contain these.
    public init?(found segments: [String]) {
        for segment in segments {
            if segment.isEmpty || segment == "." || segment == ".." { return nil }
            if segment.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 || $0 == 0x7F }) { return nil }
        }
        self.segments = segments
    }

    /// The segments joined by slashes, without a slash at either end: `home/customers/42`.
    public var path: String { segments.joined(separator: "/") }

    /// The same as ``path``.
    public var description: String { path }

    /// The last segment; nil for the root.
    public var last: String? { segments.last }

    /// The key of the folder that contains this key; nil for the root.
    public var parent: RemoteKey? { segments.isEmpty ? nil : RemoteKey(escaped: segments.dropLast()) }

    /// Creates the key of a path as returned by ``path``; nil if a segment is invalid.
    package init?(path: String) {
        self.init(found: path.splitAtSlashes())
    }

    /// The key of a name below this key. The method escapes the name.
    public func appending(_ name: String) -> RemoteKey { RemoteKey(escaped: segments + [Self.escape(name)]) }

    /// The key of a segment that a remote has found below this key; nil as for ``init(found:)``.
    public func appending(found segment: String) -> RemoteKey? {
        guard let child = RemoteKey(found: [segment]) else { return nil }
        return RemoteKey(escaped: segments + child.segments)
    }

    /// Whether this key equals another key, or is below it.
    public func isWithin(_ other: RemoteKey) -> Bool {
        segments.starts(with: other.segments) { $0.hasSameBytes(as: $1) }
    }

    /// Whether the bytes are the same.
    ///
    /// Swift's strings are also equal if one contains `ä` and the other `a` with a combining diaeresis. At a remote,
    /// these are two objects.
    public static func == (first: RemoteKey, second: RemoteKey) -> Bool {
        first.segments.hasSameBytes(as: second.segments)
    }

    /// Hashes the bytes, as `==` compares them.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(segments.count)
        for segment in segments { segment.hashBytes(into: &hasher) }
    }

    /// The key of a file that Strata keeps beside an object: the same name, followed by a mark.
    package func sidecar(_ mark: String) -> RemoteKey {
        RemoteKey(escaped: segments.dropLast() + [(segments.last ?? "") + "%" + mark])
    }

    /// The unescaped name of the last segment, with the mark if the file is kept beside an object of that name.
    ///
    /// - Returns: nil for the root, and for a segment that is not the result of escaping.
    package var name: (name: String, mark: String?)? {
        guard let last = segments.last else { return nil }
        return Self.unescape(last)
    }

    // MARK: Escaping

    package static func escape(_ name: String) -> String {
        var result = ""
        let isDots = name == "." || name == ".."
        result.reserveCapacity(name.utf8.count)
        for (index, scalar) in name.unicodeScalars.enumerated() {
            let isEscaped =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar == "/" || scalar == "\\"
                || scalar == "%"
                || index == 0 && isDots
            if isEscaped {
                for byte in scalar.utf8 { result += hexadecimal(byte) }
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = Array("0123456789ABCDEF")
        return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }

    private static func unescape(_ segment: String) -> (name: String, mark: String?)? {
        var bytes: [UInt8] = []
        var mark: String?
        var rest = Array(segment.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let first = rest.first else { return nil }
            if let high = Hexadecimal.value(first) {
                guard let low = rest.dropFirst().first.flatMap(Hexadecimal.value) else { return nil }
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                guard !rest.contains(UInt8(ascii: "%")) else { return nil }
                mark = String(decoding: rest, as: UTF8.self)
                rest = []
            }
        }
        guard let name = String(validating: bytes, as: UTF8.self), !name.isEmpty else { return nil }
        return (name, mark)
    }
}
