import Foundation

/// Replacements of single changes in one layer, of whichever entity.
protocol LayerEdits: Sendable {
    func apply(to layers: inout Layers, context: Int, entity: Int)
}

struct EntityEdits<Row: StoredRow>: LayerEdits {
    /// By the segment's place in the layer and the row's number; nil takes a change out.
    var changes: [Int: [Int64: Change<Row>?]] = [:]

    func apply(to layers: inout Layers, context: Int, entity: Int) {
        layers.edit(context, entity: entity, changes)
    }
}

extension Entity {
    /// Holds the changes of a layer against what lies beneath them now (C17), as far as that is not what was seen.
    func settleConflicts(
        _ layers: Layers, context: Int, _ policy: MergePolicy, _ conflicts: inout [StrataError.Detail]
    ) -> (any LayerEdits)? {
        var edits = EntityEdits<Row>()
        for (position, segment) in layers[context].enumerated() {
            guard let part = segment.parts[info.index]?.typed(Row.self) else { continue }
            for (number, change) in zip(part.numbers, part.changes) {
                guard let base = change.base else { continue }
                switch (change.kind, base.beneath) {
                case (_, .asSeen): continue
                case (.delete, .gone), (.withdrawn, _), (.insert, _): continue
                case (.delete, .changed(let theirs)):
                    settle(change, policy, &edits, position, &conflicts, isDelete: true) {
                        theirs._$differences(from: base.seen).map { column in
                            var detail = detail(change.row, column, base: base.seen, theirs: theirs)
                            detail.mine = nil
                            return detail.saying("was changed elsewhere, and the object deleted here")
                        }
                    }
                case (.orphan, _), (.update, .gone):
                    settle(change, policy, &edits, position, &conflicts, isDelete: false) {
                        change.columns.map {
                            detail(change.row, $0, base: base.seen, theirs: nil)
                                .saying("was changed here, and the object deleted elsewhere")
                        }
                    }
                case (.update, .changed(let theirs)):
                    let conflicting = change.conflicting(with: theirs)
                    guard !conflicting.isEmpty else { continue }
                    switch policy.kind {
                    case .error:
                        conflicts += conflicting.map { detail(change.row, $0, base: base.seen, theirs: theirs) }
                    case .mine:
                        edits.changes[position, default: [:]][number] = .some(change.over(theirs))
                    case .theirs:
                        var settled = change.over(theirs)
                        settled.columns = change.columns.subtracting(conflicting)
                        settled.row._$copy(conflicting, from: theirs)
                        edits.changes[position, default: [:]][number] = .some(settled.columns.isEmpty ? nil : settled)
                    }
                }
            }
        }
        return edits.changes.isEmpty ? nil : edits
    }

    /// One of two has deleted the object that the other has changed.
    private func settle(
        _ change: Change<Row>, _ policy: MergePolicy, _ edits: inout EntityEdits<Row>, _ position: Int,
        _ conflicts: inout [StrataError.Detail], isDelete: Bool, _ details: () -> [StrataError.Detail]
    ) {
        let number = change.row._$number
        switch policy.kind {
        case .error: conflicts += details()
        case .theirs: edits.changes[position, default: [:]][number] = .some(nil)
        case .mine where isDelete:
            edits.changes[position, default: [:]][number] = .some(
                Change(kind: .delete, columns: ColumnSet(), row: change.row, base: change.base?.over(.asSeen))
            )
        case .mine: edits.changes[position, default: [:]][number] = .some(.insert(change.row))
        }
    }

    /// Changes that set the timestamps of rows which a context has inserted or updated (C11).
    func stamps(_ parts: [any AnyPart], layers: Layers, context: Int, now: Date) -> (any AnyPart)? {
        var stamps: [Change<Row>] = []
        var seen: Set<Int64> = []
        let time = StoredValue.real(now.timeIntervalSinceReferenceDate)
        for part in parts.reversed() {
            for number in part.numbers where seen.insert(number).inserted {
                guard let change = layers.top(number, entity: info.index, in: [context], Row.self),
                    change.kind.isVisible
                else { continue }
                var columns = ColumnSet()
                var row = change.row
                if let createdAt = info.createdAt, (try? row._$value(at: createdAt)) == .null {
                    let isNew = parts.contains { part in part.index(of: number).map { part.kind(at: $0) == .insert } ?? false }
                    if isNew, (try? row._$set(time, at: createdAt)) != nil { columns.insert(createdAt) }
                }
                if let updatedAt = info.updatedAt, (try? row._$set(time, at: updatedAt)) != nil {
                    columns.insert(updatedAt)
                }
                guard !columns.isEmpty else { continue }
                let base = change.base ?? Base(seen: change.row, stored: nil, sequence: 0)
                stamps.append(
                    Change(
                        kind: .update, columns: columns, row: row,
                        base: Base(seen: change.row, stored: base.stored, sequence: base.sequence)
                    )
                )
            }
        }
        return stamps.isEmpty ? nil : Part(unsorted: stamps)
    }

    /// Values of a layer that must be unique and that its parents or the store show already (H24).
    func findDuplicates(
        _ layers: Layers, path: [Int], _ connection: Connection, _ found: inout [StrataError.Detail]
    ) throws {
        let own = layers.parts(of: info.index, in: [path[path.count - 1]])
        guard !own.isEmpty else { return }
        let all = layers.parts(of: info.index, in: path)
        for unique in info.uniques {
            var holders: [[StoredValue]: Int64] = [:]
            func key(_ row: Row) throws -> [StoredValue]? {
                let values = try unique.map { try row._$value(at: $0) }
                return values.contains(.null) ? nil : values
            }
            func report(_ row: Row, _ holder: Int64) {
                let names = unique.map { info.columns[$0].name }.joined(separator: ", ")
                found.append(
                    StrataError.Detail(
                        model: info.name, number: row._$number, column: info.columns[unique[0]].name,
                        message: "has the same \(names) as \(info.name) \(holder)",
                        mine: try? row._$value(at: unique[0])
                    )
                )
            }
            let cursor = PendingCursor(all)
            cursor.start(only: nil)
            var candidates: [(row: Row, key: [StoredValue])] = []
            while !cursor.isAtEnd {
                let change = all[cursor.part].typed(Row.self).changes[cursor.index]
                if let key = try key(change.row) {
                    let isOwn = own.contains { $0.index(of: cursor.number) != nil }
                    if let other = holders.updateValue(cursor.number, forKey: key) {
                        report(change.row, other)
                    } else if isOwn, change.kind == .insert || unique.contains(where: change.columns.contains) {
                        candidates.append((change.row, key))
                    }
                }
                cursor.advance()
            }
            let statement = try connection.statement(info.sql.selectHolder(unique))
            for (row, key) in candidates {
                var holder: Int64?
                try statement.run(key) { holder = try $0.read(Int64.self, at: 0) }
                guard let holder, holder != row._$number else { continue }
                // What a layer says of the holder goes before what the store says.
                if !all.contains(where: { $0.index(of: holder) != nil }) { report(row, holder) }
            }
        }
    }
}

extension Change {
    /// The same change, made in the knowledge of what is beneath it now.
    fileprivate func over(_ theirs: Row) -> Change {
        guard let base else { return self }
        var seen = base.seen
        seen._$copy(columns, from: theirs)
        return Change(
            kind: kind, columns: columns, row: row, base: Base(seen: seen, stored: base.stored, sequence: base.sequence)
        )
    }
}
