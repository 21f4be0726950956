/// The relationships that an object has while it is not inserted: its row has no place for objects without ids.
final class Draft {
    /// To-one relationships by column.
    var one: [Int: any Model] = [:]
    /// Members of to-many relationships by relationship, in the order in which they were added.
    var many: [Int: [any Model]] = [:]
    /// Objects that lead here by one of their own drafts. Weak, so that two drafts do not keep each other.
    var leadingHere: [WeakModel] = []

    /// One of the drafts of an object no longer leads here. It may do so by others still.
    func forget(_ object: AnyObject) {
        if let index = leadingHere.firstIndex(where: { $0.object === object }) { leadingHere.remove(at: index) }
    }

    struct WeakModel {
        weak var object: AnyObject?
    }
}

extension Model {
    /// The relationships of an object that is not inserted, made at first use.
    var draft: Draft {
        if case .draft(let draft) = _$link.owner { return draft }
        let draft = Draft()
        _$link.owner = .draft(draft)
        return draft
    }

    /// Takes back what a to-one relationship was set to before the insert.
    func undraft(_ column: Int) {
        guard case .draft(let draft) = _$link.owner, let value = draft.one.removeValue(forKey: column) else { return }
        value.forget(self)
    }

    /// A draft no longer leads to this object.
    func forget(_ object: AnyObject) {
        if case .draft(let draft) = _$link.owner { draft.forget(object) }
    }

    /// The number of the object's id, of whichever model; 0 before it is inserted.
    var storedNumber: Int64 { id.number }

    /// Sets a to-one column of whichever destination.
    func setReference(_ number: Int64?, at column: Int) {
        let value = number.map(StoredValue.integer) ?? .null
        if (try? _$row._$value(at: column)) == value { return }
        _$willChange(column)
        do { try _$row._$set(value, at: column) } catch { _$link.context?.reference.report(error) }
    }
}
