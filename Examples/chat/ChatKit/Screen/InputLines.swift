import Dispatch
import Foundation

/// The lines of standard input, from a terminal, pipe or file. Reads only a few lines ahead.
public struct InputLines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = Never

    private let lines: AsyncStream<String>
    private let room: DispatchSemaphore

    /// Begins to read. Call this once in a process.
    public init() {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let room = DispatchSemaphore(value: 16)
        // Uses a separate thread, because reading from a terminal blocks and cannot be cancelled.
        Thread.detachNewThread {
            while let line = readLine() {
                room.wait()
                continuation.yield(line)
            }
            continuation.finish()
        }
        self.lines = lines
        self.room = room
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: lines.makeAsyncIterator(), room: room) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<String>.AsyncIterator
        fileprivate let room: DispatchSemaphore

        public mutating func next(isolation actor: isolated (any Actor)?) async -> String? {
            let line = await base.next(isolation: actor)
            if line != nil { room.signal() }
            return line
        }
    }
}
