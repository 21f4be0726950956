import Foundation

/// The committed objects of a store as lines of JSON. Made by ``ContextStack/lines(of:)``.
///
/// Each iterator gives the store as it is when the first line is asked for, whatever happens meanwhile. Lines are read as they are
/// asked for, in portions, on a queue of their own. An iterator holds its snapshot until it has come to its end or is let go;
/// meanwhile the store's journal grows with every commit.
public struct LineSequence: AsyncSequence, Sendable {
    public typealias Element = String

    let models: [any Model.Type]?
    let store: Store

    /// The iterator throws ``StrataError`` with `unknownModel` or `closed`, or if the store cannot be read.
    public func makeAsyncIterator() -> PortionIterator<String> {
        PortionIterator(source: .lines(of: models, store) { String(decoding: $0, as: UTF8.self) })
    }
}
