extension StackCore {
    /// Saves the context after the running block of this stack or, outside of blocks, soon.
    func saveLater(_ name: ContextName) {
        publishCaller()
        do {
            let handle = try handle(named: name)
            if let scope = BlockScope.current(of: self), scope.saveAtEnd(handle) { return }
            try admit()
            launchAdmitted([handle])
        } catch {
            report(name, error)
        }
    }

    /// Saves the contexts one after the other, at the end of a block that still counts as active.
    func launchSaves(_ handles: [ContextHandle]) {
        countIn()
        launchAdmitted(handles)
    }

    private func launchAdmitted(_ handles: [ContextHandle]) {
        Task.detached { [self] in
            defer { leave() }
            for handle in handles {
                do {
                    try await handle.saveCountedIn()
                } catch {
                    report(handle.name, error)
                }
            }
        }
    }

    /// Reports an error that could not be thrown to the subscribers of the failures.
    func report(_ name: ContextName?, _ error: any Error) {
        let failure = SaveFailure(context: name, error: error)
        if !failures.report(failure) { log(.warning, "\(failure)") }
    }
}
