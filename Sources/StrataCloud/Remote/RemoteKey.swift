import Strata

/// Where an object lies in a remote: names one below the other, none of which can do harm to a file system or a URL.
///
/// Names may hold any character; the segments of a key are what is left of them after escaping, which can be undone:
///
/// - Control characters, `/`, `\` and `%` become `%` and two hexadecimal digits, byte by byte.
/// - A first `.` of a name does too where the name would be `.` or `..`.
///
/// What Strata keeps beside an object has a segment in which `%` is followed by a letter that is no hexadecimal digit, so that no name
/// is ever taken for it.
public struct RemoteKey: Hashable, Sendable, CustomStringConvertible {
    /// The escaped names, from the top; none for the root.
    public let segments: [String]

    /// The root of the remote.
    public static let root = RemoteKey(escaped: [])

    /// The key of names, which are escaped.
    public init(_ names: [String]) { segments = names.map(Self.escape) }

    init(escaped segments: [String]) { self.segments = segments }

    /// The key of segments that a remote has found, one below the other.
    ///
    /// - Returns: nil where one of them is empty, `.`, `..`, or holds a slash or a control character, which no key of Strata's does.
    public init?(found segments: [String]) {
        for segment in segments {
            if segment.isEmpty || segment == "." || segment == ".." { return nil }
            if segment.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 || $0 == 0x7F }) { return nil }
        }
        self.segments = segments
    }

    /// The segments with slashes between them, without one at either end: `home/customers/42`.
    public var path: String { segments.joined(separator: "/") }

    /// The same as ``path``.
    public var description: String { path }

    /// The last segment; nil for the root.
    public var last: String? { segments.last }

    /// The key of the folder that holds this; nil for the root.
    public var parent: RemoteKey? { segments.isEmpty ? nil : RemoteKey(escaped: segments.dropLast()) }

    /// The key of a path as ``path`` gives it; nil where a segment cannot be one.
    init?(path: String) {
        self.init(found: path.splitAtSlashes())
    }

    /// The key of a name below this one.
    public func appending(_ name: String) -> RemoteKey { RemoteKey(escaped: segments + [Self.escape(name)]) }

    /// The key of a segment that a remote has found below this one; nil as for ``init(found:)``.
    public func appending(found segment: String) -> RemoteKey? {
        guard let child = RemoteKey(found: [segment]) else { return nil }
        return RemoteKey(escaped: segments + child.segments)
    }

    /// Whether this is below another key, or that key.
    public func isWithin(_ other: RemoteKey) -> Bool {
        segments.starts(with: other.segments) { $0.hasSameBytes(as: $1) }
    }

    /// Whether the bytes are the same. Strings of Swift are equal too where one has `ä` and the other one `a` and two dots, which are two
    /// objects of a remote.
    public static func == (first: RemoteKey, second: RemoteKey) -> Bool {
        first.segments.hasSameBytes(as: second.segments)
    }

    /// By the bytes, as `==`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(segments.count)
        for segment in segments { segment.hashBytes(into: &hasher) }
    }

    /// The same name with a mark of Strata's behind it: what is kept beside an object.
    func sidecar(_ mark: String) -> RemoteKey {
        RemoteKey(escaped: segments.dropLast() + [(segments.last ?? "") + "%" + mark])
    }

    /// What the last segment stands for: a name, and the mark where it is kept beside an object of that name.
    ///
    /// - Returns: nil for the root, and for a segment that nothing is escaped to.
    var name: (name: String, mark: String?)? {
        guard let last = segments.last else { return nil }
        return Self.unescape(last)
    }

    // MARK: Escaping

    static func escape(_ name: String) -> String {
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
