import Strata

extension OperationBook {
    /// Refuses dependencies by which operations would wait for each other.
    func checkDependants(_ dependants: [Int64]) throws {
        // A ring leads back to where it begins: by way of those that depend on it, or that come behind it in its lane.
        try checkRings(
            from: dependants.filter {
                try transaction.integer(QueueSQL.selectAnyDependant, [.integer($0)]) != nil || place(of: $0) != nil
            }
        )
    }

    /// Refuses rings that lead through any of these operations.
    func checkRings(from starts: [Int64]) throws {
        if let ring = try DependencyRing.find(from: starts, waitedFor) { throw DependencyRing.error(ring) }
    }

    /// Where operations of a pipeline wait for each other since its order is another one, one of each ring fails, so that the others go on.
    func breakRings(of pipeline: PipelineName) throws {
        var starts = try transaction.numbers(QueueSQL.selectDependantsIn, [.text(pipeline.rawValue)])
        while let ring = try DependencyRing.find(from: starts, waitedFor) {
            try fail(ring[0], "\(DependencyRing.error(ring).message)")
            // What has failed is no part of another one.
            starts.removeAll { $0 == ring[0] }
            if try state(of: ring[0])?.status != .failed { return }
        }
    }

    /// Where an operation stands in a lane that has an order.
    private struct Place {
        let lane: [StoredValue]
        let ordering: PipelineOrdering
        let sortKey: Double
        let commit: Int64
    }

    /// Nil where its pipeline knows no order, and for what is not queued.
    private func place(of number: Int64) throws -> Place? {
        var place: Place?
        try transaction.rows(QueueSQL.selectPlace, [.integer(number)]) { row in
            let pipeline = try row.read(String.self, at: 0)
            let ordering = try rules(PipelineName(pipeline)).ordering
            guard ordering.isSerial else { return }
            place = Place(
                lane: [.text(pipeline), .text(try row.read(String.self, at: 1))],
                ordering: ordering,
                sortKey: try row.read(Double.self, at: 2),
                commit: try row.read(Int64.self, at: 3)
            )
        }
        return place
    }

    /// What an operation waits for, as far as that may wait itself: what it depends on, and in its lane the nearest ones before it that depend
    /// on anything. Behind those are the others.
    private func waitedFor(_ number: Int64) throws -> [Int64] {
        let prerequisites = try transaction.numbers(QueueSQL.selectPrerequisites, [.integer(number)])
        guard let place = try place(of: number) else { return prerequisites }
        var values = place.lane + [.real(place.sortKey), .integer(place.commit)]
        if place.ordering != .commits { values.append(.integer(number)) }
        var before: (number: Int64, sortKey: Double, commit: Int64)?
        try transaction.rows(QueueSQL.selectDependantBefore(place.ordering), values) { row in
            before = (
                try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1), try row.read(Int64.self, at: 2)
            )
        }
        guard let before else { return prerequisites }
        guard place.ordering == .commits else { return prerequisites + [before.number] }
        // Those of one commit do not wait for each other.
        let group = place.lane + [.real(before.sortKey), .integer(before.commit)]
        return try prerequisites + transaction.numbers(QueueSQL.selectDependantsOfGroup, group)
    }
}
