import Strata

/// A pass that the blocks of handlers write together with the ends of their operations. So the commits of these blocks
/// also cover the next claims.
///
/// The first block that is about to be committed takes the work of the pass, and the engine runs no other pass
/// meanwhile. Each block writes the end of its operation in its own commit. The last block that waits for the writer
/// writes the rest of the pass: see ``BlockEnd``. A transaction that many blocks share thus needs one pass.
struct JointPass: Sendable {
    /// The end of an operation that a block has written.
    struct End: Sendable {
        let attemptEnd: AttemptEnd
        /// The operations that the block has skipped or completed.
        let decided: [Int64]
        var isCommitted = false
    }

    /// The rest of the pass, as a block has written it.
    struct Outcome: Sendable {
        /// The claim of the operation whose block has written it.
        let writer: Claim
        /// The work that was written, with the ends of all blocks.
        let input: PassInput
        let result: PassResult
    }

    /// After which time a block writes the pass, even if others wait. They may wait long behind other commits.
    static let patience = Duration.milliseconds(20)

    /// The number of the pass among those of the engine.
    let number: Int
    /// The work that was taken at the begin.
    let input: PassInput
    let start = ContinuousClock.now
    /// The ends that belong to the pass, in the order of their commits.
    private(set) var ends: [End] = []
    /// What the last block has left to the next one.
    private(set) var facts: OperationRepository.CachedFacts?
    /// Whether the facts of the previous pass have been valid for each block.
    private(set) var isUnchanged = true
    /// Nil until a block has written the rest of the pass.
    private(set) var outcome: Outcome?

    init(number: Int, _ input: PassInput) {
        self.number = number
        self.input = input
        facts = input.memory.cachedFacts
    }

    /// Whether all ends are in the store.
    var isCommitted: Bool { ends.allSatisfy(\.isCommitted) }

    /// Adds the end that a block has written.
    mutating func add(_ end: End, leaving facts: OperationRepository.CachedFacts, isUnchanged: Bool) {
        ends.append(end)
        self.facts = facts
        self.isUnchanged = self.isUnchanged && isUnchanged
    }

    mutating func complete(_ outcome: Outcome) { self.outcome = outcome }

    /// Forgets what a block has written, because it was rolled back.
    mutating func remove(_ claim: Claim) {
        ends.removeAll { $0.attemptEnd.operation.claim == claim }
        if outcome?.writer == claim { outcome = nil }
        // Other commits get the numbers by which the facts are recognised.
        (facts, isUnchanged) = (nil, false)
    }

    mutating func noteCommit(of claim: Claim) {
        guard let index = ends.firstIndex(where: { $0.attemptEnd.operation.claim == claim }) else { return }
        ends[index].isCommitted = true
    }
}

extension QueueEngine {
    /// The joint pass of an engine, and the blocks that wait for the writer.
    struct JointState {
        /// The blocks that are about to be committed, and have not written the ends of their operations.
        var waiting = 0
        /// Whether a block is taking the work of a pass.
        var isBeginning = false
        private(set) var pass: JointPass?
        private var passCount = 0
        /// See ``JointPass/patience``. Tests set another one.
        var patience = JointPass.patience

        /// Begins a pass with the work that was taken.
        mutating func begin(_ input: PassInput) {
            passCount += 1
            pass = JointPass(number: passCount, input)
        }

        /// Adds the end that a block has written to the pass that the block has found before.
        ///
        /// - Returns: whether the pass still exists.
        mutating func add(
            _ end: JointPass.End,
            to number: Int,
            leaving facts: OperationRepository.CachedFacts,
            isUnchanged: Bool
        ) -> Bool {
            guard pass?.number == number else { return false }
            pass?.add(end, leaving: facts, isUnchanged: isUnchanged)
            return true
        }

        mutating func complete(_ outcome: JointPass.Outcome) { pass?.complete(outcome) }

        /// Forgets what a block has written, because it was rolled back. The block may write again.
        mutating func remove(_ claim: Claim) {
            waiting += 1
            pass?.remove(claim)
        }

        mutating func noteCommit(of claim: Claim) { pass?.noteCommit(of: claim) }

        /// Whether the block that has just written its end writes the rest of the pass.
        var isComplete: Bool { pass?.outcome == nil && (waiting == 0 || isOverdue) }

        /// Whether the pass has waited long enough for blocks.
        private var isOverdue: Bool { pass.map { $0.start.duration(to: .now) > patience } ?? false }

        /// Ends the pass if its outcome is known, or if no block will write it soon. Blocks may wait for long and then fail,
        /// because the store cannot be written to, and the engine must not stand still meanwhile.
        ///
        /// - Parameter writer: the operation of a block that was committed; nil if a block was not.
        /// - Returns: the pass; nil if it continues.
        mutating func takePass(endedBy writer: Claim?) -> JointPass? {
            guard let pass else { return nil }
            if let outcome = pass.outcome {
                if outcome.writer != writer { return nil }
            } else if !pass.isCommitted || waiting > 0 && !isOverdue {
                return nil
            }
            self.pass = nil
            return pass
        }
    }

    /// The work of a joint pass, with the ends that blocks have written since it was taken.
    func completeInput(of pass: JointPass) -> PassInput {
        var input = pass.input
        input.work.ended += pass.ends.map(\.attemptEnd)
        input.work.decided += pass.ends.flatMap(\.decided)
        state.withLock { state in state.update(&input) { group.freeSlots(besides: $0) } }
        return input
    }
}
