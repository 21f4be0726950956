import Strata

extension PullPlan {
    /// Keeps only the steps that the remote confirms by requests for the objects themselves.
    ///
    /// - Parameters:
    ///   - tree: the content of the listings. Objects that only a request has found are added to it.
    ///   - limit: how many files may be removed; nil for any number.
    /// - Throws: ``CloudError`` with `tooManyRemovals`; `RemoteError` with `inconsistentListing`; errors of the
    ///   remote.
    mutating func confirm(
        by check: AbsenceCheck,
        _ tree: inout RemoteTree,
        limit: RemovalLimit?
    ) async throws {
        let absences = try await absences(by: check, limit)
        steps = steps.compactMap { confirmed($0, absences) }
        var refreshed: [Step] = []
        for step in steps { if let step = try await self.refreshed(step, check, &tree) { refreshed.append(step) } }
        steps = refreshed
        try checkRemovals(check.known, limit, check.remote)
    }

    // MARK: Objects that are not listed

    private func absences(by check: AbsenceCheck, _ limit: RemovalLimit?) async throws -> [Int64: Absence] {
        let missing = steps.compactMap { step -> Int64? in
            switch step {
            case .remove(let number), .move(let number, _): number
            default: nil
            }
        }
        let (known, returning, all) = (check.known, returningFiles(check.known), check.known.fileCount)
        return try await check.run(missing) {
            known.hasContent($0) && !returning.contains($0)
        } isEnough: { removals in
            limit?.isExceeded(by: removals, of: all) ?? false
        }
    }

    private mutating func confirmed(_ step: Step, _ absences: [Int64: Absence]) -> Step? {
        switch step {
        case .remove(let number):
            switch absences[number] {
            // A row without an answer was not requested, because the limit had been reached.
            case .proven, nil: return step
            case .unproven: return .restore(number)
            case .unlisted:
                unlisted += 1
                return nil
            case .back:
                deferred += 1
                return nil
            }
        case .move(let number, let object):
            switch absences[number] {
            case .proven, .unproven, nil: return step
            // The object is still at its old key, so the new object is a copy.
            case .unlisted, .back: return .add(object)
            }
        default: return step
        }
    }

    // MARK: Objects that may be listed in an old version

    /// Updates a step to the remote's current answer for the object, if the listing may be older than the last upload
    /// from here.
    ///
    /// - Returns: nil if nothing has changed.
    private func refreshed(_ step: Step, _ check: AbsenceCheck, _ tree: inout RemoteTree) async throws -> Step? {
        switch step {
        case .convert(_, let object):
            // A listing may lack a file that exists, or still show a file that is gone.
            guard let there = try await check.remote.head(object.key), !there.isFolder else { return step }
            return .add(object)
        case .add(let object) where object.isFolder && tree.content(of: object) != nil:
            guard let file = check.known[RemoteLocation(key: object.key, isFolder: false)], file.isCertain,
                try await check.remote.head(object.key)?.isFolder ?? true
            else { return step }
            return .convert(file.id.rawValue, object)
        default: break
        }
        guard case .update(let number, let object) = step, let row = check.known.rows[number] else { return step }
        for mark in RemoteNode.marks(isFolder: row.isFolder)
        where row.eTag(ofMark: mark) != nil && tree.sidecars(of: object)[UTF8Text(mark)] == nil {
            if let there = try await check.remote.head(object.key.sidecar(mark)) { tree.add(sidecar: there) }
        }
        var current = object
        if !row.isListed, let there = try await check.remote.head(object.key), there.isFolder == object.isFolder {
            current = there
        }
        guard Self.isChanged(row, current, tree.sidecars(of: object)) else { return nil }
        return .update(number, current)
    }

    // MARK: Number of removals

    /// Files that are missing at one place and are shown at another, compared by name and size. Another machine has
    /// moved them with their folder.
    private func returningFiles(_ known: LastSyncedTree) -> Set<Int64> {
        struct File: Hashable {
            let name: UTF8Text
            let size: Int64
        }
        var new: [File: Int] = [:]
        for case .add(let object) in steps where !object.isFolder {
            if let name = object.key.last, let size = object.size {
                new[File(name: UTF8Text(name), size: size), default: 0] += 1
            }
        }
        var returning: Set<Int64> = []
        for case .remove(let number) in steps {
            guard let row = known.rows[number], !row.isFolder, let size = row.size else { continue }
            let file = File(name: UTF8Text(row.segment), size: size)
            guard let count = new[file], count > 0 else { continue }
            new[file] = count - 1
            returning.insert(number)
        }
        return returning
    }

    private func checkRemovals(_ known: LastSyncedTree, _ limit: RemovalLimit?, _ remote: any Remote) throws {
        guard let limit else { return }
        let returning = returningFiles(known)
        let removed = steps.compactMap { step -> Int64? in
            if case .remove(let number) = step, known.hasContent(number), !returning.contains(number) {
                number
            } else {
                nil
            }
        }
        let (count, all) = (removed.count, known.fileCount)
        guard limit.isExceeded(by: count, of: all) else { return }
        throw CloudError(
            .tooManyRemovals,
            "A pull would remove \(count) of \(all) files here, because \(remote.name) does not have them any more. Nothing was removed. If they were deleted on purpose, pull without the limit.",
            nodes: Array(removed.prefix(100))
        )
    }
}

extension LastSyncedTree {
    /// The number of known files, and folders with content, that have local nodes.
    fileprivate var fileCount: Int { rows.keys.count(where: hasContent) }

    fileprivate func hasContent(_ number: Int64) -> Bool {
        rows[number].map { $0.hasContent && $0.isCertain && $0.node != nil } ?? false
    }
}
