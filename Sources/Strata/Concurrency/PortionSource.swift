/// Reads what an iterator gives in portions, on a queue of its own.
actor PortionSource<Element: Sendable> {
    /// Gives the element that comes next with its size in bytes, be it a rough one; nil at the end.
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

    /// - Parameter begin: gives what reads the elements one after the other. Called once, on the queue.
    init(_ label: String, _ store: Store, _ begin: @escaping @Sendable () throws -> Reading) {
        executor = ContextExecutor(label: label)
        self.store = store
        self.begin = begin
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The elements that come next; none at the end, and after an error.
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
            while elements.count < Self.portion, size < Self.portionSize, let next = try read() {
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

    /// How many elements are read at a time: a hop to the queue costs as much as some ten of them.
    private static var portion: Int { 256 }
    /// After how many bytes a portion ends, so that large elements do not pile up.
    private static var portionSize: Int { 1 << 20 }
}
