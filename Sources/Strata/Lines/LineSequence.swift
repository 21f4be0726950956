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

    public func makeAsyncIterator() -> Iterator { Iterator(source: .lines(of: models, store)) }

    /// Gives the lines one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: PortionSource<Data>
        /// What was read and not given yet.
        private var lines: ArraySlice<Data> = []

        init(source: PortionSource<Data>) { self.source = source }

        /// The line that comes next, without its end; nil at the end.
        ///
        /// - Throws: ``StrataError`` with `unknownModel`, `closed`, or if the store cannot be read. There is nothing after an error.
        public mutating func next() async throws -> String? {
            if lines.isEmpty { lines = try await source.next()[...] }
            return lines.popFirst().map { String(decoding: $0, as: UTF8.self) }
        }

        /// The same for callers that are isolated.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            if lines.isEmpty { lines = try await source.next()[...] }
            return lines.popFirst().map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
