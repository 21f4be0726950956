/// A weak reference from a context to its handle.
///
/// The reference is weak because the handle keeps the context alive. While a block runs, the handle exists. An object
/// that has outlived its context gets a substitute handle, on which every use throws `contextInvalidated` or `closed`.
struct HandleReference: Sendable {
    private weak var handle: ContextHandle?
    private let id: Int
    private let kind: ContextKind
    let name: ContextName?
    private let core: StackCore
    private let owner: ContextOwner

    init(_ handle: ContextHandle) {
        self.handle = handle
        id = handle.id
        kind = handle.kind
        name = handle.name
        core = handle.core
        owner = handle.owner
    }

    var isMain: Bool { kind == .main }

    /// The name, or the number of an unnamed context, for logs.
    var label: String { ContextName.label(name, id) }

    /// Schedules the end of a main-actor turn in which the main context was used.
    func scheduleEndOfTurn() {
        if kind == .main { owner.scheduleEndOfTurn() }
    }

    /// Stops the program if an object is used outside of its context's executor.
    func checkIsolation() {
        precondition(
            owner.isCurrent,
            "An object of \(name.map { "the context '\($0)'" } ?? "a context") is used outside of that context's blocks."
        )
    }

    /// Reports an error that could not be thrown to ``ContextStack/failures``.
    func report(_ error: any Error) { core.report(name, error) }

    /// The name of a context in messages.
    func name(of context: Int) -> String {
        core.state.withLock { $0.owners[context]?.title } ?? "unnamed-\(context)"
    }

    /// The engine of the stack with this name; nil if the stack has none.
    func engine<Engine: StackEngine>(_ name: String) -> Engine? {
        core.engines.withLock { $0.all[UTF8Text(name)] } as? Engine
    }

    /// The handle, or a substitute if the handle no longer exists.
    var resolved: ContextHandle {
        handle ?? ContextHandle(gone: id, kind: kind, name: name, core: core, owner: owner)
    }
}
