import Foundation

extension ObjectContext {
    /// Prepares the changes for a save or commit: retries failed inserts, drops no-op changes, merges duplicate
    /// inserts, calls hooks, refuses uses of deleted objects, sets timestamps and validates.
    ///
    /// - Parameter last: the last step. A save applies the delete rules in it.
    func prepareToSave(_ last: (inout PreparedSave) throws -> Void) throws -> PreparedSave {
        try publishWithFailedInserts()
        try dropNoOpChanges()
        var prepared = PreparedSave()
        if store.layers.hasInserted(store.schema.updating, in: id) {
            prepared.added = try adding { try mergeDuplicateInserts(&prepared) }
        }
        do {
            if store.schema.hasSaveHooks {
                try publishWithFailedInserts()
                try runHooksBeforeSave()
                try dropNoOpChanges()
            }
            // If the check throws, inserts that have succeeded only now are published after the save. The undo history
            // records them there.
            try retryFailedInserts()
            try refuseUsesAfterDelete()
            publish()
            if !store.schema.stamped.isEmpty, !saving.isStamped { stamp(saving.time) }
            try runValidations()
            try last(&prepared)
        } catch {
            // Unpublished edits stay. So they must not be merged into the added segments, which are removed.
            if !prepared.added.isEmpty { publish() }
            store.layers.thaw(prepared.added)
            takeBack(prepared.added)
            throw error
        }
        return prepared
    }

    /// Retries failed inserts, and publishes all edits.
    private func publishWithFailedInserts() throws {
        try retryFailedInserts()
        publish()
    }

    private func refuseUsesAfterDelete() throws {
        var failures: [StrataError.Detail] = []
        for case let tracker? in live.trackers { failures += tracker.failures(self) }
        guard failures.isEmpty else {
            throw StrataError(
                .invalidState,
                "Objects were changed or related to others after they had been deleted in this context. Roll them "
                    + "back to restore them.",
                details: failures
            )
        }
    }

    /// Drops changes whose values are back at their original values. Does nothing in a savepoint, which needs all
    /// changes.
    private func dropNoOpChanges() throws {
        guard undoing.savepoints.isEmpty, store.layers.hasNoOpChanges(in: id, store.schema) else { return }
        try editLayer { try store.layers.dropNoOpChanges(of: id, store.schema, $0) }
    }

    /// Sets the timestamps of objects that this context itself has changed.
    private func stamp(_ now: Date) {
        let newest = store.layers.state.withLock { $0.layers }
        // The rows are those that this context shows. If others have committed since its snapshot, the newest rows have
        // values, and refer to bytes, that the snapshot does not contain.
        let layers = reading.snapshot?.layers ?? newest
        var stamps: [Int: any AnyRowChanges] = [:]
        for entity in store.schema.stamped {
            let parts = undoing.unchecked(newest[id]).filter { $0.provenance == Provenance(id) }
                .compactMap { $0.parts[entity.info.index] }
            if let stamp = entity.stamps(parts, layers: layers, context: id, now: now) {
                stamps[entity.info.index] = stamp
            }
        }
        guard !stamps.isEmpty else { return }
        push(stamps)
        for (entity, part) in stamps {
            noteUnheldObjects(of: part, entity, areInsertsNew: true)
            live.trackers[entity]?.show(live.objects(in: part, of: store.schema.model(entity)), of: part)
        }
    }

    /// Applies the delete rules again to the deletes in the layers of these contexts. This context is the topmost of
    /// them, and the rules affect the rows that it sees.
    func applyDeleteRules(
        of contexts: [Int],
        _ prepared: inout PreparedSave,
        _ others: [Int: Set<Int>] = [:]
    ) throws {
        let deletes = deletes(of: contexts.filter(path.contains), others)
        guard !deletes.isEmpty else { return }
        try prepared.recordBasis(currentSnapshot(), path)
        let added = try adding {
            deleteEffects.isPaused = true
            defer { deleteEffects.isPaused = false }
            try applyDeleteRulesAgain(deletes)
        }
        prepared.added.formUnion(added)
    }

    /// Makes edits that are removed if the save fails. Returns their segments, which are frozen.
    private func adding(_ edits: () throws -> Void) throws -> Set<Int> {
        publish()
        // While the earlier segments are frozen, the added edits are not merged into them.
        let before = store.layers.freeze([id])[id] ?? []
        let result = Result(catching: edits)
        publish()
        let after = store.layers.freeze([id])[id] ?? []
        store.layers.thaw(before)
        store.layers.thaw(after.intersection(before))
        let added = after.subtracting(before)
        do {
            try result.get()
        } catch {
            store.layers.thaw(added)
            takeBack(added)
            throw error
        }
        return added
    }

    /// Removes edits that were added for a save, after the save has failed or was postponed. Changes that a child has
    /// saved meanwhile stay.
    func takeBack(_ added: Set<Int>) {
        guard !added.isEmpty else { return }
        publish()
        drop { $0.provenance == Provenance(id) && added.contains($0.id) }
    }

    /// The objects that these layers delete and to which other objects may refer. In a savepoint, deletes that an
    /// earlier save has checked are left out.
    ///
    /// - Parameter others: the segments to consider, for the contexts listed here; all segments of the other contexts
    ///   are considered.
    func deletes(of contexts: [Int], _ others: [Int: Set<Int>] = [:]) -> [(entity: Int, number: Int64)] {
        let layers = store.layers.state.withLock { $0.layers }
        let segments = contexts.sorted().flatMap { context in
            let level = context == id ? undoing.unchecked(layers[id]) : layers[context][...]
            return level.filter { others[context]?.contains($0.id) ?? true }
        }
        var deletes: [(entity: Int, number: Int64)] = []
        for segment in segments {
            for (entity, part) in segment.parts
            where part.kinds.contains(.delete) && !store.schema.entities[entity].info.incoming.isEmpty {
                for (index, number) in part.ids.enumerated() where part.kind(at: index) == .delete {
                    // Another layer of a chain may have restored the row.
                    if contexts.count == 1 || layers.topKind(of: number, entity: entity, in: path) == .delete {
                        deletes.append((entity, number))
                    }
                }
            }
        }
        return deletes
    }

    /// Applies the rules again, because other contexts may have added rows that refer to the deleted ones since the
    /// delete.
    private func applyDeleteRulesAgain(_ deletes: [(entity: Int, number: Int64)]) throws {
        let deleted = Dictionary(grouping: deletes, by: \.entity).mapValues { $0.map(\.number) }
        try applyDeleteRules(of: deleted)
        let denials = try deleted.sorted { $0.key < $1.key }.flatMap { try self.denials(entity: $0, $1) }
        guard denials.isEmpty else { throw CommitJob.deniedError(denials) }
    }

    /// The rows visible to this context that forbid deletes.
    private func denials(entity: Int, _ ids: [Int64]) throws -> [StrataError.Detail] {
        let deleted = store.schema.entities[entity].info
        var denials: [StrataError.Detail] = []
        for reference in deleted.incoming where reference.deleteRule == .deny {
            let info = store.schema.entities[reference.entity].info
            try forEachRow(of: info, reference.column, ids) { reader in
                let number = try reader.read(Int64.self, at: 0)
                let target = try reader.read(Int64.self, at: Int32(reference.column + 1))
                denials.append(info.denial(number, reference, of: deleted, target))
            }
        }
        return denials
    }
}
