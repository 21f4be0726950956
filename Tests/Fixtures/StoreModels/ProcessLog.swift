import Foundation

/// The beginning or the end of a handler's run.
public struct ProcessLogEntry: Sendable {
    public var process: Int32
    public var lane: String
    /// The operation's position in its lane.
    public var number: Int
    public var isEnd = false

    public init(process: Int32, lane: String, number: Int) {
        (self.process, self.lane, self.number) = (process, lane, number)
    }

    fileprivate init?(_ line: Substring) {
        let words = line.split(separator: " ")
        guard words.count == 4, let process = Int32(words[0]), let number = Int(words[2]) else { return nil }
        self.init(process: process, lane: String(words[1]), number: number)
        isEnd = words[3] == "end"
    }

    fileprivate var line: String { "\(process) \(lane) \(number) \(isEnd ? "end" : "begin")\n" }
}

/// A file to which several processes append. Its order is the order of their writes, and it outlives the processes.
public final class ProcessLog: Sendable {
    private let path: String
    private let file: Int32

    public init(_ path: String) throws {
        self.path = path
        file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard file >= 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    deinit { close(file) }

    /// Appends an entry with one system call.
    public func write(_ entry: ProcessLogEntry) {
        let bytes = Array(entry.line.utf8)
        precondition(Foundation.write(file, bytes, bytes.count) == bytes.count)
    }

    /// The entries so far.
    public func entries() throws -> [ProcessLogEntry] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { ProcessLogEntry($0) }
    }
}
