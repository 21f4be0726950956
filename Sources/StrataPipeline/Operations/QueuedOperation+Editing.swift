public import Foundation
public import Strata

extension QueuedOperation {
    /// The payload.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` where it is of another type, `undecodablePayload` where a later version has stored it; what
    ///   decoding throws.
    public func payload<Payload: OperationPayload>(as type: Payload.Type) throws -> Payload {
        try Payload.decoded(payload, version: payloadVersion, type: self.type, of: id.number)
    }

    /// Sets another payload. An attempt that runs keeps the one that it was started with, and where that is done, so is the operation: to
    /// have it done once more, ask for ``retry()`` as well, in the same commit.
    ///
    /// - Throws: ``Strata/StrataError`` with `foreignID` for an item of another store; what encoding throws.
    public func setPayload<Payload: OperationPayload>(_ payload: Payload) throws {
        if let owningContext { try payload.refuseForeignItem(in: owningContext) }
        let isOther = !type.hasSameBytes(as: Payload.operationType) || payload._itemNumber != nil
        let tie = isOther ? try owningContext?.find(id.counterpart(OperationItem.self)) : nil
        let bytes = try JSONEncoder().encode(payload)
        if let tie {
            tie.item = payload._itemNumber ?? 0
        } else if let item = payload._itemNumber, let owningContext {
            self.tie(to: item, of: payload, in: owningContext)
        }
        if problem?.hasBytePrefix(Self.notEncoded) ?? false { problem = nil }
        self.payload = bytes
        type = Payload.operationType
        payloadVersion = Payload.payloadVersion
    }

    // MARK: Order

    /// Has this operation, which no commit has queued yet, count as one of those that an earlier commit has queued: it has its turn with them,
    /// before what was queued since.
    ///
    /// ```swift
    /// try context.enqueue(Upload(file: "index"), in: .uploads).join(first)
    /// ```
    ///
    /// Where the others are done with by the time of its own commit, it comes before all that is queued behind them. One that no commit has queued yet
    /// gives nothing to join: what is queued by one commit belongs together anyway.
    ///
    /// - Parameter other: one of them, of the same pipeline. Its ``sortKey`` is taken over.
    /// - Throws: ``PipelineError`` with `invalidArgument` where this one is queued already, or the other one is in another pipeline;
    ///   ``Strata/StrataError`` with `foreignID` for one of another store.
    public func join(_ other: QueuedOperation) throws {
        try requireContext().refuseForeign(other.id)
        guard commit <= 0 else {
            throw PipelineError(
                .invalidArgument,
                "The operation is queued already. Only one that no commit has queued yet can join an earlier commit.",
                operations: [id.number]
            )
        }
        guard other.pipeline == pipeline else {
            throw PipelineError(
                .invalidArgument,
                "An operation of '\(pipeline)' cannot join the commit of one of '\(other.pipeline)'.",
                operations: [other.id.number]
            )
        }
        sortKey = other.sortKey
        commit = -abs(other.commit)
    }

    /// The number of the commit whose operations it has its turn with; the greatest before that is known.
    var turn: Int64 { commit == 0 ? .max : abs(commit) }

    // MARK: Dependencies

    /// Lets this operation start only when others are completed or skipped.
    ///
    /// - Parameter whenFailed: what becomes of this one when one of the others has failed for good. Of a dependency that is there already
    ///   it is changed.
    /// - Throws: ``PipelineError`` with `dependencyCycle` where they would wait for each other; nothing has changed then. A ring that
    ///   closes by what another context commits meanwhile is found by the commit, which throws the same. ``Strata/StrataError`` with
    ///   `foreignID` for an operation of another store. What the store reports.
    /// - Complexity: O(1) for an operation that nobody depends on.
    public func addDependencies(_ others: [QueuedOperation], whenFailed: DependencyPolicy = .wait) throws {
        try addDependencies(others.map(\.id), whenFailed: whenFailed)
    }

    /// The same by ids, also of operations that are yet to be queued. What is not queued is not waited for.
    public func addDependencies(
        _ others: [ObjectID<QueuedOperation>],
        whenFailed: DependencyPolicy = .wait
    ) throws {
        let context = try requireContext()
        for other in others { try context.refuseForeign(other) }
        let prerequisites = context.state[Prerequisites.self] ?? Prerequisites.Value()
        // Nobody depends yet on what was just made here.
        let isNew = isMadeHere && commit == 0 && !prerequisites.numbers.contains(id.number)
        for other in others where !isNew || other == id { try checkRing(other, context) }
        prerequisites.numbers.formUnion(others.map(\.number))
        context.state[Prerequisites.self] = prerequisites
        let hasNone = isNew && prerequisites.dependants.insert(id.number).inserted
        let known = hasNone ? [] : try context.fetch(.of(dependant: id.number))
        let byPrerequisite = Dictionary(known.map { ($0.prerequisite, $0) }) { first, _ in first }
        for number in Set(others.map(\.number)).sorted() {
            if let dependency = byPrerequisite[number] {
                dependency.whenFailed = whenFailed
            } else {
                context.insert(
                    OperationDependency(dependant: id.number, prerequisite: number, whenFailed: whenFailed)
                )
            }
        }
        edits += 1
    }

