import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Calls a function after any process has written to a file, without polling the file.
///
/// The kernel reports a write, but not whether the written data is already valid. SQLite publishes a commit in shared
/// memory after its frames are in the journal and on the disk. Therefore the function is called several times after a
/// write, at growing intervals.
///
/// Between a write and the next call, the kernel is not asked to report further writes. Notifications slow down the
/// process that writes, and a commit consists of a dozen writes.
///
/// Isolation: any.
final class FileWatch: Sendable {
    /// The kernel's notifications of writes.
    private struct Watch {
        let source: any DispatchSourceProtocol
        /// Requests a notification of the next write. Returns whether the kernel accepted the request.
        let arm: @Sendable () -> Bool
    }

    private struct State {
        var watch: Watch?
        var isStarted = false
        var isStopped = false
        /// The number of writes that the kernel has reported.
        var lastWrite = 0
    }

    /// The delay before each call, in milliseconds. The first one is short enough for a commit that completes at once.
    /// All of them together are long enough for a slow disk.
    static let delays = [2, 6, 12, 25, 50, 100, 200, 400, 800, 2000, 5000]

    private let delays: [Int]

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.file", qos: .utility)
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    init(delays: [Int] = FileWatch.delays) {
        self.delays = delays
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Begins to watch, unless it has begun already.
    ///
    /// - Parameter look: the work after a write; called on a separate queue, one call at a time. It returns whether it
    ///   could look at the file.
    func start(_ path: @autoclosure () -> String, _ look: @escaping @Sendable () -> Bool) {
        let isStarting = state.withLock { state in
            guard !state.isStarted, !state.isStopped else { return false }
            state.isStarted = true
            state.watch =
                Self.watch(path(), queue) { [weak self] in self?.noteWrite(look) } ?? Self.timer(queue, look)
            return true
        }
        // The kernel does not report a write that came before, which the caller may have missed.
        if isStarting { noteWrite(look) }
    }

    /// Stops watching.
    func stop() {
        let watch = state.withLock { state in
            state.isStopped = true
            defer { state.watch = nil }
            return state.watch
        }
        watch?.source.cancel()
        // A running call must end before the file is closed. The exception is a call that closes the file itself: the
        // call may have held the last reference to the store.
        if DispatchQueue.getSpecific(key: Self.key) != ObjectIdentifier(self) { queue.sync {} }
    }

    /// Polls once per second if the kernel refuses to watch another file for this user.
    private static func timer(_ queue: DispatchQueue, _ look: @escaping @Sendable () -> Bool) -> Watch {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler { _ = look() }
        timer.activate()
        return Watch(source: timer) { true }
    }

    /// Restarts the series of delayed calls, also if a series for an earlier write is still running.
    private func noteWrite(_ look: @escaping @Sendable () -> Bool) {
        let number = state.withLock { state in
            state.lastWrite += 1
            return state.lastWrite
        }
        lookAgain(delays[...], after: number, look)
    }

    /// Calls `look` after each delay. A new write ends the series. The last delay repeats until `look` succeeds and the
    /// kernel has accepted a request for the next notification.
    private func lookAgain(_ delays: ArraySlice<Int>, after write: Int, _ look: @escaping @Sendable () -> Bool) {
        guard let delay = delays.first else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
            guard let self, let arm = state.withLock({ $0.lastWrite == write ? $0.watch?.arm : nil }) else { return }
            // Armed before the call: the call sees earlier writes, and the kernel reports later ones.
            let isTold = arm()
            let hasLooked = look()
            let rest = delays.dropFirst()
            lookAgain(rest.isEmpty && !(isTold && hasLooked) ? self.delays.suffix(1) : rest, after: write, look)
        }
    }

    #if os(Linux)
        /// See inotify(7).
        private static func watch(
            _ path: String,
            _ queue: DispatchQueue,
            _ tell: @escaping @Sendable () -> Void
        ) -> Watch? {
            let descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            // Called here and on the queue. The queue also closes the descriptor in the end.
            let arm: @Sendable () -> Bool = {
                inotify_add_watch(descriptor, path, UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)) >= 0
            }
            guard arm() else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler {
                // The events carry no further information. They are read so that the kernel reports the next one.
                withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
                    while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
                }
                tell()
            }
            source.setCancelHandler { close(descriptor) }
            source.activate()
            return Watch(source: source, arm: arm)
        }
    #else
        /// See the `NOTE_WRITE` of kqueue(2), which reports many writes at once.
        private static func watch(
            _ path: String,
            _ queue: DispatchQueue,
            _ tell: @escaping @Sendable () -> Void
        ) -> Watch? {
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor,
                eventMask: [.write, .extend],
                queue: queue
            )
            source.setEventHandler(handler: tell)
            source.setCancelHandler { close(descriptor) }
            source.activate()
            return Watch(source: source) { true }
        }
    #endif
}
