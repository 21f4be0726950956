/// What is done with since an account was opened: in all, and of the nodes that came last, so that it stays small whatever passes.
struct TransferLog: Sendable {
    private var whole: [TransferDirection: TransferBook.Done] = [:]
    /// Of some thousands of nodes, and of as many before them.
    private var young: [TransferWindow.Source: TransferBook.Done] = [:]
    private var old: [TransferWindow.Source: TransferBook.Done] = [:]
    /// Of so many nodes at least it is known.
    static let length = 4096

    mutating func add(_ done: TransferBook.Done, of source: TransferWindow.Source) {
        whole[source.direction] = (whole[source.direction] ?? TransferBook.Done()) + done
        young[source] = (young[source] ?? TransferBook.Done()) + done
        guard young.count > Self.length else { return }
        (old, young) = (young, [:])
    }

    /// What is done with of a scope, by nodes; that of the whole account under 0.
    func done(_ direction: TransferDirection, _ scope: ProgressScope) -> [Int64: TransferBook.Done] {
        if case .account = scope { return whole[direction].map { [0: $0] } ?? [:] }
        var done: [Int64: TransferBook.Done] = [:]
        for (source, passed) in young where source.direction == direction { done[source.node] = passed }
        for (source, passed) in old where source.direction == direction {
            done[source.node] = (done[source.node] ?? TransferBook.Done()) + passed
        }
        return done
    }
}
