import Foundation
public import Strata

/// The status of a queued operation. A finished operation is not queued: see ``FinishedOperation``.
public enum OperationStatus: Int, AttributeValue, CaseIterable, CustomStringConvertible {
    /// The operation runs when its turn comes, unless the engine finds something that it must wait for.
    case pending = 0
    /// The operation waits for its prerequisites, or for earlier operations of its lane.
    case waiting = 1
    /// The operation waits for a date, for a constraint or for a person.
    case held = 2
    /// The operation's handler runs.
    case active = 3
    /// The operation has failed permanently. It stays until it is retried, completed, skipped or removed.
    case failed = 4

    /// The name of the case.
    public var description: String {
        switch self {
        case .pending: "pending"
        case .waiting: "waiting"
        case .held: "held"
        case .active: "active"
        case .failed: "failed"
        }
    }
}

/// The final result of an operation.
public enum OperationResult: String, AttributeValue, CaseIterable {
    /// The operation's handler returned `done`, or ``QueuedOperation/complete()`` was called.
    case completed
    /// The operation was no longer wanted. Its dependants still run.
    case skipped
    /// The operation had failed, and its pipeline discards failed operations. The stored name is `dropped`.
    case discarded = "dropped"
    /// The operation had not started when its time was over: see ``OperationOptions/expires``.
    case expired
}

/// A request to change a queued operation. The request is stored until the engine has carried it out.
public enum OperationRequest: Int, AttributeValue, CaseIterable {
    /// Skip the operation.
    case skip = 0
    /// Mark the operation as done.
    case complete = 1
    /// Try the operation again now, with its attempts reset.
    case retry = 2
}

/// A failed attempt.
public struct AttemptFailure: Codable, Hashable, Sendable {
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// When the attempt ended, in seconds since Foundation's reference date, 1 January 2001, 00:00 UTC.
    public var time: Double
    /// The error that the handler has thrown, or the reason that it gave.
    public var message: String
}

/// The failed attempts of an operation, oldest first. The newest twenty are kept.
public struct AttemptFailures: Codable, Hashable, AttributeValue, ExpressibleByArrayLiteral {
    /// The attempts.
    public var list: [AttemptFailure]

    static let limit = 20
    private static let none = "{\"list\":[]}"

    /// The failures as JSON. Most operations have none, so the empty list needs no encoder.
    public var storedValue: StoredValue {
        get throws {
            if list.isEmpty { return .text(Self.none) }
            return .text(String(decoding: try StoredJSON.sortedEncoder.encode(self), as: UTF8.self))
        }
    }

    /// Reads stored failures; nil for any other value.
    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        if text == Self.none {
            self = []
            return
        }
        guard let failures = try? StoredJSON.decoder.decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = failures
    }

    /// Creates a list of failures.
    public init(arrayLiteral failures: AttemptFailure...) { list = failures }

    /// Appends a failure, and drops the oldest one if the list is full.
    mutating func append(_ failure: AttemptFailure) { list = list.suffix(Self.limit - 1) + [failure] }
}
