public import Foundation
import Strata

/// The remote's identifier for one version of an object: different versions have different tags.
///
/// Tags are compared by their UTF-8 bytes.
public struct ETag: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text without quotes and without the weakness prefix `W/`.
    public let value: String
    /// Whether two versions written at the same moment may have the same tag (RFC 9110, 8.8.1).
    ///
    /// A weak tag is sufficient for finding changes, but not for conditional writes.
    public let isWeak: Bool

    /// Creates a tag from its text.
    public init(_ value: String, isWeak: Bool = false) {
        self.value = value
        self.isWeak = isWeak
    }

    /// Creates a tag from a header value: `"abc"`, `W/"abc"`, or the bare text, which some servers send.
    public init(header: String) {
        var text = header
        let isWeak = text.hasBytePrefix("W/")
        if isWeak { text = text.droppingFirstBytes(2) }
        if text.utf8.count >= 2, text.hasBytePrefix("\""), text.hasByteSuffix("\"") {
            text = text.droppingFirstBytes(1).droppingLastBytes(1)
        }
        self.init(text, isWeak: isWeak)
    }

    /// The version of a file at a remote that does not give ETags: its size, and the time of its last write in whole
    /// seconds.
    ///
    /// The tag is weak. A second write of the same size within one second has the same tag, and two files of different
    /// content may have the same tag. The tag shows whether a file has changed, but never that two files are the same.
    public static func ofLastResort(size: Int64, modifiedAt: Date) -> ETag {
        let seconds = max(-1e15, min(modifiedAt.timeIntervalSince1970.rounded(.down), 1e15))
        return ETag("\(lastResort)\(Int64(seconds))-\(size)", isWeak: true)
    }

    /// Whether this is a tag of ``ofLastResort(size:modifiedAt:)``.
    public var isOfLastResort: Bool { isWeak && value.hasBytePrefix(Self.lastResort) }

    private static let lastResort = "strata-time-"

    /// Creates a tag from its text in the store.
    package init(stored text: String) {
        let isWeak = text.hasBytePrefix("W/")
        self.init(isWeak ? text.droppingFirstBytes(2) : text, isWeak: isWeak)
    }

    /// Whether a version is the version that the store has.
    ///
    /// Some servers report a version as weak at first, and as strong a moment later, so weakness is ignored.
    package static func isSame(_ eTag: ETag?, _ stored: String?) -> Bool {
        (eTag?.value).hasSameBytes(as: stored.map { ETag(stored: $0).value })
    }

    /// Whether the bytes are the same, and both tags are weak or both are strong.
    public static func == (left: ETag, right: ETag) -> Bool {
        left.isWeak == right.isWeak && left.value.hasSameBytes(as: right.value)
    }

    /// Hashes the bytes, as `==` compares them.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        value.hashBytes(into: &hasher)
    }

    package var stored: String { isWeak ? "W/" + value : value }

    /// The header value, with quotes.
    public var header: String { (isWeak ? "W/" : "") + "\"\(value)\"" }

    /// The header value.
    public var description: String { header }
}

/// The condition that an object must meet for a request to run.
public enum RemoteCondition: Hashable, Sendable {
    /// No condition.
    case none
    /// No object has this key (`If-None-Match: *`).
    case isAbsent
    /// The object has this version (`If-Match`).
    case matches(ETag)
}
