extension ObjectContext {
    /// Deletes an object and applies its delete rules.
    ///
    /// The object disappears from queries of this context immediately. Its last values stay readable. If a rule denies
    /// the delete, ``SavingContext/save()`` and ``SavingContext/commit()`` throw an error that names the blocking
    /// objects. They also report the delete of an object that belongs to another context. An object that was never
    /// inserted belongs to no context, and the call does not change that.
    public func delete<Object: Model>(_ object: Object) {
        guard object._$link.context === self, !object._$state.isDeleted, !isEnded else {
            if object._$link.context == nil {
                saving.forgetFailedInserts(of: [object])
            } else if object._$link.context !== self {
                // The failed insert makes the next save report that the object belongs to another context.
                insert(object)
            }
            return
        }
        noteTurn()
        guard deleteAlone(object) else { return }
        let (entity, number) = (Int(object._$state.entity), object.id.rawValue)
        guard store.schema.entities[entity].info.hasDeleteRules else { return }
        inTurn {
            do {
                try $0.applyDeleteRules(of: [entity: [number]])
            } catch {
                // The next save applies the rules again and throws the error if it persists.
                $0.reference.report(error)
            }
        }
    }

    /// Deletes a live object without applying its delete rules. Returns whether the object existed and was still there
    /// after its hook.
    func deleteAlone<Object: Model>(_ object: Object) -> Bool {
        guard !object._$state.isDeleted else { return false }
        if store.schema.hasDeleteHooks, !runHookBeforeDelete(object) { return false }
        if undoing.history.isOn { keepBytes(of: object, beforeEditing: nil) }
        tracker(Object.self, Int(object._$state.entity)).delete(object, in: self)
        observers?.willChange(object.id.rawValue, ContextObservers.Facet.isDeleted)
        return true
    }
}
