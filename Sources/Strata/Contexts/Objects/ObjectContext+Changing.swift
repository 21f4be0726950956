extension ObjectContext {
    @inline(__always)
    func willChange<Object: Model>(_ object: Object, _ column: Int) {
        guard !isEnded else { return }
        if undoing.history.isOn { keepBytes(of: object, beforeEditing: column) }
        if object._$state.isObserved { observers?.willChange(object.id.rawValue, column) }
        noteTurn()
        let tracker = live.trackers[Int(object._$state.entity)].unsafelyUnwrapped  // register creates the tracker
        unsafeDowncast(tracker, to: ObjectTracker<Object>.self).willChange(object, column, in: self)
    }

    /// Records the insert of an object that was deleted here, or a new relationship to it. The next save reports this
    /// use. Does nothing for an object that was not deleted.
    ///
    /// - Parameter other: the related object. If `other` refers to an object that was deleted elsewhere, its own save
    ///   reports the reference.
    func noteUse<Object: Model>(ofDeleted object: Object, by other: (any Model)? = nil) {
        guard object._$state.isDeleted, object._$link.context === self, !isEnded else { return }
        noteTurn()
        publish()
        let (number, entity) = (object.id.rawValue, Int(object._$state.entity))
        let layers = store.layers.state.withLock { $0.layers }
        let own = layers.topKind(of: number, entity: entity, in: [id])
        let isPending = layers.topKind(of: number, entity: entity, in: path.dropLast()) == .delete
        guard own == .delete || own == .cancelledInsert || (other == nil && !isPending) else { return }
        tracker(Object.self, entity)
            .noteUse(ofDeleted: object, "was inserted or related to others", by: other?.storedID)
    }

    /// The base of a change that starts from this row: the version that was seen, and the version in the store.
    func base<Row: StoredRow>(of before: Row, entity: Int) -> Base<Row> {
        baseFinder(entity: entity).base(of: before)
    }

    /// Finds the bases of changes that are made now.
    func baseFinder<Row: StoredRow>(entity: Int) -> BaseFinder<Row> {
        if let snapshot = reading.snapshot {
            return BaseFinder(parts: snapshot.layers.parts(of: entity, in: path), sequence: snapshot.sequence)
        }
        // Without a snapshot, the objects live on from an earlier block. They show the state of their last refresh.
        let layers = store.layers.state.withLock { $0.layers }
        return BaseFinder(parts: layers.parts(of: entity, in: path), sequence: reading.cursor.sequence)
    }
}
