import Foundation
import Synchronization
import Testing

@testable import Strata

/// An event that tasks await without polling.
final class Signal: Sendable {
    private struct State {
        var isSet = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func set() {
        let waiting = state.withLock { state in
            state.isSet = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    nonisolated(nonsending) func wait() async {
        await withCheckedContinuation { continuation in
            let isSet = state.withLock { state in
                if !state.isSet { state.waiting.append(continuation) }
                return state.isSet
            }
            if isSet { continuation.resume() }
        }
    }
}

/// A list that tasks append to.
final class Journal: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Expects a `StrataError` with this code.
nonisolated(nonsending) func expect(
    _ code: StrataError.Code,
    _ location: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("expected \(code), nothing was thrown", sourceLocation: location)
    } catch let error as StrataError {
        #expect(error.code == code, "\(error)", sourceLocation: location)
    } catch {
        Issue.record("expected \(code), got \(error)", sourceLocation: location)
    }
}

/// Waits until `count` blocks wait for or hold the mutexes of the stack, without sleeping.
nonisolated(nonsending) func untilActive(_ count: Int, _ stack: ContextStack) async {
    while stack.core.state.withLock({ $0.active }) < count, !Task.isCancelled { await Task.yield() }
}

/// Waits until `count` blocks wait for the mutex of the context.
nonisolated(nonsending) func untilWaiting(_ count: Int, at handle: ContextHandle) async {
    while handle.owner.mutex.waitingCount < count, !Task.isCancelled { await Task.yield() }
}

/// Polls the condition for the given number of seconds at most. Returns whether it became true.
func eventually(within seconds: Double = 30, _ condition: @Sendable () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(2))
    }
    return false
}

/// The number of files that this process has open.
func openDescriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
