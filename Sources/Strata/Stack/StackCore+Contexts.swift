import Logging

extension StackCore {
    /// The context with this name.
    ///
    /// - Throws: `unknownName`, `closed`.
    func handle(named name: ContextName) throws -> ContextHandle {
        try state.withLock { state in
            if let handle = state.names[name] { return handle }
            if state.phase == .closed { throw Self.closedError }
            let known = state.names.keys.map(\.rawValue).sortedByBytes().joined(separator: ", ")
            throw StrataError(
                .unknownName,
                "No context has the name '\(name)'. Named contexts: \(known.isEmpty ? "none" : known). Create it with "
                    + "`create` or `push` first."
            )
        }
    }

    /// The main context.
    ///
    /// - Throws: `contextNotFound`, `closed`.
    func mainHandle() throws -> ContextHandle {
        try state.withLock { state in
            if state.phase == .closed { throw Self.closedError }
            if let handle = state.names[.main] { return handle }
            throw StrataError(
                .contextNotFound,
                "This stack has no main context. Push one with `push(.main)`, or use `on`."
            )
        }
    }

    /// Creates a context over `parent`.
    ///
    /// - Throws: `nameTaken`, `invalidName`, `closed`.
    func make(
        _ kind: ContextKind,
        named name: ContextName?,
        parent: ContextHandle?,
        reads: ContextReads = .parents,
        merging: ContextMerging = .atNextBlock,
        isObservable: Bool = false,
        on executor: ContextExecutor? = nil
    ) throws -> ContextHandle {
        if let name, let owner = [ContextKind.root, .main].first(where: { $0.ownName == name }), owner != kind {
            throw StrataError(
                .invalidName,
                "The name '\(name)' is reserved for the context of that kind. Choose another name."
            )
        }
        if let ownName = kind.ownName, let name, name != ownName {
            throw StrataError(.invalidName, "A context of this kind is always named '\(ownName)'. Leave the name out.")
        }
        if let name, name.rawValue.allSatisfy(\.isWhitespace) {
            throw StrataError(.invalidName, "The name '\(name)' is empty. Choose another name, or leave it out.")
        }
        let name = name ?? kind.ownName
        let isInside = BlockScope.isInside(self)
        return try state.withLock { state in
            guard state.phase == .open || (state.phase == .draining && isInside) else { throw Self.closedError }
            if let name, state.names[name] != nil {
                throw StrataError(
                    .nameTaken,
                    "A context named '\(name)' already exists. Push or use that context, or choose another name."
                )
            }
            return register(
                kind,
                named: name,
                parent: parent,
                reads: reads,
                merging: merging,
                isObservable: isObservable,
                on: executor,
                in: &state
            )
        }
    }

    /// Fills the base of a new stack, which is still empty and not yet visible to other code.
    func setUp(_ kinds: [ContextKind]) {
        state.withLock { state in
            for kind in kinds {
                let handle = register(kind, named: kind.ownName, parent: state.base.last, in: &state)
                state.base.append(handle)
            }
        }
    }

    /// The context that the choice refers to; nil for the store.
    ///
    /// - Throws: `unknownName`, `contextOfOtherStack`, `blockFinished`, `closed`.
    func handle(of choice: ContextChoice) throws -> ContextHandle? {
        switch choice {
        case .current: return try withList { $0.last }
        case .named(let name): return try handle(named: name)
        case .context(let handle):
            try check(handle)
            return handle
        }
    }

    private func register(
        _ kind: ContextKind,
        named name: ContextName?,
        parent: ContextHandle?,
        reads: ContextReads = .parents,
        merging: ContextMerging = .atNextBlock,
        isObservable: Bool = false,
        on executor: ContextExecutor? = nil,
        in state: inout State
    ) -> ContextHandle {
        let handle = ContextHandle(
            core: self,
            id: state.nextID,
            kind: kind,
            name: name,
            parent: kind == .root ? nil : parent,
            reads: reads,
            merging: kind == .main ? .now : merging,
            isObservable: kind == .main || isObservable,
            executor: executor
        )
        state.nextID += 1
        state.owners[handle.id] = (handle.owner, handle.description)
        if let name { state.names[name] = handle }
        return handle
    }

    /// Checks that the context belongs to this stack.
    ///
    /// - Throws: `contextOfOtherStack`.
    func check(_ handle: ContextHandle) throws {
        if handle.core !== self {
            throw StrataError(
                .contextOfOtherStack,
                "The context \(handle) belongs to another stack. Use it through that stack."
            )
        }
    }

    /// Reads or changes the stack of the running block or, outside of blocks, the base stack.
    ///
    /// - Throws: `blockFinished`, `closed`.
    func withList<R: Sendable>(_ body: (inout [ContextHandle]) throws -> R) throws -> R {
        if let scope = BlockScope.current(of: self) { return try scope.withList(body) }
        return try state.withLock { state in
            if state.phase != .open { throw Self.closedError }
            return try body(&state.base)
        }
    }

    /// Drops the context of a handle; the handle calls this when it is released.
    func handleIsGone(id: Int, title: String, owner: ContextOwner) {
        let isKnown = state.withLock { state in
            // A handle without a registered context is a substitute for a handle that no longer exists.
            guard state.owners[id] != nil else { return false }
            if owner.isCreated { state.active += 1 } else { state.owners[id] = nil }
            return owner.isCreated
        }
        guard isKnown else { return }
        Task.detached { [self] in
            reportLost(await owner.drop(), of: title, at: "the end of its last handle", level: .debug)
            state.withLock { _ = $0.owners.removeValue(forKey: id) }
            leave()
        }
    }

    /// Logs the number of lost changes, if there are any.
    func reportLost(_ count: Int, of title: String, at moment: String, level: Logger.Level = .warning) {
        guard count > 0 else { return }
        log(level, "Context \(title) dropped \(count) unsaved \(count == 1 ? "change" : "changes") at \(moment).")
    }
}
