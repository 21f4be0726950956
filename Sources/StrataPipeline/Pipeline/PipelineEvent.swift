public import Foundation
public import Strata
import Synchronization

/// Something that has happened to an operation of a pipeline in this process.
public enum PipelineEvent: Sendable {
    /// Its handler was started.
    case started(ObjectID<QueuedOperation>, attempt: Int)
    /// It is done with.
    case finished(ObjectID<QueuedOperation>, OperationResult)
    /// An attempt has failed, and another one comes after a moment.
    case retrying(ObjectID<QueuedOperation>, at: Date, message: String)
    /// It waits for a constraint.
    case waiting(ObjectID<QueuedOperation>, Constraint)
    /// It has failed for good.
    case failed(ObjectID<QueuedOperation>, message: String)
    /// Its attempt has ended, and was no longer this process's to speak for.
    case lost(ObjectID<QueuedOperation>)
    /// Operations of a queue wait, because several take them. Told once of each.
    case queueHeld(PipelineName, PipelineError)
    /// The store could not be written to; it is tried again.
    case storeFailed(any Error)
}

/// Hands events to whoever listens.
final class EventHub: Sendable {
    private struct State {
        var next = 0
        var streams: [Int: AsyncStream<PipelineEvent>.Continuation] = [:]
        var listeners: [@Sendable (PipelineEvent) -> Void] = []
        var isFinished = false
    }

    private let state = Mutex(State())
    /// How many events a stream keeps that is not read.
    static let limit = 4096

    func subscribe() -> AsyncStream<PipelineEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PipelineEvent.self,
            bufferingPolicy: .bufferingNewest(Self.limit)
        )
        let number: Int? = state.withLock { state in
            if state.isFinished { return nil }
            state.next += 1
            state.streams[state.next] = continuation
            return state.next
        }
        if let number {
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    func send(_ event: PipelineEvent) {
        let (streams, listeners) = state.withLock { (Array($0.streams.values), $0.listeners) }
        for stream in streams { stream.yield(event) }
        for listener in listeners { listener(event) }
    }

    /// Has a listener called at every event, before anything else happens.
    func listen(_ listener: @escaping @Sendable (PipelineEvent) -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            state.listeners = []
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
