public import Foundation
public import Strata

extension ObjectContext {
    /// The settings of a pipeline, as this context sees them. The pipeline need not be open. The settings of a name
    /// that no process has used have the default values, and ``PipelineSettings/declared`` is nil.
    ///
    /// - Throws: the store's errors.
    /// - Complexity: two lookups.
    public func pipelineSettings(of pipeline: PipelineName) throws -> PipelineSettings {
        PipelineSettings(
            pipeline,
            try rows(PipelineDeclaration.where { $0.name == pipeline }).first,
            try rows(PipelineOverride.where { $0.pipeline == pipeline })
        )
    }

    /// The settings of all pipelines that a program has declared or an operator has changed, sorted by name.
    ///
    /// - Throws: the store's errors.
    /// - Complexity: O(these pipelines).
    public func allPipelineSettings() throws -> [PipelineSettings] {
        var declarations: [PipelineName: PipelineDeclaration.Row] = [:]
        var overrides: [PipelineName: [PipelineOverride.Row]] = [:]
        for row in try rows(PipelineDeclaration.all) { declarations[row.name] = row }
        for row in try rows(PipelineOverride.all) { overrides[row.pipeline, default: []].append(row) }
        return Set(declarations.keys).union(overrides.keys)
            .sorted { $0.rawValue.precedesByBytes($1.rawValue) }
            .map { PipelineSettings($0, declarations[$0], overrides[$0] ?? []) }
    }

    /// Changes the settings of a pipeline, as part of this context's changes. They apply in all processes from the
    /// commit on. ``Strata/ContextStack/updatePipelineSettings(of:by:at:acceptsUnknownName:_:)`` changes them in a
    /// separate commit, which does not conflict with other operators.
    ///
    /// A pause and a number of handlers apply in each process. A rate limit applies to all processes together. For a
    /// queue of a broker, only the pause can be changed, because the limits of a broker count all of its queues. A limit
    /// that was stored for such a queue before its first task is deleted when the broker claims the task.
    ///
    /// - Parameters:
    ///   - pipeline: the name of the pipeline or queue. It need not be open.
    ///   - name: the name of the operator, for other operators. Not the empty text.
    ///   - date: the time of the change.
    ///   - acceptsUnknownName: whether the name may be one that no process has used yet.
    ///   - change: sets the new values. A value that it sets again does not become a change by this operator.
    /// - Returns: the new settings.
    /// - Throws: ``PipelineError`` with `unknownPipeline` if no process has used the name; with `invalidArgument` for a
    ///   value out of its bounds, an empty name, and a limit of a broker's queue; errors of `change`; the store's
    ///   errors. Nothing has changed then.
    @discardableResult
    public func updatePipelineSettings(
        of pipeline: PipelineName,
        by name: String,
        at date: Date = Date(),
        acceptsUnknownName: Bool = false,
        _ change: (inout PipelineSettingsUpdate) throws -> Void
    ) throws -> PipelineSettings {
        try pipeline.requireText()
        try requireOperator(name)
        if !acceptsUnknownName {
            try requireKnown(pipeline, advice: "Check the spelling, or pass `acceptsUnknownName: true`.")
        }
        return try changeSettings(of: pipeline, by: name, at: date, change)
    }

    private func changeSettings(
        of pipeline: PipelineName,
        by name: String,
        at date: Date,
        _ change: (inout PipelineSettingsUpdate) throws -> Void
    ) throws -> PipelineSettings {
        var update = PipelineSettingsUpdate(try pipelineSettings(of: pipeline))
        try change(&update)
        try update.check()
        let hasLimit = update.changes[.maxConcurrent] == .set || update.changes[.rateLimit] == .set
        if hasLimit, try record(of: pipeline)?.isTransient == true {
            throw PipelineError(
                .invalidArgument,
                "'\(pipeline)' is a queue of a broker, whose limits count all of its queues together. Change the "
                    + "options of the broker, or only pause the queue."
            )
        }
        for (setting, change) in update.changes {
            try storeOverride(setting, of: pipeline, isSet: change == .set, update.stored(setting), by: name, at: date)
        }
        return try pipelineSettings(of: pipeline)
    }

    /// Removes all operators' values of a pipeline, as part of this context's changes. The declared values apply again,
    /// and the pipeline is not paused.
    ///
    /// - Parameters:
    ///   - pipeline: the name of the pipeline or queue.
    ///   - name: the name of the operator. Not the empty text.
    ///   - date: the time of the change.
    /// - Throws: ``PipelineError`` with `unknownPipeline` if no process has used the name and no operator has changed
    ///   its settings, and with `invalidArgument` for an empty name; the store's errors.
    public func resetPipelineSettings(of pipeline: PipelineName, by name: String, at date: Date = Date()) throws {
        try pipeline.requireText()
        try requireOperator(name)
        try requireKnown(pipeline, advice: "There is nothing to reset. Check the spelling.")
        _ = try changeSettings(of: pipeline, by: name, at: date) { $0.reset() }
    }

