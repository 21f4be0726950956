import Strata

extension OperationRepository {
    /// The number of attempts of a consumer that run in all processes together. Operations of a dead worker count until
    /// they are reclaimed.
    ///
    /// - Parameter running: the attempts of this process, of which some may have lost their operations.
    /// - Complexity: O(running attempts); for a broker, those of all pipelines.
    func runningCount(of consumer: Consumer, besides running: RunningOperations) throws -> Int {
        var active: Set<Int64> = []
        switch consumer.scope {
        case .pipeline(let name):
            active.formUnion(try transaction.numbers(QueueSQL.selectActive, [.text(name.rawValue)]))
        case .queues:
            try transaction.rows(QueueSQL.selectAllActive, []) { row in
                guard consumer.takes(PipelineName(try row.read(String.self, at: 1))) else { return }
                active.insert(try row.read(Int64.self, at: 0))
            }
        }
        return active.count
            + running.operations.count { !active.contains($0.key) && consumer.takes($0.value.pipeline) }
    }
}
