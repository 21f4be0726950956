public import Foundation
public import Strata

extension QueuedOperation {
    /// The operation's payload.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` if the payload has another type, and with `undecodablePayload`
    ///   if a later version of the type has stored it; decoding errors.
    public func payload<Payload: OperationPayload>(as type: Payload.Type) throws -> Payload {
        try Payload.decoded(payload, version: payloadVersion, type: self.type, of: id.rawValue)
    }

    /// Replaces the payload. A running attempt keeps the payload that it started with, and if this attempt is done, so
    /// is the operation. To run the operation once more with the new payload, call ``retry()`` as well, in the same
    /// commit.
    ///
    /// - Throws: `StrataError` with `idOfOtherStore` for an item of another store; encoding errors.
    public func setPayload<Payload: OperationPayload>(_ payload: Payload) throws {
        if let owningContext { try payload.refuseForeignItem(in: owningContext) }
        let isOther = !type.hasSameBytes(as: Payload.operationType) || payload._itemNumber != nil
        let tie = isOther ? try owningContext?.find(id.counterpart(OperationItem.self)) : nil
        let bytes = try StoredJSON.encoder.encode(payload)
        // The problem is of the former payload.
        if let known = problem, Self.isOfPayload(known) { problem = nil }
        if let tie, payload._itemNumber != 0 {
            tie.item = payload._itemNumber ?? 0
        } else if let item = payload._itemNumber, let owningContext {
            // Reports an object without an id, for which the operation would never run.
            self.tie(to: item, of: payload, in: owningContext)
        }
        self.payload = bytes
        type = Payload.operationType
        payloadVersion = Payload.payloadVersion
    }

    // MARK: Order

    /// Gives this new operation the position of an operation from an earlier commit: it runs together with the
    /// operations of that commit, before operations queued since then.
    ///
    /// ```swift
    /// try context.enqueue(Upload(file: "index"), in: .uploads).join(first)
    /// ```
    ///
    /// If the operations of the earlier commit are finished when this one is committed, this operation runs before all
    /// operations queued after them. An operation that is not committed yet does not have a commit to join: the
    /// operations of one commit belong together anyway.
    ///
    /// - Parameter other: an operation of the earlier commit, in the same pipeline. Its ``sortKey`` is copied.
    /// - Throws: ``PipelineError`` with `invalidArgument` if this operation is already queued, or the other one is in
    ///   another pipeline; `StrataError` with `idOfOtherStore` for an operation of another store.
    public func join(_ other: QueuedOperation) throws {
        try requireContext().refuseForeign(other.id)
        guard commit <= 0 else {
            throw PipelineError(
                .invalidArgument,
                "The operation is already queued. Only an operation that is not committed yet can join an earlier "
                    + "commit.",
                operations: [id.rawValue]
            )
        }
        guard other.pipeline == pipeline else {
            throw PipelineError(
                .invalidArgument,
                "An operation of '\(pipeline)' cannot join the commit of an operation of '\(other.pipeline)'.",
                operations: [other.id.rawValue]
            )
        }
        sortKey = other.sortKey
        commit = -abs(other.commit)
    }

    /// The number of the commit that determines the operation's position; `Int64.max` before this commit is known.
    var positionCommit: Int64 { commit == 0 ? .max : abs(commit) }

    // MARK: Dependencies

    /// Makes this operation wait until others are completed or skipped.
    ///
    /// - Parameters:
    ///   - others: the operations to wait for.
    ///   - onFailure: what happens to this operation when one of the others has failed permanently. For an existing
    ///     dependency, the policy is replaced.
    /// - Throws: ``PipelineError`` with `dependencyCycle` if the operations would wait for each other; nothing has
    ///   changed then. If changes of another context close a cycle, the commit finds the cycle and throws the same
    ///   error. `StrataError` with `idOfOtherStore` for an operation of another store. The store's errors.
    /// - Complexity: O(1) for an operation without dependants.
    public func addDependencies(_ others: [QueuedOperation], onFailure: DependencyPolicy = .wait) throws {
        try addDependencies(others.map(\.id), onFailure: onFailure)
    }

    /// Makes this operation wait for others by their ids, including ids of operations that are not queued yet. While an
    /// operation is not queued, this one does not wait for it.
    public func addDependencies(
        _ others: [ObjectID<QueuedOperation>],
        onFailure: DependencyPolicy = .wait
    ) throws {
        let context = try requireContext()
        for other in others { try context.refuseForeign(other) }
        let prerequisites = context.state[Prerequisites.self] ?? Prerequisites.Value()
        // A new operation cannot have dependants, unless this context has made others depend on its id.
        let isNew = isMadeHere && commit == 0 && !prerequisites.numbers.contains(id.rawValue)
        for other in others where !isNew || other == id { try checkCycle(other, context) }
        prerequisites.numbers.formUnion(others.map(\.rawValue))
        context.state[Prerequisites.self] = prerequisites
        let hasNone = isNew && prerequisites.dependants.insert(id.rawValue).inserted
        let known = hasNone ? [] : try context.fetch(.of(dependant: id.rawValue))
        let byPrerequisite = Dictionary(known.map { ($0.prerequisite, $0) }) { first, _ in first }
        for number in Set(others.map(\.rawValue)).sorted() {
            if let dependency = byPrerequisite[number] {
                dependency.whenFailed = onFailure
            } else {
                context.insert(
                    OperationDependency(dependant: id.rawValue, prerequisite: number, whenFailed: onFailure)
                )
            }
        }
        edits += 1
    }

