/// The transfers completed since an account was opened: the total, and the values of the most recent nodes, so that
/// memory stays bounded.
struct TransferLog: Sendable {
    private var whole: [TransferDirection: TransferTracker.Done] = [:]
    /// The newest nodes, and the nodes before them, up to ``length`` each.
    private var young: [TransferWindow.Source: TransferTracker.Done] = [:]
    private var old: [TransferWindow.Source: TransferTracker.Done] = [:]
    /// The number of recent nodes that the log holds at least.
    static let length = 4096

    mutating func add(_ done: TransferTracker.Done, of source: TransferWindow.Source) {
        whole[source.direction] = (whole[source.direction] ?? TransferTracker.Done()) + done
        young[source] = (young[source] ?? TransferTracker.Done()) + done
        guard young.count > Self.length else { return }
        (old, young) = (young, [:])
    }

    /// The completed transfers of a scope by node; those of the whole account under 0.
    func done(_ direction: TransferDirection, _ scope: ProgressScope) -> [Int64: TransferTracker.Done] {
        if case .account = scope { return whole[direction].map { [0: $0] } ?? [:] }
        var done: [Int64: TransferTracker.Done] = [:]
        for (source, passed) in young where source.direction == direction { done[source.node] = passed }
        for (source, passed) in old where source.direction == direction {
            done[source.node] = (done[source.node] ?? TransferTracker.Done()) + passed
        }
        return done
    }
}
