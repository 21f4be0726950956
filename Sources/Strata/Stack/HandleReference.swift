/// A context's way back to its handle.
///
/// The handle keeps the context, so the way back is weak. While a block runs the handle is there; an object that has
/// outlived its context gets a handle on which every use throws `contextEnded` or `closed`.
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
    var label: String { Self.label(name, id) }

    static func label(_ name: ContextName?, _ id: Int) -> String { name?.rawValue ?? "unnamed-\(id)" }

    /// Sees to it that a turn of the main actor in which the main context was used comes to its end.
    func scheduleEndOfTurn() {
        if kind == .main { owner.scheduleEndOfTurn() }
    }

    /// Stops the program where an object is used outside of its context's executor.
    func checkIsolation() {
        precondition(
            owner.isCurrent,
            "An object of \(name.map { "the context '\($0)'" } ?? "a context") is used outside of that context's blocks."
        )
    }

    /// Tells those who listen to ``ContextStack/failures`` what could not be thrown.
    func report(_ error: any Error) { core.report(name, error) }

    /// What a context is called in messages.
    func name(of context: Int) -> String {
        core.state.withLock { $0.owners[context]?.title } ?? "unnamed-\(context)"
    }

    /// The handle.
    var resolved: ContextHandle {
        handle ?? ContextHandle(gone: id, kind: kind, name: name, core: core, owner: owner)
    }
}
