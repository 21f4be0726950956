public import Strata
import Synchronization

/// What holds for all pipelines and brokers of a stack together, those that are opened later among them.
///
/// - Isolation: any.
public final class StackPipelines: StackEngine {
    private struct State {
        var suspensions = 0
        var maxConcurrent: Int?
        weak var engine: QueueEngine?
    }

    private let state = Mutex(State())
    private static let name = "strata.pipelines"

    private init() {}

    /// Those of a stack. What is said of the pipelines of one that is closed has no effect.
    static func of(_ stack: ContextStack) -> StackPipelines {
        (try? stack.engine(name) { StackPipelines() }) ?? StackPipelines()
    }

    // MARK: Suspension

    /// Has all of them start no operations any more, until ``resume()`` is called as often, beside what was said to each of them.
    /// Those that run go on, and those that are just being claimed.
    ///
    /// - Returns: how often they are suspended together now.
    @discardableResult
    public func suspend() -> Int {
        state.withLock { state in
            state.suspensions += 1
            return state.suspensions
        }
    }

    /// Takes one ``suspend()`` back; where there is none, nothing happens.
    ///
    /// - Returns: how often they are suspended together now.
    @discardableResult
    public func resume() -> Int {
        let (left, engine) = state.withLock { state in
            state.suspensions = max(state.suspensions - 1, 0)
            return (state.suspensions, state.engine)
        }
        if left == 0 { engine?.scheduleTurn() }
        return left
    }

    /// How often they are suspended together.
    public var suspensions: Int { state.withLock { $0.suspensions } }

    // MARK: Limits

    /// How many handlers of all of them run at once at most, beside what holds for each; nil, as at first, for any number.
    public var maxConcurrent: Int? { state.withLock { $0.maxConcurrent } }

    /// Changes how many handlers run at once. Those that run go on.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for less than one.
    public func setMaxConcurrent(_ limit: Int?) throws {
        if let limit { try PipelineOptions.checkLimit(limit) }
        let engine = state.withLock { state in
            state.maxConcurrent = limit
            return state.engine
        }
        engine?.scheduleTurn()
    }

    // MARK: Waiting

    /// Waits until nothing runs in any pipeline or broker of the stack, and nothing is ready for any: also where they make work for each other.
    ///
    /// What waits for a moment, a rate limit, a constraint, a person or something that has failed stays, and so does what nobody takes, or several. It does not
    /// return while anything is ready for one that is suspended, or all of them are.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` where a handler calls it, which would wait for itself; `CancellationError`; what the store reports.
    /// - Complexity: as ``OperationRunner/drained()``.
    public func drained() async throws {
        let engine = state.withLock { $0.engine }
        try await engine?.drained()
    }

    // MARK: For the engine

    /// Has an engine told of what changes.
    func attach(_ engine: QueueEngine) { state.withLock { $0.engine = engine } }

    /// How many handlers may be started while so many run.
    func freeSlots(besides running: Int) -> Int {
        state.withLock { state in
            if state.suspensions > 0 { return 0 }
            return state.maxConcurrent.map { max($0 - max(running, 0), 0) } ?? .max
        }
    }

    package func stop() async {}

    package var isInside: Bool { false }
}

extension ContextStack {
    /// What holds for all pipelines and brokers of this stack together: they can be suspended, and limited, at once.
    ///
    /// ```swift
    /// stack.pipelines.suspend()
    /// try stack.pipelines.setMaxConcurrent(16)
    /// ```
    public var pipelines: StackPipelines { StackPipelines.of(self) }
}