    /// Rejects an empty name of an operator.
    func requireOperator(_ name: String) throws {
        guard !name.utf8.isEmpty else {
            throw PipelineError(
                .invalidArgument,
                "The name of the operator is empty. Name the person or program that makes the change."
            )
        }
    }

    /// The operator's pause of a pipeline or queue; nil if it is not paused.
    func pause(of pipeline: PipelineName) throws -> PipelineSettings.Change? {
        let setting = PipelineSettings.Name.isPaused.rawValue
        guard let row = try rows(PipelineOverride.where { $0.pipeline == pipeline && $0.setting == setting }).first,
            row.isSet, row.number == 1
        else { return nil }
        return PipelineSettings.Change(by: row.by, at: row.at)
    }

    /// Whether a process has used the name of a pipeline, or an operator has changed its settings.
    package func isKnown(_ pipeline: PipelineName) throws -> Bool {
        try record(of: pipeline) != nil || exists(QueuedOperation.where { $0.pipeline == pipeline })
            || exists(PeriodicOperation.where { $0.pipeline == pipeline })
            || exists(PipelineOverride.where { $0.pipeline == pipeline })
    }

    /// Rejects a name that is not known.
    private func requireKnown(_ pipeline: PipelineName, advice: String) throws {
        if try isKnown(pipeline) { return }
        throw PipelineError(
            .unknownPipeline,
            "No process has opened a pipeline '\(pipeline)' on this store or queued an operation under this name. "
                + advice
        )
    }

    private func storeOverride(
        _ setting: PipelineSettings.Name,
        of pipeline: PipelineName,
        isSet: Bool,
        _ stored: (number: Int?, interval: StoredDuration?),
        by name: String,
        at date: Date
    ) throws {
        let text = setting.rawValue
        let number = isSet ? stored.number : nil
        let interval = isSet ? stored.interval : nil
        guard let known = try first(PipelineOverride.where { $0.pipeline == pipeline && $0.setting == text }) else {
            if isSet {
                insert(
                    PipelineOverride(
                        pipeline: pipeline,
                        setting: text,
                        isSet: true,
                        number: number,
                        interval: interval,
                        by: name,
                        at: date
                    )
                )
            }
            return
        }
        if known.isSet == isSet, known.number == number, known.interval == interval { return }
        known.isSet = isSet
        known.number = number
        known.interval = interval
        known.by = name
        known.at = date
    }
}

extension PipelineSettings {
    fileprivate init(
        _ pipeline: PipelineName,
        _ declaration: PipelineDeclaration.Row?,
        _ overrides: [PipelineOverride.Row]
    ) {
        var overridden = OverriddenOptions()
        var changes: [Name: Change] = [:]
        var names: Set<Name> = []
        for row in overrides {
            guard let name = Name(rawValue: row.setting) else { continue }
            changes[name] = Change(by: row.by, at: row.at)
            guard row.isSet else { continue }
            names.insert(name)
            overridden.set(name, number: row.number, interval: row.interval)
        }
        func setting<Value: Sendable & Hashable>(_ name: Name, _ value: Value) -> Setting<Value> {
            Setting(value: value, isOverridden: names.contains(name), change: changes[name])
        }
        let declared = declaration.map { Declaration($0) }
        let limits = declared ?? .standard
        self.pipeline = pipeline
        self.declared = declared
        isPaused = setting(.isPaused, overridden.isPaused)
        maxConcurrent = setting(.maxConcurrent, overridden.maxConcurrent ?? limits.maxConcurrent)
        rateLimit = setting(.rateLimit, overridden.rateLimit ?? limits.rateLimit)
    }

    /// The limits that apply without operators: the declared ones, or else the defaults.
    var declaredOrDefault: Declaration { declared ?? .standard }
}

extension PipelineSettings.Declaration {
    /// The limits of a pipeline that is opened without options.
    fileprivate static var standard: PipelineSettings.Declaration {
        let options = PipelineOptions()
        return PipelineSettings.Declaration(maxConcurrent: options.maxConcurrent, rateLimit: options.rateLimit)
    }

    fileprivate init(_ row: PipelineDeclaration.Row) {
        maxConcurrent = row.maxConcurrent
        rateLimit = RateLimit(storedCount: row.rateCount, interval: row.rateInterval)
    }
}
