extension ContextStack {
    /// Makes a context over the current one and puts it on the stack.
    ///
    /// Without a current context it stands on the store, as the root always does. A named one lives on until
    /// ``reset()``. Inside a block this changes the stack of the block only.
    ///
    /// - Throws: `nameTaken`, also for a second root or main; `invalidName`, `blockEnded`, `closed`.
    @discardableResult
    public func push(_ kind: ContextKind, named name: ContextName? = nil) throws -> ContextHandle {
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: current)
        try core.withList { $0.append(handle) }
        return handle
    }

    /// Puts an existing context on the stack; its parent stays what it is.
    ///
    /// It may be on the stack already, and then is twice: each ``pop()`` takes one of them off.
    ///
    /// - Throws: `foreignContext` for one of another stack; `blockEnded`, `closed`.
    public func push(_ handle: ContextHandle) throws {
        core.publishCaller()
        try core.check(handle)
        try core.withList { $0.append(handle) }
    }

    /// Takes the current context off the stack and gives it back; nil when the stack is empty.
    ///
    /// A named context lives on; an unnamed one goes with its last handle.
    ///
    /// - Throws: `blockEnded`, `closed`.
    @discardableResult
    public func pop() throws -> ContextHandle? {
        try core.withList { $0.popLast() }
    }

    /// Makes a context over the current one, or over `parent`, without putting it on the stack.
    ///
    /// - Parameters:
    ///   - kind: what it works on.
    ///   - name: under which it is found; without one it goes with its last handle.
    ///   - parent: the context that it saves to. A root always saves to the store.
    ///   - reads: what it shows above the store.
    ///   - merging: when it shows what others have done. Main always merges at once.
    ///   - observable: whether its objects take part in Swift's `Observation`. Those of main always do.
    /// - Throws: as ``push(_:named:)-(_,_)`` does; `unknownName` or `foreignContext` for the parent.
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
