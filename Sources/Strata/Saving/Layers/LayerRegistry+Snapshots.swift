import Foundation

extension LayerRegistry {
    /// A snapshot's sequence number with the matching layers.
    struct MatchedLayers {
        /// The last event that the layers contain, and the number of the snapshot.
        let cursor: CommitLog.Cursor
        let layers: LayerSnapshot
        /// The commits that the snapshot contains but the log does not contain yet.
        let inFlight: [CommitRecord]
        /// The events between a reader's last position and the cursor; nil if they were not asked for, or if some of
        /// them are forgotten.
        let events: [CommitLog.Event]?
        /// The members that commits have merged since the last snapshot of the context, by entity and former row.
        let mergedMembers: [Int: [Int64: MergedMember]]

        /// The number of the last commit that the snapshot contains.
        var sequence: Int64 { cursor.sequence }
    }

    /// Takes a snapshot and the matching layers: first the snapshot, then the layers. It takes both again if the layers
    /// have advanced in between.
    ///
    /// From then on, events are kept for the reader of the log with the given id: a context or ``LayerObserver``.
    ///
    /// - Parameters:
    ///   - last: the last event that the reader has processed; nil if it does not need the events since.
    ///   - path: the path to the context whose layers are needed; nil for all layers.
    func acquireSnapshot(
        for reader: Reader,
        of context: Int?,
        after last: Int? = nil,
        only path: [Int]? = nil,
        schema: Schema
    ) throws -> MatchedLayers {
        // The number that the store had reached before the snapshot was taken, if it matters.
        var reached: Int64 = 0
        while true {
            let sequence = try reader.begin()
            // Without this check the loop would never end.
            guard sequence >= reached else { throw StoreIdentity.replaced.naming(reader.connection.path) }
            let matched: MatchedLayers? = try update(by: context) { state in
                if sequence < state.sequence {
                    reached = state.sequence
                    return nil
                }
                if state.hasInFlight(sequence) {
                    guard state.inFlight.last?.sequence == sequence else { return nil }
                    let layers =
                        if let path {
                            try state.layers(of: path, schema, reader.connection)
                        } else {
                            try state.afterInFlight(state.layers, schema, reader.connection)
                        }
                    let events = last.flatMap { state.log.events(after: $0) }
                    let merged = context.map { state.startReading($0) }
                    return MatchedLayers(
                        cursor: CommitLog.Cursor(event: state.log.end.event, sequence: sequence),
                        layers: layers,
                        inFlight: state.inFlight,
                        events: events.map { Array($0) },
                        mergedMembers: merged ?? [:]
                    )
                }
                if sequence > state.sequence {
                    try state.absorb(through: sequence, schema: schema, connection: reader.connection)
                }
                let events = last.flatMap { state.log.events(after: $0) }
                let merged = context.map { state.startReading($0) }
                return MatchedLayers(
                    cursor: state.log.end,
                    layers: state.layers,
                    inFlight: [],
                    events: events.map { Array($0) },
                    mergedMembers: merged ?? [:]
                )
            }
            if let matched { return matched }
            if reached <= sequence { Self.waitForCommit() }
        }
    }

    /// Waits briefly for a commit that is in the file and about to be applied. Its writer may be copying the journal
    /// first.
    static func waitForCommit() { usleep(50) }

    /// Applies commits of other processes before a commit of this process, which has found the store at this number.
    ///
    /// The commit may fail, so the context that commits is refreshed like the others.
    func absorbCommits(before base: Int64, _ schema: Schema, _ connection: Connection) throws {
        try update(by: nil) { state in
            guard base >= state.sequence else { throw StoreIdentity.replaced.naming(connection.path) }
            // An earlier write of this transaction has already applied the commits of other processes.
            guard state.inFlight.isEmpty, base > state.sequence else { return }
            try state.absorb(through: base, schema: schema, connection: connection)
        }
    }

    /// Applies commits of other processes that a connection sees, unless commits of this process are being written. The
    /// outcome of those commits reports them too.
    func absorbForeign(_ sequence: Int64, _ schema: Schema, _ connection: Connection) throws {
        try update(by: nil) { state in
            guard sequence > state.sequence, !state.hasInFlight(sequence) else { return }
            try state.absorb(through: sequence, schema: schema, connection: connection)
        }
    }

