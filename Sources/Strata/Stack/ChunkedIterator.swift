/// Returns the elements of a ``RowSequence`` or a ``JSONLineSequence`` one after the other, and reads them in chunks.
public struct ChunkedIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let source: ChunkedSource<Element>
    /// The elements that were read and not yet returned.
    private var elements: ArraySlice<Element> = []

    init(source: ChunkedSource<Element>) { self.source = source }

    /// The next element; nil at the end.
    ///
    /// - Throws: the errors of the sequence. After an error, the iterator returns no further elements.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        if elements.isEmpty { elements = try await source.next()[...] }
        return elements.popFirst()
    }
}
