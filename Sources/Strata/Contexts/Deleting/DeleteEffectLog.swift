/// The effects of one object's delete rules on other objects in its context, until the delete is saved or rolled back.
struct DeleteEffects {
    enum Effect {
        /// This object was deleted.
        case deleted(entity: Int, number: Int64)
        /// The to-one column of this object was set to nil.
        case emptied(entity: Int, number: Int64, column: Int)
        /// This member of a relationship was removed.
        case removed(join: Int, row: JoinRow)
    }

    /// The entity of the deleted object.
    let entity: Int
    var effects: [Effect] = []
}

/// The effects of delete rules in a context, so that the rollback of one deleted object can undo them.
struct DeleteEffectLog {
    /// The effects for deletes that are not saved, by the number of the deleted object.
    var effects: [Int64: DeleteEffects] = [:]
    /// Whether a save is applying delete rules again. Nothing is recorded then, because the save removes these effects
    /// itself if it fails or is postponed.
    var isPaused = false

    /// Records an effect of a delete rule.
    mutating func record(_ effect: DeleteEffects.Effect, of number: Int64, entity: Int) {
        if isPaused { return }
        effects[number, default: DeleteEffects(entity: entity)].effects.append(effect)
    }
}
