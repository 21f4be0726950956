/// The relationships of an object that is not inserted. They are kept outside its row, because a row refers to other
/// objects by id.
final class PendingRelationships {
    /// To-one relationships by column.
    var one: [Int: any Model] = [:]
    /// Members of to-many relationships by relationship, in the order in which they were added.
    var many: [Int: [any Model]] = [:]
    /// Objects whose pending relationships lead to this object. The references are weak, so that two objects do not
    /// keep each other alive.
    var referrers: [WeakModel] = []

    /// Removes one entry of an object whose pending relationship no longer leads here by one of its relationships.
    /// Other entries of the same object stay.
    func forget(_ object: AnyObject) {
        if let index = referrers.firstIndex(where: { $0.object === object }) { referrers.remove(at: index) }
    }

    struct WeakModel {
        weak var object: AnyObject?
    }
}

extension Model {
    /// The relationships of an object that is not inserted, created at first use.
    var pendingRelationships: PendingRelationships {
        if case .pending(let pending) = _$link.owner { return pending }
        let pending = PendingRelationships()
        _$link.owner = .pending(pending)
        return pending
    }

    /// Clears a to-one relationship that was set before the insert.
    func clearPendingReference(_ column: Int) {
        guard case .pending(let pending) = _$link.owner, let value = pending.one.removeValue(forKey: column) else {
            return
        }
        value.forget(self)
    }

    /// Removes an object whose pending relationship no longer leads to this object.
    func forget(_ object: AnyObject) {
        if case .pending(let pending) = _$link.owner { pending.forget(object) }
    }

    /// The raw value of the object's id, for callers that do not know the model; 0 before the object is inserted.
    var storedID: Int64 { id.rawValue }

    /// Sets a to-one column, for callers that do not know the destination model.
    func setReference(_ number: Int64?, at column: Int) {
        let value = number.map(StoredValue.integer) ?? .null
        if (try? _$row._$value(at: column)) == value { return }
        _$willChange(column)
        do { try _$row._$set(value, at: column) } catch { _$link.context?.reference.report(error) }
    }
}
