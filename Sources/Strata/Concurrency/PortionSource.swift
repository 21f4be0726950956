/// Reads what an iterator gives in portions, on a queue of its own.
actor PortionSource<Element: Sendable> {
    private enum Phase {
        case beginning
        case running(() throws -> Element?)
        case ended
    }

    private let executor: ContextExecutor
    private let store: Store
    private let begin: @Sendable () throws -> () throws -> Element?
    private var phase = Phase.beginning

    /// - Parameter begin: gives what reads the elements one after the other, nil at the end. Called once, on the queue.
    init(_ label: String, _ store: Store, _ begin: @escaping @Sendable () throws -> () throws -> Element?) {
        executor = ContextExecutor(label: label)
        self.store = store
        self.begin = begin
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The elements that come next; none at the end, and after an error.
    func next() throws -> [Element] {
        do {
            let read: () throws -> Element?
            switch phase {
            case .ended: return []
            case .running(let running):
                try store.checkOpen()
                read = running
            case .beginning:
                read = try begin()
                phase = .running(read)
            }
            var elements: [Element] = []
            while elements.count < Self.portion, let element = try read() { elements.append(element) }
            if elements.isEmpty { phase = .ended }
            return elements
        } catch {
            phase = .ended
            throw StrataError(grdb: error)
        }
    }

    /// How many elements are read at a time: a hop to the queue costs as much as some ten of them.
    private static var portion: Int { 256 }
}
