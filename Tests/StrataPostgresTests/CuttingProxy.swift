import Foundation
import PostgresCluster
import Synchronization

/// A proxy in front of a server that ends connections, or delays them for ever, when a test says so.
final class CuttingProxy: Sendable {
    enum Fault: Sendable {
        /// Everything is passed on.
        case none
        /// The connection ends when this number of further bytes of the client has been passed on.
        case cutsRequest(afterBytes: Int)
        /// Requests are passed on. The connection ends when the server answers, and the answer is lost.
        case cutsAnswer
        /// The connection ends when this number of further bytes of the server has been passed on.
        case cutsAnswerAfter(bytes: Int)
        /// The answer of the server is lost. As from a pooler, the client gets an error with this SQLSTATE, which ends
        /// its session.
        case replacesAnswer(sqlState: String)
        /// Nothing is passed on, and the connection does not end. When the fault ends, such a connection ends at the next
        /// bytes.
        case silent
        /// Everything is passed on after this number of seconds.
        case delays(TimeInterval)
    }

    private struct State {
        var fault = Fault.none
        /// The bytes of clients that were passed on since the fault was set.
        var requestBytes = 0
        /// The bytes of the server that were passed on since the fault was set.
        var answerBytes = 0
    }

    let port: Int
    private let serverPort: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter serverPort: the port of the server on this machine.
    init(to serverPort: Int) throws {
        self.serverPort = serverPort
        (listener, port) = try Loopback.listen()
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                guard let server = try? Loopback.connect(to: serverPort) else {
                    Self.close(client)
                    continue
                }
                Thread.detachNewThread { self.serve(client, server) }
            }
        }
    }

    /// Accepts no further connections.
    func end() {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        Self.close(listener)
    }

    /// The bytes of clients that were passed on since the fault was set.
    var requestBytes: Int { state.withLock { $0.requestBytes } }

    /// The bytes of the server that were passed on since the fault was set.
    var answerBytes: Int { state.withLock { $0.answerBytes } }

    func set(_ fault: Fault) {
        state.withLock { $0 = State(fault: fault) }
    }

    private func serve(_ client: Int32, _ server: Int32) {
        let answered = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            self.pump(from: server, to: client) { self.passAnswer($0) }
            answered.signal()
        }
        pump(from: client, to: server) { self.passRequest($0) }
        answered.wait()
        Self.close(client)
        Self.close(server)
    }

    /// What happens to received bytes.
    private enum Decision {
        /// This number of bytes is passed on, and the connection ends if there are more.
        case pass(Int)
        /// These bytes are sent instead, and the connection ends.
        case replace([UInt8])
        case drop
    }

    private func passRequest(_ count: Int) -> Decision {
        state.withLock { state in
            switch state.fault {
            case .silent: return .drop
            case .cutsRequest(let limit):
                let passed = min(count, limit - state.requestBytes)
                state.requestBytes += passed
                return .pass(passed)
            case .none, .cutsAnswer, .cutsAnswerAfter, .replacesAnswer, .delays:
                state.requestBytes += count
                return .pass(count)
            }
        }
    }

    private func passAnswer(_ count: Int) -> Decision {
        state.withLock { state in
            switch state.fault {
            case .silent: return .drop
            case .cutsAnswer: return .pass(0)
            case .replacesAnswer(let sqlState): return .replace(Self.fatalError(sqlState))
            case .cutsAnswerAfter(let limit):
                let passed = min(count, limit - state.answerBytes)
                state.answerBytes += passed
                return .pass(passed)
            case .none, .cutsRequest, .delays:
                state.answerBytes += count
                return .pass(count)
            }
        }
    }

    private var delay: TimeInterval {
        guard case .delays(let seconds) = state.withLock({ $0.fault }) else { return 0 }
        return seconds
    }

    private func pump(from source: Int32, to target: Int32, _ decide: (Int) -> Decision) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var hasDropped = false
        receiving: while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            let delay = self.delay
            if delay > 0 { Thread.sleep(forTimeInterval: delay) }
            switch decide(count) {
            case .drop:
                hasDropped = true
                continue
            case .pass(let passed):
                // The rest of a message would not make sense.
                if hasDropped || !Self.send(buffer[..<passed], to: target) || passed < count { break receiving }
            case .replace(let bytes):
                _ = Self.send(bytes[...], to: target)
                break receiving
            }
        }
        _ = shutdown(source, Int32(SHUT_RDWR))
        _ = shutdown(target, Int32(SHUT_RDWR))
    }

    /// Sends all bytes. Returns whether the connection has taken them.
    private static func send(_ bytes: ArraySlice<UInt8>, to target: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let result = Foundation.send(
                    target,
                    bytes.baseAddress?.advanced(by: sent),
                    bytes.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
                guard result > 0 else { return false }
                sent += result
            }
            return true
        }
    }

    /// The message of a server or pooler that ends a session.
    private static func fatalError(_ sqlState: String) -> [UInt8] {
        let fields = Array("SFATAL\0C\(sqlState)\0Mthe answer is lost\0\0".utf8)
        let length = UInt32(fields.count + 4)
        return [UInt8(ascii: "E")] + withUnsafeBytes(of: length.bigEndian) { Array($0) } + fields
    }

    private static func close(_ descriptor: Int32) { _ = Foundation.close(descriptor) }
}
