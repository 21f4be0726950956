import Foundation
public import Strata

/// Where an operation stands. What is done is no longer queued: see ``FinishedOperation``.
public enum OperationStatus: Int, AttributeValue, CaseIterable, CustomStringConvertible {
    /// It runs as soon as its turn comes, if nothing is found that it has to wait for.
    case pending = 0
    /// It waits for other operations: for those that it depends on, or for those that come before it.
    case waiting = 1
    /// It waits for a moment, for a constraint or for a person.
    case held = 2
    /// Its handler runs.
    case active = 3
    /// It has failed for good. It stays until somebody retries, completes, skips or removes it.
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

/// What has become of an operation in the end.
public enum OperationResult: String, AttributeValue, CaseIterable {
    /// Its handler was done, or somebody has said that it is.
    case completed
    /// It was not wanted any more. Those that depend on it run all the same.
    case skipped
    /// It had failed, and what its pipeline says of failed operations is to drop them.
    case dropped
}

/// What somebody wants to become of an operation that is queued, until the engine has done it.
public enum OperationRequest: Int, AttributeValue, CaseIterable {
    /// Leave it out.
    case skip = 0
    /// Take it as done.
    case complete = 1
    /// Try again now, with fresh attempts.
    case retry = 2
}

/// An attempt that has failed.
public struct AttemptFailure: Codable, Hashable, Sendable {
    /// Which attempt it was, from 1.
    public var attempt: Int
    /// When it ended, in seconds since the beginning of 2001, UTC: Foundation's reference date.
    public var time: Double
    /// What the handler has thrown or said.
    public var message: String
}

/// The failed attempts of an operation, oldest first; of many, the newest twenty.
public struct AttemptFailures: Codable, Hashable, AttributeValue, ExpressibleByArrayLiteral {
    /// The attempts.
    public var list: [AttemptFailure]

    static let limit = 20
    private static let none = "{\"list\":[]}"

    /// As JSON. Most operations have none, and are not to pay for an encoder.
    public var storedValue: StoredValue {
        get throws {
            if list.isEmpty { return .text(Self.none) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return .text(String(decoding: try encoder.encode(self), as: UTF8.self))
        }
    }

    /// The failures that were stored; nil for something else.
    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        if text == Self.none {
            self = []
            return
        }
        guard let failures = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = failures
    }

    /// The failures of a list.
    public init(arrayLiteral failures: AttemptFailure...) { list = failures }

    /// One more.
    mutating func append(_ failure: AttemptFailure) { list = list.suffix(Self.limit - 1) + [failure] }
}
