import Dispatch

/// The serial executor of one context: a separate dispatch queue.
///
/// The executor is not Swift's shared pool, so a block that waits for the disk stalls no other code. It is first in,
/// first out, unlike the executor of a default actor.
final class ContextExecutor: SerialExecutor {
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    /// Runs a function on this executor, after the work that is already queued.
    func async(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }

    /// Runs a function on this executor and on the calling thread.
    func sync<Value>(_ body: () throws -> Value) rethrows -> Value { try queue.sync(execute: body) }

    /// Whether the caller runs on this executor.
    var isCurrent: Bool {
        DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