    /// Puts changes on top of a context's layer, and rebases them onto the events since they were made.
    ///
    /// - Parameter cursor: the last event that was known when the changes were made.
    func publish(_ parts: [Int: any AnyRowChanges], provenance: Provenance, by context: Int, seenThrough cursor: Int)
        -> Published
    {
        update(by: context) { state in
            let parts = state.movingMergedMembers(parts, of: context)
            let news = state.news(for: context, after: cursor)
            return state.publish(parts, provenance: provenance, by: context, seenThrough: cursor, news)
        }
    }

    /// Publishes changes as ``publish(_:provenance:by:seenThrough:)`` does, unless the rows below them must be read
    /// from the store. Then the result is nil, and nothing is published.
    func publishIfAncestorsAreKnown(
        _ parts: [Int: any AnyRowChanges],
        provenance: Provenance,
        by context: Int,
        seenThrough cursor: Int
    ) -> Published? {
        update(by: context) { state in
            let parts = state.movingMergedMembers(parts, of: context)
            let news = state.news(for: context, after: cursor)
            if state.isAncestorUnknown(parts, seenThrough: cursor, news) { return nil }
            return state.publish(parts, provenance: provenance, by: context, seenThrough: cursor, news)
        }
    }

    /// Publishes changes, and rebases them onto the rows that are below them now.
    ///
    /// Both happen in one step. In between, other contexts would read rows that are older than their own snapshot, and
    /// a pinned context would keep these rows.
    ///
    /// - Returns: nil if the caller must retry with a newer state.
    func publish(
        _ parts: [Int: any AnyRowChanges],
        provenance: Provenance,
        by context: Int,
        seenThrough cursor: Int,
        _ schema: Schema,
        _ reading: LayerReading
    ) throws -> Published? {
        try rebasing(onto: reading, schema, by: context) { state in
            let parts = state.movingMergedMembers(parts, of: context)
            let news = state.news(for: context, after: cursor)
            let published = state.push(parts, provenance: provenance, by: context, seenThrough: cursor, news)
            // Inserts do not have a row below them.
            for (entity, part) in parts where part.kinds != .insert {
                part.rebaseRead(
                    entity: entity,
                    context: context,
                    schema,
                    reading.connection,
                    replacingEqual: true,
                    in: &state.layers
                )
            }
            // Only now, because the changes below the other layers are not complete before.
            state.layers.rebaseAll(parts, in: state.layers.descendants(of: context))
            return Published(
                advance: published.advance,
                revisions: (published.revisions.before, state.layers.revisions[context])
            )
        }
    }

    /// The result of putting changes on top of a layer.
    struct Published {
        /// Whether the context is at the event of these changes, because no other context has done anything since they
        /// were made.
        let advance: CommitLog.Advance
        /// The revisions of the layer.
        let revisions: (before: Int?, after: Int?)
    }

    /// Removes all changes from a context's layer.
    func clear(_ context: Int) {
        update(by: context) { state in
            for segment in state.layers[context] { state.log.record(.layer(context), segment.parts) }
            state.layers[context] = []
        }
    }
}

extension LayerRegistry.State {
    /// Whether the rows below some of these changes are not known any more.
    ///
    /// - Parameters:
    ///   - cursor: the last event that was known when the changes were made.
    ///   - news: the events since then that changed the rows below the context's layer.
    fileprivate func isAncestorUnknown(
        _ parts: [Int: any AnyRowChanges],
        seenThrough cursor: Int,
        _ news: [CommitLog.Event]
    ) -> Bool {
        // Inserts do not have a row below them.
        if log.end.event == cursor || parts.values.allSatisfy({ $0.kinds == .insert }) { return false }
        // If changes were removed from a layer below, the rows that were there before are not known.
        return !log.isKnown(after: cursor) || news.contains { $0.hasChangedLayer(of: parts) }
    }

