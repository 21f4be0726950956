import Foundation

/// An element of a log.
public enum GitLogEvent: Sendable, Equatable {
    case commit(GitCommit)
    case malformed(MalformedRecord)
}

/// An incremental log parser: it receives bytes in chunks of any size, and returns commits.
///
/// The log is a sequence of fields. Each field ends with a NUL, which neither names nor messages can contain:
///
///     commit HASH | PARENTS | NAME | EMAIL | SECONDS | MESSAGE | CHANGE | CHANGE | … commit HASH | …
///
/// A change has the form `ADDED tab DELETED tab PATH`, with `-` as the numbers of a binary file. For a rename, the path
/// is empty, and two more fields contain the old path and the new one. Git writes a line feed before the first change.
/// ``GitLog/arguments`` makes git write this format.
///
/// Memory: the current commit and the incomplete field.
public struct GitLogParser: Sendable {
    private struct Field {
        var bytes: ArraySlice<UInt8>
        var line: Int
        var offset: Int
    }

    private enum State {
        case between
        case header([Field])
        case changes
        case oldPath(GitChange)
        case newPath(GitChange)
        case skipping
        case stopped
    }

    private static let headerFields = 6

    private let policy: MalformedPolicy
    private let fieldLimit: Int
    private var state = State.between
    private var commit: GitCommit?
    private var record = 0
    private var events: [GitLogEvent] = []

    private var partial: [UInt8] = []
    private var isDiscarding = false
    private var line = 1
    private var offset = 0

    /// - Parameter fieldLimit: the maximum length in bytes of a field in memory.
    public init(policy: MalformedPolicy, fieldLimit: Int = 16 << 20) {
        self.policy = policy
        self.fieldLimit = fieldLimit
    }

    /// Parses the next bytes, and returns the events that they complete. Under `.refuse`, no event follows a malformed
    /// record.
    public mutating func push(_ bytes: [UInt8]) -> [GitLogEvent] {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0) {
            collect(rest[..<end])
            endField()
            rest = rest[(end + 1)...]
        }
        collect(rest)
        return takeEvents()
    }

    /// Ends the input, and returns the remaining events.
    public mutating func finish() -> [GitLogEvent] {
        switch state {
        case .stopped, .skipping: break
        case .between where partial.isEmpty: break
        case .changes where partial.isEmpty: emitCommit()
        default: fail(.truncated, at: currentField)
        }
        state = .stopped
        return takeEvents()
    }

    private mutating func takeEvents() -> [GitLogEvent] {
        defer { events = [] }
        return events
    }
}

// MARK: Fields

extension GitLogParser {
    private var currentField: Field { Field(bytes: partial[...], line: line, offset: offset) }

    private mutating func collect(_ bytes: ArraySlice<UInt8>) {
        if case .stopped = state { return }
        if isDiscarding || partial.count + bytes.count > fieldLimit {
            if !isDiscarding {
                if case .skipping = state {} else { fail(.tooLong(limit: fieldLimit), at: currentField) }
                isDiscarding = true
            }
            // The bytes are discarded, but still counted for error positions.
            line += partial.count { $0 == 10 } + bytes.count { $0 == 10 }
            offset += partial.count + bytes.count
            partial = []
        } else {
            partial += bytes
        }
    }

    private mutating func endField() {
        let field = currentField
        partial = []
        line += field.bytes.count { $0 == 10 }
        offset += field.bytes.count + 1
        if isDiscarding { isDiscarding = false } else { accept(field) }
    }

    private mutating func accept(_ field: Field) {
        switch state {
        case .stopped:
            break
        case .skipping:
            if Self.hash(startedBy: field) != nil { state = .header([field]); record += 1 }
        case .between:
            record += 1
            if Self.hash(startedBy: field) != nil { state = .header([field]) } else { fail(.noCommit, at: field) }
        case .header(let fields):
            acceptHeader(fields + [field])
        case .changes:
            if Self.hash(startedBy: field) != nil {
                emitCommit()
                record += 1
                state = .header([field])
            } else {
                acceptChange(field)
            }
        case .oldPath(var change):
            change.oldPath = GitText.exact(field.bytes)
            state = .newPath(change)
        case .newPath(var change):
            change.path = GitText.exact(field.bytes)
            commit?.changes.append(change)
            state = .changes
        }
    }
}

