/// Reads the elements for an iterator in chunks, on a separate queue.
actor ChunkedSource<Element: Sendable> {
    /// Returns the next element with its approximate size in bytes; nil at the end.
    typealias Reading = () throws -> (element: Element, size: Int)?

    private enum Phase {
        case beginning
        case running(Reading)
        case ended
    }

    private let executor: ContextExecutor
    private let store: Store
    private let begin: @Sendable () throws -> Reading
    private var phase = Phase.beginning

    /// - Parameter begin: returns the function that reads the elements one after the other. Called once, on the queue.
    init(_ label: String, _ store: Store, _ begin: @escaping @Sendable () throws -> Reading) {
        executor = ContextExecutor(label: label)
        self.store = store
        self.begin = begin
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The next chunk of elements; empty at the end and after an error.
    func next() throws -> [Element] {
        do {
            let read: Reading
            switch phase {
            case .ended: return []
            case .running(let running):
                try store.checkOpen()
                read = running
            case .beginning:
                read = try begin()
                phase = .running(read)
            }
            var (elements, size): ([Element], Int) = ([], 0)
            while elements.count < Self.chunkLength, size < Self.chunkSize, let next = try read() {
                elements.append(next.element)
                size += next.size
            }
            if elements.isEmpty { phase = .ended }
            return elements
        } catch {
            phase = .ended
            throw StrataError(grdb: error)
        }
    }

    /// The number of elements per read: a hop to the queue costs as much as about ten elements.
    private static var chunkLength: Int { 256 }
    /// The number of bytes after which a chunk ends, so that large elements do not accumulate.
    private static var chunkSize: Int { 1 << 20 }
}