    /// Puts changes on top of a context's layer, and rebases the layers above it: see
    /// ``LayerRegistry/publish(_:provenance:by:seenThrough:)``.
    fileprivate mutating func publish(
        _ parts: [Int: any AnyRowChanges],
        provenance: Provenance,
        by context: Int,
        seenThrough cursor: Int,
        _ news: [CommitLog.Event]
    ) -> LayerRegistry.Published {
        let published = push(parts, provenance: provenance, by: context, seenThrough: cursor, news)
        layers.rebaseAll(parts, in: layers.descendants(of: context))
        return published
    }

    /// Puts changes on top of a context's layer, and rebases them onto the events since they were made. The layers
    /// above stay as they are.
    fileprivate mutating func push(
        _ parts: [Int: any AnyRowChanges],
        provenance: Provenance,
        by context: Int,
        seenThrough cursor: Int,
        _ news: [CommitLog.Event]
    ) -> LayerRegistry.Published {
        var parts = parts
        let before = layers.revisions[context]
        for event in news where event.isTaking(context) {
            // The layer was committed between an edit and now. The edit lies above the rows that the commit wrote.
            for (entity, part) in parts {
                if let commit = event.rows[entity] { parts[entity] = part.rebased(onOwn: commit) }
            }
        }
        layers.push(parts, provenance: provenance, to: context, frozen: fixed)
        // Events since then, and other changes in the same layer, now lie below changes that did not know them.
        let isMixed = layers[context].contains { $0.provenance != provenance }
        for event in news where event.isCommit {
            for (entity, part) in parts {
                event.rows[entity]?.updateStoreOriginals(
                    part.ids,
                    entity: entity,
                    context: context,
                    in: &layers
                )
            }
        }
        if isMixed || !news.isEmpty {
            let commits = news.filter(\.isCommit).map(\.rows)
            for (entity, part) in parts {
                part.rebaseOnCommits(
                    commits.compactMap { $0[entity] },
                    entity: entity,
                    context: context,
                    in: &layers
                )
            }
        }
        log.record(.edits(context), parts)
        return LayerRegistry.Published(
            advance: log.advance(context, from: cursor, committing: nil),
            revisions: (before, layers.revisions[context])
        )
    }
}

extension LayerSnapshot {
    /// Rebases layers onto the rows that are below them now. If a row is in the store, it is read.
    mutating func rebaseAll(
        _ parts: [Int: any AnyRowChanges],
        in contexts: [Int],
        _ schema: Schema,
        reading connection: Connection
    ) {
        for context in contexts {
            for (entity, part) in parts {
                part.rebaseRead(entity: entity, context: context, schema, connection, in: &self)
            }
        }
    }

    /// Rebases layers onto rows that have changed in layers below them.
    mutating func rebaseAll(_ parts: [Int: any AnyRowChanges], in contexts: [Int]) {
        for context in contexts where levels[context] != nil {
            for (entity, part) in parts { part.rebaseAbove(entity: entity, context: context, in: &self) }
        }
    }
}

extension RowChanges {
    /// Rebases a layer's changes of these rows onto the rows that are below them now.
    func rebaseAbove(entity: Int, context: Int, in layers: inout LayerSnapshot) {
        let ids = touched(in: layers, context: context, entity: entity)
        guard !ids.isEmpty else { return }
        layers.rebase(ids, entity: entity, in: context, Row.self) { _ in nil }
    }

    /// Rebases these changes of a layer onto the layers below it or, if the store is below it, onto the committed rows.
    ///
    /// Equal rows are replaced too: these changes may come from an older snapshot, in which the bytes of a row were in
    /// the store. Since then, another context may have replaced the bytes, and a layer below may have restored them.
    func rebaseOnCommits(_ commits: [any AnyRowChanges], entity: Int, context: Int, in layers: inout LayerSnapshot) {
        let commits = commits.reversed().map { $0.typed(Row.self) }
        layers.setMissingStoreOriginals(ids, entity: entity, in: context, Row.self) { number in
            commits.lazy.compactMap { $0[number] }.first.flatMap { $0.kind.isVisible ? $0.row : nil }
        }
        layers.rebase(ids, entity: entity, in: context, Row.self, replacingEqual: true) { number in
            for commit in commits {
                if let change = commit[number] { return .some(change.kind.isVisible ? change.row : nil) }
            }
            return nil
        }
    }

