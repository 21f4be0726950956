import Foundation

/// The committed objects of a store as JSON lines. ``ContextStack/jsonLines(of:)`` creates the sequence.
///
/// Each iterator returns the store's state at the time when the first line is requested, regardless of later commits.
/// Lines are read on demand, in chunks, on a separate queue. An iterator holds its snapshot until it reaches its end
/// or is released. Meanwhile, the store's write-ahead log grows with every commit. If the stack is closed before the
/// last line, the iterator throws `closed`, because an early end would look like the last line.
public struct JSONLineSequence: AsyncSequence, Sendable {
    public typealias Element = String

    let models: [any Model.Type]?
    let store: Store

    /// The iterator throws ``StrataError`` with `unknownModel` or `closed`, or if the store cannot be read.
    public func makeAsyncIterator() -> ChunkedIterator<String> {
        ChunkedIterator(source: .lines(of: models, store) { String(decoding: $0, as: UTF8.self) })
    }
}
