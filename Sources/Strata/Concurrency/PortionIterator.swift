/// Gives the elements of a ``RowSequence`` or a ``LineSequence`` one after the other, and reads them in portions.
public struct PortionIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let source: PortionSource<Element>
    /// What was read and not given yet.
    private var elements: ArraySlice<Element> = []

    init(source: PortionSource<Element>) { self.source = source }

    /// The element that comes next; nil at the end.
    ///
    /// - Throws: what the sequence says. There is nothing after an error.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        if elements.isEmpty { elements = try await source.next()[...] }
        return elements.popFirst()
    }
}