    /// Rebases these changes of a layer onto the rows that other layers show.
    func rebase(onto path: [Int], entity: Int, context: Int, in layers: inout LayerSnapshot) {
        let shown = layers
        layers.rebase(ids, entity: entity, in: context, Row.self) { number in
            shown.top(number, entity: entity, in: path, Row.self).map { $0.kind.isVisible ? $0.row : nil }
        }
    }
}

extension LayerRegistry.State {
    /// Keeps the events from now on for a reader of the log that takes a snapshot. Returns the members that commits
    /// have merged since its last snapshot.
    fileprivate mutating func startReading(_ reader: Int) -> [Int: [Int64: MergedMember]] {
        log.startTracking(reader)
        return mergedMembers.removeValue(forKey: reader) ?? [:]
    }

    /// Applies commits of other processes. Rows of which layers have changes are read again. Live objects check the
    /// store themselves if the history says that they are affected.
    mutating func absorb(through sequence: Int64, schema: Schema, connection: Connection) throws {
        let unread = try connection.changes(from: self.sequence, through: sequence).map(schema.numbers)
        let found = try layers.rows(among: unread, since: self.sequence, schema, connection)
        let record = CommitRecord(sequence: sequence, rows: found, unread: unread)
        layers = layers.applying(record)
        log.record(record)
    }

    /// Whether a store with this number contains commits of this process that the layers do not know yet.
    func hasInFlight(_ sequence: Int64) -> Bool { inFlight.first.map { sequence >= $0.sequence } ?? false }
}

extension LayerSnapshot {
    /// The current state of rows that layers and other commits have changed.
    ///
    /// - Parameters:
    ///   - unread: the rows that the commits have changed, by entity. Nil, or no ids, if they are not known.
    ///   - sequence: the number of the store before the commits.
    ///   - connection: a connection that sees the commits.
    func rows(
        among unread: [Int: IDRanges]?,
        since sequence: Int64,
        _ schema: Schema,
        _ connection: Connection
    ) throws -> [Int: any AnyRowChanges] {
        var found: [Int: any AnyRowChanges] = [:]
        for entity in schema.entities {
            let index = entity.info.index
            let parts = levels.values.joined().compactMap { $0.parts[index] }
            if parts.isEmpty || (unread.map { $0[index] == nil } ?? false) { continue }
            let known = unread?[index].flatMap { $0.isEmpty ? nil : $0 }
            if let rows = try entity.readChanged(parts, since: sequence, among: known, on: connection) {
                found[index] = rows
            }
        }
        return found
    }
}

extension Entity {
    /// The current state of rows that layers have updated or deleted, if the store has changed them since.
    ///
    /// - Parameter known: the rows that were changed; nil if they are not known.
    func readChanged(
        _ parts: [any AnyRowChanges],
        since sequence: Int64,
        among known: IDRanges?,
        on connection: Connection
    ) throws -> (any AnyRowChanges)? {
        var ids: Set<Int64> = []
        for part in parts {
            let part = part.typed(Row.self)
            for (number, change) in zip(part.ids, part.changes)
            where change.base?.storeOriginal != nil && known?.contains(number) ?? true {
                ids.insert(number)
            }
        }
        var changes: [Change<Row>] = []
        let statement = try connection.statement(info.sql.selectWithVersion)
        for number in ids.sorted() {
            var isThere = false
            try statement.run([.integer(number)]) { reader in
                isThere = true
                if try reader.read(Int64.self, at: Int32(info.columns.count + 1)) > sequence {
                    changes.append(
                        Change(kind: .update, columns: ColumnSet(), row: try Row(_$from: reader), base: nil)
                    )
                }
            }
            if !isThere, let last = parts.lazy.compactMap({ $0.typed(Row.self)[number]?.row }).first {
                changes.append(Change(kind: .delete, columns: ColumnSet(), row: last, base: nil))
            }
        }
        return changes.isEmpty ? nil : RowChanges(unsorted: changes)
    }
}
