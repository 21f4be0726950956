/// The reaction to an unreadable record.
public enum MalformedPolicy: String, Sendable, CaseIterable {
    /// Report the record, and continue with the next readable one.
    case skip
    /// Stop at the record. The records before it remain valid.
    case refuse
}

/// A malformed record in a log, with its position.
public struct MalformedRecord: Error, Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        /// The record does not begin with `commit HASH`.
        case noCommit
        case badParents
        case badDate
        /// A change does not have the form `ADDED tab DELETED tab PATH`.
        case badChange
        /// A field is longer than the parser's memory limit.
        case tooLong(limit: Int)
        /// The input ends within a record.
        case truncated
    }

    public let reason: Reason
    /// The number of the record in the log, from 1.
    public let record: Int
    /// The line on which the malformed field begins, from 1. Lines end with line feeds.
    public let line: Int
    /// The offset of the malformed field, in bytes from the start of the log.
    public let offset: Int
    /// The beginning of the field, with control characters escaped.
    public let excerpt: String
}

extension MalformedRecord: CustomStringConvertible {
    /// For example `record 12, line 40, byte 3071: the date "yesterday" is not a number of seconds`.
    public var description: String {
        let what =
            switch reason {
            case .noCommit: "expected the beginning of a commit, found \"\(excerpt)\""
            case .badParents: "\"\(excerpt)\" is not a list of parents"
            case .badDate: "the date \"\(excerpt)\" is not a number of seconds"
            case .badChange: "\"\(excerpt)\" is not a change of a file"
            case .tooLong(let limit): "a field is longer than \(Numbers.grouped(limit)) bytes"
            case .truncated: "the log ends in the middle of a record"
            }
        return "record \(record), line \(line), byte \(offset): \(what)"
    }
}
