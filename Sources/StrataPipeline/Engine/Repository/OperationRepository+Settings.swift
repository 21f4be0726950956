import Strata

extension OperationRepository {
    /// The options that operators have overridden, by pipeline or queue.
    func overriddenOptions() throws -> [PipelineName: OverriddenOptions] {
        guard try areOverridden() else { return [:] }
        var all: [PipelineName: OverriddenOptions] = [:]
        try transaction.rows(QueueSQL.selectOverrides, []) { row in
            // A later version may know more settings.
            guard let name = PipelineSettings.Name(rawValue: try row.read(String.self, at: 1)) else { return }
            let pipeline = PipelineName(try row.read(String.self, at: 0))
            let (number, interval) = (try row.read(Int?.self, at: 2), try row.read(StoredDuration?.self, at: 3))
            all[pipeline, default: OverriddenOptions()].set(name, number: number, interval: interval)
        }
        return all
    }

    /// Moves operators' changes from a former name of a pipeline, and deletes its declared limits. An operator's
    /// values under the new name take precedence. A reset under the new name does not, because it would end a pause.
    func moveSettings(of name: PipelineName, to other: PipelineName) throws {
        guard name != other else { return }
        if let declared = try transaction.integer(QueueSQL.selectDeclaration, [.text(name.rawValue)]) {
            try delete([declared], of: PipelineDeclaration.self, by: QueueSQL.deleteDeclaration)
        }
        guard try areOverridden() else { return }
        let names: [StoredValue] = [.text(name.rawValue), .text(other.rawValue)]
        let resets = try transaction.numbers(QueueSQL.selectResetsToReplace, names)
        try delete(resets, of: PipelineOverride.self, by: QueueSQL.deleteOverride)
        let moved = try transaction.numbers(QueueSQL.selectOverridesToMove, names)
        for number in moved {
            try transaction.run(QueueSQL.moveOverride, [.text(other.rawValue), version, .integer(number)])
        }
        try transaction.report(updated: moved, ["pipeline"], of: PipelineOverride.self)
        let left = try transaction.numbers(QueueSQL.selectOverridesOf, [.text(name.rawValue)])
        try delete(left, of: PipelineOverride.self, by: QueueSQL.deleteOverride)
    }

    /// Deletes the limits that an operator has stored under a name before it was known as a broker's queue. They have
    /// no effect, because the limits of a broker count all of its queues. A pause stays.
    func deleteLimits(of name: PipelineName) throws {
        guard try areOverridden() else { return }
        let limits = try transaction.numbers(QueueSQL.selectLimitsOf, [.text(name.rawValue)])
        guard !limits.isEmpty else { return }
        try delete(limits, of: PipelineOverride.self, by: QueueSQL.deleteOverride)
        sideResults.deletedLimits.append(name)
    }

    /// Stores the limits that a program declares, unless they are stored already.
    func declareLimits(of name: PipelineName, _ options: PipelineOptions) throws {
        let limit: StoredValue = options.maxConcurrent.map { .integer(Int64($0)) } ?? .null
        let count: StoredValue = options.rateLimit.map { .integer(Int64($0.count)) } ?? .null
        let interval: StoredValue = try options.rateLimit.map { try StoredDuration($0.interval).storedValue } ?? .null
        let values = [limit, count, interval, version]
        guard let known = try transaction.integer(QueueSQL.selectDeclaration, [.text(name.rawValue)]) else {
            let id = try transaction.newID()
            try transaction.run(QueueSQL.insertDeclaration, [.integer(id), .text(name.rawValue)] + values)
            return try transaction.report(inserted: id, of: PipelineDeclaration.self)
        }
        guard try transaction.run(QueueSQL.updateDeclaration, values + [.integer(known)]) > 0 else { return }
        try transaction.report(
            updated: known,
            ["maxConcurrent", "rateCount", "rateInterval"],
            of: PipelineDeclaration.self
        )
    }
}
