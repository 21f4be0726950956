extension BlockScope {
    /// This block and the blocks that enclose it, ended or not, from the inside out.
    var chain: UnfoldFirstSequence<BlockScope> { sequence(first: self) { $0.outer } }

    /// The innermost block of this stack in the running task, ended or not.
    static func current(of core: StackCore) -> BlockScope? {
        current?.chain.first { $0.handle.core === core }
    }

    /// The outer block of a new block of `core` in the running task.
    ///
    /// Ended blocks of the same stack are left out, because the new block hides them. Otherwise, a task that starts
    /// another task inside each of its blocks would build an endless chain.
    static func outer(for core: StackCore) -> BlockScope? {
        current?.chain.first { $0.handle.core !== core || !$0.isEnded }
    }

    /// Whether the running task descends from a running block of `core`.
    static func isInside(_ core: StackCore) -> Bool {
        current?.chain.contains { $0.handle.core === core && !$0.isEnded } ?? false
    }

    /// The running blocks that enclose this block, from the inside out, without this block.
    var runningAncestors: [BlockScope] {
        chain.dropFirst().filter { !$0.isEnded }
    }

    /// Whether `other` is this block or encloses it.
    func descends(from other: BlockScope) -> Bool {
        chain.contains { $0 === other }
    }
}