    /// Lets this operation start without waiting for others.
    ///
    /// - Throws: ``Strata/StrataError`` with `foreignID` for an operation of another store; what the store reports.
    public func removeDependencies(_ others: [ObjectID<QueuedOperation>]) throws {
        let context = try requireContext()
        for other in others { try context.refuseForeign(other) }
        let numbers = Set(others.map(\.number))
        for dependency in try context.fetch(.of(dependant: id.number))
        where numbers.contains(dependency.prerequisite) {
            context.delete(dependency)
        }
        edits += 1
    }

    /// The ids of the operations that this one depends on, queued or yet to be.
    public func dependencies() throws -> [ObjectID<QueuedOperation>] {
        let context = try requireContext()
        // One may have been asked for, and follow from what both do as well.
        let numbers = Set(try context.fetch(.of(dependant: id.number)).map(\.prerequisite))
        return numbers.sorted().map { id.sibling($0) }
    }

    private func checkRing(_ other: ObjectID<QueuedOperation>, _ context: ObjectContext) throws {
        let own = id.number
        // A ring leads back here; so where nobody depends on this operation there is none but that of itself.
        guard try other.number == own || context.exists(.of(prerequisite: own)) else { return }
        let ring = try DependencyRing.find(from: CollectionOfOne(own)) { number in
            // Whatever else this one depends on does not lead back: that was asked before.
            number == own ? [other.number] : try context.fetch(.of(dependant: number)).map(\.prerequisite)
        }
        if let ring { throw DependencyRing.error(ring) }
    }

    // MARK: Holds

    /// Lets this operation start no earlier than a moment. It waits for all of its holds; one of the same name is moved.
    ///
    /// - Parameter name: any text but `start`, which is the name of what `enqueue` makes of `notBefore`, and `retry`, that of the pause
    ///   before the next attempt. These can be released.
    /// - Throws: ``PipelineError`` with `invalidArgument`; what the store reports.
    public func hold(_ name: String, until date: Date) throws {
        guard !HoldName.all.containsBytes(of: name) else {
            throw PipelineError(
                .invalidArgument,
                "'\(name)' is the name of a hold that pipelines make themselves. Take another one.",
                operations: [id.number]
            )
        }
        try setHold(name, until: date, in: requireContext())
    }

    /// Takes a hold away, if it is there.
    public func release(_ name: String) throws {
        try setHold(name, until: nil, in: requireContext())
    }

    /// Sets until when a hold lasts, or takes it away.
    func setHold(_ name: String, until date: Date?, in context: ObjectContext) throws {
        let hold = try context.first(.of(operation: id.number, name: name))
        switch (hold, date) {
        case (nil, nil): return
        case (let hold?, let date?): hold.until = date
        case (let hold?, nil): context.delete(hold)
        case (nil, let date?): context.insert(OperationHold(operation: id.number, name: name, until: date))
        }
        edits += 1
    }

    // MARK: Decisions

    /// Leaves the operation out, from the commit on: those that depend on it go on. One that runs is cancelled, unless it is done by then.
    ///
    /// One that no commit has queued yet is never queued.
    public func skip() { decide(.skip) }

    /// Takes the operation as done, from the commit on; otherwise as ``skip()``.
    public func complete() { decide(.complete) }

    /// Lets an operation that has failed, or waits for a constraint or for its next attempt, be tried again at once, with fresh attempts and no
    /// crashes counted. Its other holds stay.
    ///
    /// The attempt of one that runs is cancelled, and the operation is done once more, whatever that attempt comes to: also where it is done. One that
    /// no commit has queued yet is tried anyway.
    public func retry() { decide(.retry) }

    private func decide(_ request: OperationRequest) {
        guard commit > 0 else {
            // It belongs to a context, or there is nothing to take back.
            if request != .retry { try? takeBack() }
            return
        }
        // Done is done.
        if self.request != .complete { self.request = request }
    }

    /// Has it never been queued, and what it was to wait for neither.
    private func takeBack() throws {
        let (context, number) = (try requireContext(), id.number)
        context.delete(self)
        for dependency in try context.fetch(.of(dependant: number)) { context.delete(dependency) }
        for hold in try context.fetch(OperationHold.where { $0.operation == number }) { context.delete(hold) }
        if let item = try context.find(id.counterpart(OperationItem.self)) { context.delete(item) }
    }

    private func requireContext() throws -> ObjectContext {
        guard let context = owningContext else { throw PipelineError.withoutContext }
        return context
    }
}

/// What this context has made others depend on, whatever became of it.
private enum Prerequisites: ContextStateKey {
    final class Value {
        var numbers: Set<Int64> = []
        /// The operations that were made here and have been given dependencies.
        var dependants: Set<Int64> = []
    }
}

extension Query where Object == OperationDependency {
    static func of(dependant number: Int64) -> Self { OperationDependency.where { $0.dependant == number } }
    static func of(prerequisite number: Int64) -> Self { OperationDependency.where { $0.prerequisite == number } }
}

extension Query where Object == OperationHold {
    static func of(operation number: Int64, name: String) -> Self {
        OperationHold.where { $0.operation == number && $0.name == name }
    }
}
