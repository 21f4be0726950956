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

    /// What a new block of `core` in the running task takes as its outer block.
    ///
    /// Ended blocks of the same stack are left out, since the new block hides them; else a task that starts a task from
    /// within each of its blocks would build a chain without end.
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

    /// The running blocks that this one is part of, without itself, from the inside out.
    var runningAncestors: [BlockScope] {
        var found: [BlockScope] = []
        var scope = outer
        while let candidate = scope {
            if !candidate.isEnded { found.append(candidate) }
            scope = candidate.outer
        }
        return found
    }

    /// Whether `other` is this block or one around it.
    func descends(from other: BlockScope) -> Bool {
        var scope: BlockScope? = self
        while let candidate = scope {
            if candidate === other { return true }
            scope = candidate.outer
        }
        return false
    }
}
