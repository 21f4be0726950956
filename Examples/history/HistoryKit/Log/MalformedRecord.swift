/// What to do about a record that cannot be read.
public enum MalformedPolicy: String, Sendable, CaseIterable {
    /// Report it and go on with the next one that can.
    case skip
    /// End there. The records before it are good.
    case refuse
}

/// A place in a log that is not as it should be.
public struct MalformedRecord: Error, Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        /// Something else where `commit HASH` should be.
        case noCommit
        case badParents
        case badDate
        /// Something else where `ADDED tab DELETED tab PATH` should be.
        case badChange
        /// A field that is longer than the parser was told to hold in memory.
        case tooLong(limit: Int)
        /// The input ends within a record.
        case truncated
    }

    public let reason: Reason
    /// Which record of the log, from 1.
    public let record: Int
    /// On which line the field in question begins, from 1; counts line feeds.
    public let line: Int
    /// Where it begins, in bytes from the start of the log.
    public let offset: Int
    /// The beginning of the field, made printable.
    public let excerpt: String
}

extension MalformedRecord: CustomStringConvertible {
    /// `record 12, line 40, byte 3071: the date "yesterday" is no number of seconds`
    public var description: String {
        let what =
            switch reason {
            case .noCommit: "\"\(excerpt)\" stands where a commit should begin"
            case .badParents: "\"\(excerpt)\" is no list of parents"
            case .badDate: "the date \"\(excerpt)\" is no number of seconds"
            case .badChange: "\"\(excerpt)\" is no change of a file"
            case .tooLong(let limit): "a field is longer than \(Numbers.grouped(limit)) bytes"
            case .truncated: "the log ends in the middle of a record"
            }
        return "record \(record), line \(line), byte \(offset): \(what)"
    }
}
