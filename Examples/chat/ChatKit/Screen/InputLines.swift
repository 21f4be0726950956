import Dispatch
import Foundation

/// The lines of standard input, whatever it is. Read ahead by a few lines only.
public struct InputLines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = Never

    private let lines: AsyncStream<String>
    private let room: DispatchSemaphore

    /// Begins to read. To be called once in a process.
    public init() {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let room = DispatchSemaphore(value: 16)
        // A thread of its own: reading from a terminal waits for a person, and nothing cancels it.
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
