import Strata

extension HomePromise {
    /// The seconds that a node waits for a lock which stays taken. A short time, because the test waits for its end.
    private static let shortTimeout = 0.2

    static func checkLock(_ nodes: [HomeNode]) throws {
        try nodes[0].open()
        for node in nodes[1...] { try node.open(busyTimeout: shortTimeout) }
        _ = try nodes[0].home.lock(after: .start, limit: 10)
        for node in nodes[1...] {
            try expect(.busy, from: "the lock of another node") { _ = try node.home.lock(after: .start, limit: 10) }
        }
        let transaction = nodes[0].transaction(after: .start, try SampleStore.insertion(1))
        try nodes[0].home.publish(transaction)
        // The refusals have not taken the lock, and the transaction has freed it.
        let missed = try nodes[1].home.lock(after: .start, limit: 10)
        try expect("the missed transactions", is: missed.map(\.position), [transaction.position])
        try expect(.busy, from: "the lock of another node") { try nodes[2].lockAndUnlock() }
        nodes[1].home.unlock()
        try nodes[2].lockAndUnlock()
    }

    static func checkWaiting(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let (first, second) = (nodes[0], nodes[1])
        _ = try first.home.lock(after: .start, limit: 10)
        let waiting = HomeThread { try second.home.lock(after: .start, limit: 10).map(\.position) }
        let transaction = first.transaction(after: .start, try SampleStore.insertion(1))
        try first.home.publish(transaction)
        // If the thread has begun late, it has not waited. Its result is the same.
        try expect("the missed transactions", is: try waiting.value(), [transaction.position])
        let next = second.transaction(after: transaction.position, try SampleStore.insertion(2))
        try second.home.publish(next)
        try expect("the newest", is: try first.home.newest(), next.position)
    }

    static func checkReading(_ nodes: [HomeNode]) throws {
        for node in nodes[..<2] { try node.open() }
        let (holder, reader, late) = (nodes[0], nodes[1], nodes[2])
        let first = try holder.publish(SampleStore.insertion(1))
        _ = try holder.home.lock(after: first.position, limit: 10)
        let thread = HomeThread {
            try expect("the newest", is: try reader.home.newest(), first.position)
            try expect("the transactions", is: try reader.transactions().map(\.position), [first.position])
            try expect("the position of the copy", is: try reader.copy().position, first.position)
            try expect("the outcome", is: try reader.home.outcome(of: first.position.id), true)
            try expect("the state", is: try late.open().position, first.position)
            return [try reader.home.reserveIDs(10), try late.home.reserveIDs(10), try reader.home.reserveIDs(1)]
        }
        let ids = try thread.value(within: 30)
        let own = try holder.home.reserveIDs(1)
        try expect(Set(ids + [own]).count == 4, "The ids \(ids) and \(own) are not different.")
        holder.home.unlock()
    }

    static func checkUnlocking(_ nodes: [HomeNode]) throws {
        try nodes[0].open()
        try nodes[1].open(busyTimeout: shortTimeout)
        // Without the lock, this call does nothing.
        nodes[0].home.unlock()
        _ = try nodes[0].home.lock(after: .start, limit: 10)
        nodes[1].home.unlock()
        try expect(.busy, from: "the lock of another node") { try nodes[1].lockAndUnlock() }
        nodes[0].home.unlock()
        nodes[0].home.unlock()
        try nodes[1].lockAndUnlock()
        try expect("the newest", is: try nodes[1].home.newest(), .start)
        try expect("the number of transactions", is: try nodes[1].transactions().count, 0)
    }

    static func checkLockOfClosed(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        _ = try nodes[0].home.lock(after: .start, limit: 10)
        nodes[0].home.close()
        let transaction = try nodes[1].publish(SampleStore.insertion(1))
        try expect("the newest", is: try nodes[2].home.newest(), transaction.position)
    }
}
