extension ContextStack {
    /// Creates a context over the current one and puts the new context on the stack.
    ///
    /// Without a current context, the new context is based on the store, as the root always is. A named context lives
    /// until ``reset()``. Inside a block, this call changes the stack of the block only.
    ///
    /// - Throws: `nameTaken`, also for a second root or main; `invalidName`, `blockFinished`, `closed`.
    @discardableResult
    public func push(_ kind: ContextKind, named name: ContextName? = nil) throws -> ContextHandle {
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: current)
        try core.withList { $0.append(handle) }
        return handle
    }

    /// Puts an existing context on the stack; the parent of the context does not change.
    ///
    /// A context may be on the stack more than once. Each ``pop()`` then removes one of its entries.
    ///
    /// - Throws: `contextOfOtherStack` for a context of another stack; `blockFinished`, `closed`.
    public func push(_ handle: ContextHandle) throws {
        core.publishCaller()
        try core.check(handle)
        try core.withList { $0.append(handle) }
    }

    /// Removes the current context from the stack and returns it; nil if the stack is empty.
    ///
    /// A named context lives on. An unnamed context ends with its last handle.
    ///
    /// - Throws: `blockFinished`, `closed`.
    @discardableResult
    public func pop() throws -> ContextHandle? {
        try core.withList { $0.popLast() }
    }

    /// Creates a context over the current one, or over `parent`, without putting the new context on the stack.
    ///
    /// - Parameters:
    ///   - kind: the kind of the context.
    ///   - name: the name under which the stack finds the context; a context without a name ends with its last handle.
    ///   - parent: the context that the new one saves to. A root always saves to the store.
    ///   - reads: the uncommitted edits that the context shows on top of the store.
    ///   - merging: when the context shows changes by other contexts. The main context always merges immediately.
    ///   - observable: whether the objects of the context take part in Swift's `Observation`. Those of the main context
    ///     always do.
    /// - Throws: the errors of ``push(_:named:)-(_,_)``; `unknownName` or `contextOfOtherStack` for the parent.
    @discardableResult
    public func create(
        _ kind: ContextKind,
        named name: ContextName? = nil,
        parent: ContextChoice = .current,
        reads: ContextReads = .parents,
        merging: ContextMerging = .atNextBlock,
        observable: Bool = false
    ) throws -> ContextHandle {
        core.publishCaller()
        return try core.make(
            kind,
            named: name,
            parent: core.handle(of: parent),
            reads: reads,
            merging: merging,
            isObservable: observable
        )
    }
}
