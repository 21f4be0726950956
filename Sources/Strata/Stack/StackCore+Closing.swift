extension StackCore {
    /// Waits for running and queued work, drops all contexts, and closes; a second call waits for the first.
    ///
    /// - Throws: `insideBlock`.
    func close() async throws {
        if BlockScope.isInside(self) {
            throw StrataError(.insideBlock, "A block would wait for itself to end. Close the stack outside its blocks.")
        }
        if engines.withLock({ $0.all.values.contains { $0.isInside } }) {
            throw StrataError(
                .insideBlock,
                "A handler would wait for itself to end. Close the stack outside of its handlers and of the tasks that they start."
            )
        }
        let running = engines.withLock { engines in
            engines.isClosing = true
            return Array(engines.all.values)
        }
        for engine in running { await engine.stop() }
        let isFirst = state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .draining
            return true
        }
        guard isFirst else { return await waitUntilClosed() }
        await waitUntilIdle()
        let (handles, owners) = state.withLock { state in
            state.phase = .closed
            let handles = (state.base, Array(state.names.values))
            state.base = []
            state.names = [:]
            defer { state.owners = [:] }
            return (handles, state.owners.sorted { $0.key > $1.key })
        }
        for (_, entry) in owners {
            reportLost(await entry.owner.drop(), of: entry.title, at: "the close of the stack")
        }
        withExtendedLifetime(handles) {}
        // Contexts whose last handle was released in the meantime are dropped by separate tasks.
        await waitUntilIdle()
        try engine.close()
        failures.finish()
        let waiting = state.withLock { state in
            state.hasClosed = true
            defer { state.whenClosed = [] }
            return state.whenClosed
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Drops every context except root and main, after the blocks that run on them.
    ///
    /// - Throws: `insideBlock`, `closed`.
    func reset() async throws {
        if BlockScope.isInside(self) {
            throw StrataError(.insideBlock, "A block would wait for itself to end. Reset the stack outside its blocks.")
        }
        try admit()
        defer { leave() }
        let dropped = state.withLock { state in
            let dropped = state.names.values.filter { $0.kind == .private } + state.base.filter { $0.kind == .private }
            state.names = state.names.filter { $0.value.kind != .private }
            state.base = [state.names[.root], state.names[.main]].compactMap { $0 }
            return Set(dropped)
        }
        // Children first, so that their changes are counted as theirs.
        for handle in dropped.sorted(by: { $0.id > $1.id }) {
            // A detached task is not cancelled with the caller and has no blocks around it.
            let lost = await Task.detached {
                await handle.owner.retire(BlockScope(handle, list: [], outer: nil, dropsContext: false))
            }.value
            // Also removes the layers of a context that was never used.
            engine.layers.remove(context: handle.id)
            reportLost(lost, of: handle.description, at: "the reset of the stack")
        }
    }

    private func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.active > 0 { state.whenIdle.append(continuation) }
                return state.active == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.hasClosed { state.whenClosed.append(continuation) }
                return state.hasClosed
            }
            if isClosed { continuation.resume() }
        }
    }
}
