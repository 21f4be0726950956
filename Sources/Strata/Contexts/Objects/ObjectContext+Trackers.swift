extension ObjectContext {
    /// The tracker of a model, created at its first use.
    func tracker<Object: Model>(_ model: Object.Type, _ entity: Int) -> ObjectTracker<Object> {
        if let tracker = live.trackers[entity] { return unsafeDowncast(tracker, to: ObjectTracker<Object>.self) }
        let tracker = ObjectTracker<Object>(store.schema.entities[entity].typed(Object.Row.self), observers)
        live.trackers[entity] = tracker
        return tracker
    }

    /// The tracker of a join table, created at its first use.
    func joinTracker(_ entity: Int) -> JoinTracker {
        if let tracker = live.trackers[entity] { return unsafeDowncast(tracker, to: JoinTracker.self) }
        let tracker = JoinTracker(entity: entity)
        live.trackers[entity] = tracker
        return tracker
    }

    /// The tracker of a model, created at its first use, for callers that do not know the model.
    func anyTracker(_ entity: Int) -> (any AnyTracker)? {
        func open<Object: Model>(_ model: Object.Type) -> any AnyTracker { tracker(model, entity) }
        return live.trackers[entity] ?? store.schema.model(entity).map { open($0) }
    }
}