// MARK: Records

extension GitLogParser {
    private mutating func emitCommit() {
        if let commit { events.append(.commit(commit)) }
        commit = nil
    }

    /// The hash, if the field has the form `commit HASH`.
    private static func hash(startedBy field: Field) -> String? {
        guard field.bytes.starts(with: "commit ".utf8) else { return nil }
        return hash(field.bytes.dropFirst(7))
    }

    private static func hash(_ bytes: ArraySlice<UInt8>) -> String? {
        let isHexadecimal = bytes.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        guard bytes.count == 40 || bytes.count == 64, isHexadecimal else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func acceptHeader(_ fields: [Field]) {
        let field = fields[fields.count - 1]
        state = .header(fields)
        switch fields.count {
        case 2 where Self.parents(field) == nil: fail(.badParents, at: field, after: fields)
        case 5 where Self.date(field) == nil: fail(.badDate, at: field, after: fields)
        case Self.headerFields: begin(fields)
        default: break
        }
    }

    private mutating func begin(_ fields: [Field]) {
        guard let hash = Self.hash(startedBy: fields[0]), let parents = Self.parents(fields[1]),
            let date = Self.date(fields[4])
        else { return fail(.noCommit, at: fields[0]) }
        var message = fields[5].bytes
        while message.last == 10 { message.removeLast() }
        commit = GitCommit(
            hash: hash,
            parents: parents,
            authorName: GitText.lossy(fields[2].bytes),
            authorEmail: GitText.exact(fields[3].bytes),
            date: date,
            message: GitText.lossy(message),
            changes: []
        )
        state = .changes
    }

    private static func parents(_ field: Field) -> [String]? {
        let parents = field.bytes.split(separator: 32, omittingEmptySubsequences: true).map { hash($0) }
        return parents.contains(nil) ? nil : parents.compactMap { $0 }
    }

    /// Parses seconds since 1970, up to the year 9999. Later dates are mistakes, and calendar code cannot handle them.
    private static func date(_ field: Field) -> Date? {
        guard let seconds = Int64(String(decoding: field.bytes, as: UTF8.self)),
            (-62_135_596_800...253_402_300_799).contains(seconds)
        else { return nil }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    private mutating func acceptChange(_ field: Field) {
        var bytes = field.bytes
        if commit?.changes.isEmpty == true, bytes.first == 10 { bytes.removeFirst() }
        let parts = bytes.split(separator: 9, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let added = Self.lines(parts[0]), let deleted = Self.lines(parts[1]) else {
            return fail(.badChange, at: field)
        }
        let change = GitChange(path: GitText.exact(parts[2]), added: added.count, deleted: deleted.count)
        if parts[2].isEmpty {
            state = .oldPath(change)
        } else {
            commit?.changes.append(change)
        }
    }

    private static func lines(_ bytes: ArraySlice<UInt8>) -> (count: Int?, Void)? {
        if bytes.elementsEqual([45]) { return (nil, ()) }
        guard let first = bytes.first, (48...57).contains(first) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self)).map { ($0, ()) }
    }

    /// Reports the current record as malformed, and discards it.
    ///
    /// A header that lacks fields consumes the beginning of the next record. So under `.skip`, the header's fields are
    /// searched for that beginning.
    private mutating func fail(_ reason: MalformedRecord.Reason, at field: Field, after fields: [Field] = []) {
        commit = nil
        events.append(
            .malformed(
                MalformedRecord(
                    reason: reason,
                    record: max(record, 1),
                    line: field.line,
                    offset: field.offset,
                    excerpt: TextWidth.printable(GitText.exact(field.bytes.prefix(60)))
                )
            )
        )
        state = policy == .refuse ? .stopped : .skipping
        if policy == .skip {
            for field in fields.dropFirst() { accept(field) }
        }
    }
}
