extension Store {
    /// Applies commits that are in the file and not known to the layers, when no caller waits for the result.
    ///
    /// An error ends live queries and sequences of changes, which would otherwise wait for commits that never come. A
    /// file that cannot be read at the moment (for instance, because all descriptors are in use) is logged only.
    ///
    /// - Returns: false if the file must be looked at again.
    @discardableResult
    func following(_ absorb: (Store) throws -> Void) -> Bool {
        do {
            try absorb(self)
            layers.note(failure: nil)
        } catch {
            let error = StrataError(grdb: error)
            if error.code == .closed { return true }
            if error.isAccessFailure {
                telemetry.logger?.warning("new commits cannot be read from the store at this moment: \(error)")
                return false
            }
            layers.note(failure: error)
        }
        return true
    }
}
