import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells when a file has been written to, by whichever process, without asking it again and again.
///
/// The kernel says that there was a write, and not whether what was written counts yet: SQLite makes a commit known in shared
/// memory after its frames are in the journal and on the disk. So it is looked several times, at growing distances.
///
/// Between a write and the next look the kernel is not asked to tell of more: who writes pays for being watched, and a commit
/// is a dozen writes.
///
/// Isolation: any.
final class FileWatch: Sendable {
    /// What the kernel tells of writes.
    private struct Watch {
        let source: any DispatchSourceProtocol
        /// Has it tell of the next write. Says whether it will.
        let arm: @Sendable () -> Bool
    }

    private struct State {
        var watch: Watch?
        var isStarted = false
        var isStopped = false
        /// How many writes were told of.
        var lastWrite = 0
    }

    /// What to wait before each look, in milliseconds. The first is short enough for what is committed at once, all together they are
    /// long enough for a slow disk.
    static let delays = [2, 6, 12, 25, 50, 100, 200, 400, 800, 2000, 5000]

    private let delays: [Int]

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.file", qos: .utility)
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    init(delays: [Int] = FileWatch.delays) {
        self.delays = delays
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Begins to watch, unless it has already.
    ///
    /// - Parameter look: what to do after a write; called on a separate queue, one call at a time. It says whether it could look.
    func start(_ path: @autoclosure () -> String, _ look: @escaping @Sendable () -> Bool) {
        state.withLock { state in
            guard !state.isStarted, !state.isStopped else { return }
            state.isStarted = true
            state.watch =
                Self.watch(path(), queue) { [weak self] in self?.noteWrite(look) } ?? Self.timer(queue, look)
        }
    }

    /// Looks no more.
    func stop() {
        let watch = state.withLock { state in
            state.isStopped = true
            defer { state.watch = nil }
            return state.watch
        }
        watch?.source.cancel()
        // What is being looked at now must be over before the file is closed, unless it is that which closes it: a look may have been
        // the last to hold the store.
        if DispatchQueue.getSpecific(key: Self.key) != ObjectIdentifier(self) { queue.sync {} }
    }

    /// Where the kernel watches no more files for this user, it is looked now and then.
    private static func timer(_ queue: DispatchQueue, _ look: @escaping @Sendable () -> Bool) -> Watch {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler { _ = look() }
        timer.activate()
        return Watch(source: timer) { true }
    }

    /// Begins to look, also where it is being looked because of an earlier write: soon, and then at growing distances.
    private func noteWrite(_ look: @escaping @Sendable () -> Bool) {
        let number = state.withLock { state in
            state.lastWrite += 1
            return state.lastWrite
        }
        lookAgain(delays[...], after: number, look)
    }

    /// Looks after each delay in turn, until all have passed and it could look, or there was another write.
    private func lookAgain(_ delays: ArraySlice<Int>, after write: Int, _ look: @escaping @Sendable () -> Bool) {
        guard let delay = delays.first else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
            guard let self, let arm = state.withLock({ $0.lastWrite == write ? $0.watch?.arm : nil }) else { return }
            // What is written before that is looked at now, and what is written later is told of.
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
            // Called here and on the queue, on which the descriptor is closed in the end.
            let arm: @Sendable () -> Bool = {
                inotify_add_watch(descriptor, path, UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)) >= 0
            }
            guard arm() else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler {
                // What the events say is known: they are taken out so that the next one is told of.
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
        /// See the `NOTE_WRITE` of kqueue(2), which tells of many writes at once.
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
