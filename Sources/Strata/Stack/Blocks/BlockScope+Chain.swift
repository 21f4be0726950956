extension BlockScope {
    /// The innermost block of this stack in the running task, ended or not.
    static func current(of core: StackCore) -> BlockScope? {
        var scope = current
        while let candidate = scope {
            if candidate.handle.core === core { return candidate }
            scope = candidate.outer
        }
        return nil
    }

    /// The outer block of a new block of `core` in the running task.
    ///
    /// Ended blocks of the same stack are left out, because the new block hides them. Otherwise, a task that starts
    /// another task inside each of its blocks would build an endless chain.
    static func outer(for core: StackCore) -> BlockScope? {
        var scope = current
        while let candidate = scope, candidate.handle.core === core, candidate.isEnded {
            scope = candidate.outer
        }
        return scope
    }

    /// Whether the running task descends from a running block of `core`.
    static func isInside(_ core: StackCore) -> Bool {
        var scope = current
        while let candidate = scope {
            if candidate.handle.core === core, !candidate.isEnded { return true }
            scope = candidate.outer
        }
        return false
    }

    /// The running blocks that enclose this block, from the inside out, without this block.
    var runningAncestors: [BlockScope] {
        var found: [BlockScope] = []
        var scope = outer
        while let candidate = scope {
            if !candidate.isEnded { found.append(candidate) }
            scope = candidate.outer
        }
        return found
    }

    /// Whether `other` is this block or encloses it.
    func descends(from other: BlockScope) -> Bool {
        var scope: BlockScope? = self
        while let candidate = scope {
            if candidate === other { return true }
            scope = candidate.outer
        }
        return false
    }
}