    /// Removes dependencies, so that this operation starts without waiting for the others.
    ///
    /// - Throws: `StrataError` with `idOfOtherStore` for an operation of another store; the store's errors.
    public func removeDependencies(_ others: [ObjectID<QueuedOperation>]) throws {
        let context = try requireContext()
        for other in others { try context.refuseForeign(other) }
        let numbers = Set(others.map(\.rawValue))
        for dependency in try context.fetch(.of(dependant: id.rawValue))
        where numbers.contains(dependency.prerequisite) {
            context.delete(dependency)
        }
        edits += 1
    }

    /// The ids of the operations that this one depends on, including operations that are not queued yet.
    public func dependencies() throws -> [ObjectID<QueuedOperation>] {
        let context = try requireContext()
        // The application may have requested a dependency that the operations' effects imply as well.
        let numbers = Set(try context.fetch(.of(dependant: id.rawValue)).map(\.prerequisite))
        return numbers.sorted().map { id.sibling($0) }
    }

    private func checkCycle(_ other: ObjectID<QueuedOperation>, _ context: ObjectContext) throws {
        let own = id.rawValue
        // A cycle must lead back to this operation. If this operation has no dependants, only a dependency on itself is
        // a cycle.
        guard try other.rawValue == own || context.exists(.of(prerequisite: own)) else { return }
        let cycle = try DependencyCycle.find(from: CollectionOfOne(own)) { number in
            // The other dependencies of this operation do not lead back to it: they were checked when they were added.
            number == own ? [other.rawValue] : try context.fetch(.of(dependant: number)).map(\.prerequisite)
        }
        if let cycle { throw DependencyCycle.error(cycle) }
    }

    // MARK: Holds

    /// Holds this operation until a date. An operation waits for all of its holds. A hold of the same name is moved to
    /// the new date.
    ///
    /// - Parameters:
    ///   - name: any text except the empty one, `start` and `retry`. `enqueue` uses `start` for `notBefore`, and the
    ///     engine uses `retry` for the pause before the next attempt. Both can be released.
    ///   - date: the end of the hold.
    /// - Throws: ``PipelineError`` with `invalidArgument`; the store's errors.
    public func hold(_ name: String, until date: Date) throws {
        try HoldName.requireFree(name, operations: [id.rawValue])
        try setHold(name, until: date, in: requireContext())
    }

    /// Removes a hold, if it exists.
    ///
    /// - Returns: whether the operation had a hold of this name.
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    @discardableResult
    public func release(_ name: String) throws -> Bool {
        try setHold(name, until: nil, in: requireContext())
    }

    /// Sets the date of a hold; nil removes the hold.
    ///
    /// - Returns: whether there was a hold of this name.
    @discardableResult
    func setHold(_ name: String, until date: Date?, in context: ObjectContext) throws -> Bool {
        let hold = try context.first(.of(operation: id.rawValue, name: name))
        switch (hold, date) {
        case (nil, nil): return false
        case (let hold?, let date?): hold.until = date
        case (let hold?, nil): context.delete(hold)
        case (nil, let date?): context.insert(OperationHold(operation: id.rawValue, name: name, until: date))
        }
        edits += 1
        return hold != nil
    }

    // MARK: Decisions

    /// Skips the operation, from the commit on. Its dependants continue. A running operation is cancelled, unless it is
    /// done by then.
    ///
    /// An operation that is not committed yet is never queued.
    public func skip() { decide(.skip) }

    /// Marks the operation as done, from the commit on. Otherwise it behaves as ``skip()``: its dependants continue,
    /// and a running operation is cancelled, unless it is done by then.
    public func complete() { decide(.complete) }

    /// Tries the operation again at once if it has failed, or waits for a constraint or for its next attempt. Attempts
    /// and crashes are reset. Its other holds stay.
    ///
    /// If the operation runs, its attempt is cancelled and the operation runs once more, whatever the attempt's
    /// outcome, even `done`. For an operation that is not committed yet, the call has no effect.
    public func retry() { decide(.retry) }

    private func decide(_ request: OperationRequest) {
        guard commit > 0 else {
            // `takeBack` throws only if the operation has no context, and then it has no rows.
            if request != .retry { try? takeBack() }
            return
        }
        // A request to complete the operation is final.
        if self.request != .complete { self.request = request }
    }

    /// Removes the operation before it was ever committed, with its dependencies, holds, item, trace, options and tags.
    private func takeBack() throws {
        let (context, number) = (try requireContext(), id.rawValue)
        context.delete(self)
        for dependency in try context.fetch(.of(dependant: number)) { context.delete(dependency) }
        for hold in try context.fetch(OperationHold.where { $0.operation == number }) { context.delete(hold) }
        for tag in try context.fetch(OperationTag.where { $0.operation == number }) { context.delete(tag) }
        if let item = try context.find(id.counterpart(OperationItem.self)) { context.delete(item) }
        // Only a context with a tracer stores traces.
        if context.tracer != nil, let trace = try context.find(id.counterpart(OperationTrace.self)) {
            context.delete(trace)
        }
        for settings in try context.fetch(.of(operation: number)) { context.delete(settings) }
        if let uniqueness = try context.find(id.counterpart(OperationUniqueness.self)) { context.delete(uniqueness) }
    }

    /// The context of the operation.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context.
    func requireContext() throws -> ObjectContext {
        if let owningContext { return owningContext }
        throw PipelineError(
            .invalidArgument,
            "The operation does not belong to a context. Queue it with `enqueue` first."
        )
    }
}

/// The operations that this context has used as prerequisites, even if the dependency was removed or rolled back.
private enum Prerequisites: ContextStateKey {
    final class Value {
        var numbers: Set<Int64> = []
        /// The new operations of this context that have been given dependencies.
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
