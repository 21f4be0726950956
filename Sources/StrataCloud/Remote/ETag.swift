public import Foundation
import Strata

/// What a remote says of the version of an object: another version has another one. Tags are compared by the bytes of their UTF-8.
public struct ETag: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text without quotes and without the mark of weakness.
    public let value: String
    /// Whether two versions of one moment may have the same one (RFC 9110, 8.8.1). A weak one is good for finding changes, not for
    /// conditional writes.
    public let isWeak: Bool

    /// A tag by its text.
    public init(_ value: String, isWeak: Bool = false) {
        self.value = value
        self.isWeak = isWeak
    }

    /// A tag as it stands in a header: `"abc"`, `W/"abc"`, or the bare text, which some servers send.
    public init(header: String) {
        var text = header
        let isWeak = text.hasBytePrefix("W/")
        if isWeak { text = text.droppingFirstBytes(2) }
        if text.utf8.count >= 2, text.hasBytePrefix("\""), text.hasByteSuffix("\"") {
            text = text.droppingFirstBytes(1).droppingLastBytes(1)
        }
        self.init(text, isWeak: isWeak)
    }

    /// The version of a file of a remote that gives no ETags: its size, and the time of its last write in whole seconds.
    ///
    /// It is weak. A second write of the same size within one second has the same one, and so may two files of different content: it tells
    /// whether a file has changed, and never that two files are the same.
    public static func ofLastResort(size: Int64, modifiedAt: Date) -> ETag {
        let seconds = max(-1e15, min(modifiedAt.timeIntervalSince1970.rounded(.down), 1e15))
        return ETag("\(lastResort)\(Int64(seconds))-\(size)", isWeak: true)
    }

    /// Whether it is one of ``ofLastResort(size:modifiedAt:)``.
    public var isOfLastResort: Bool { isWeak && value.hasBytePrefix(Self.lastResort) }

    private static let lastResort = "strata-time-"

    /// A tag as it is kept in the store.
    init(stored text: String) {
        let isWeak = text.hasBytePrefix("W/")
        self.init(isWeak ? text.droppingFirstBytes(2) : text, isWeak: isWeak)
    }

    /// Whether a version is the one that is kept in the store. Some servers call a version weak at first, and strong a moment later.
    static func isSame(_ eTag: ETag?, _ stored: String?) -> Bool {
        (eTag?.value).hasSameBytes(as: stored.map { ETag(stored: $0).value })
    }

    /// Whether the bytes are the same, and either both tags are weak or none.
    public static func == (left: ETag, right: ETag) -> Bool {
        left.isWeak == right.isWeak && left.value.hasSameBytes(as: right.value)
    }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        value.hashBytes(into: &hasher)
    }

    var stored: String { isWeak ? "W/" + value : value }

    /// As it stands in a header, with quotes.
    public var header: String { (isWeak ? "W/" : "") + "\"\(value)\"" }

    /// As it stands in a header.
    public var description: String { header }
}

/// What must hold of an object for a request to be carried out.
public enum RemoteCondition: Hashable, Sendable {
    /// Nothing.
    case none
    /// There is no object of this key (`If-None-Match: *`).
    case isAbsent
    /// The object is of this version (`If-Match`).
    case matches(ETag)
}
