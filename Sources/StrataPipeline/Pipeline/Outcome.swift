public import Strata

/// The result of an attempt, as the handler returns it.
public struct Outcome: Sendable {
    enum Kind: Sendable {
        case done
        case doneCommitting(@Sendable (ObjectContext) throws -> ResultValue?)
        case retry(after: Duration, reason: String? = nil)
        case snooze(for: Duration, reason: String? = nil)
        case wait(Constraint)
        case fail(String)
        case skip
    }

    let kind: Kind
    /// The value that the completed operation keeps; nil for none.
    var result: ResultValue?
    /// The type of the error that the handler has passed on, for traces; nil for none.
    var errorType: String?

    /// The operation is done. Its dependants may start.
    public static let done = Outcome(kind: .done)

    /// The operation is done, and the block's changes are committed in the same transaction: either both are stored, or
    /// neither.
    ///
    /// The block receives a separate context over the committed state, which can neither save nor commit itself. The
    /// engine commits this context when the block returns.
    ///
    /// The block's reads and writes are isolated from other commits. A short block runs inside the transaction of its
    /// commit, while no other commit can come in between. A longer one runs before, and runs again on the newest state
    /// if another commit has meanwhile changed a table that it has read. If this happens three times, the block runs
    /// inside the transaction, too. So the block may be called several times, and must do nothing but change objects.
    /// It must not wait for another commit, which may itself be waiting for the block.
    ///
    /// In a store with a home, the block may throw because the working copy lacks commits of other machines. The engine
    /// then waits until the copy has them, and calls the block again if they have changed a table that it has read. If
    /// the home does not answer, this counts as a store that cannot be written to.
    ///
    /// If the block or the commit throws, the attempt has failed. A busy or full store does not fail the attempt: the
    /// block is called again a second later. It is called again at most sixty times, unless the store is merely busy.
    /// The timeout does not count during this time. If another process has taken over the operation, nothing is
    /// committed.
    public static func done(_ changes: @escaping @Sendable (ObjectContext) throws -> Void) -> Outcome {
        Outcome(
            kind: .doneCommitting { context in
                try changes(context)
                return nil
            }
        )
    }

    /// Tries the operation again after a pause. The attempt counts.
    ///
    /// A handler that calculates its own pauses passes the error on. The operation keeps the error with its failures,
    /// as if the handler had thrown it. The event, and the recorded transition, contain it too. If the operation has
    /// used all of its attempts, it fails permanently, and the message of this failure contains the error.
    ///
    /// - Parameters:
    ///   - pause: the pause before the next attempt.
    ///   - error: why this attempt has failed; nil if it has not failed. At most 4,096 bytes of its text are kept.
    public static func retry(after pause: Duration, because error: (any Error)? = nil) -> Outcome {
        Outcome(
            kind: .retry(after: pause, reason: error.map { HandlerText.kept("\($0)") }),
            errorType: error.map { SpanKey.errorTypeName(of: $0) }
        )
    }

    /// Tries the operation again after a pause that another party has asked for, such as a busy server. The attempt
    /// does not count.
    public static func snooze(for pause: Duration) -> Outcome { Outcome(kind: .snooze(for: pause)) }

    /// As ``snooze(for:)``, with a reason that is kept with the operation's failures.
    package static func snooze(for pause: Duration, because reason: String) -> Outcome {
        Outcome(kind: .snooze(for: pause, reason: HandlerText.kept(reason)))
    }

    /// Tries the operation again when a constraint is satisfied, or when a person calls ``QueuedOperation/retry()``.
    /// The attempt does not count.
    ///
    /// A constraint whose name is empty, or has more than 4,096 bytes, fails the attempt.
    public static func wait(_ constraint: Constraint) -> Outcome { Outcome(kind: .wait(constraint)) }

    /// The operation has failed permanently.
    ///
    /// - Parameter reason: the cause. At most 4,096 bytes of the text are kept; the same limit holds for errors that a
    ///   handler throws.
    public static func fail(_ reason: String) -> Outcome { Outcome(kind: .fail(HandlerText.kept(reason))) }

    /// The operation is no longer wanted. Its dependants still run.
    public static let skip = Outcome(kind: .skip)
}

/// An external condition that operations wait for, identified by its name. Names are compared by the bytes of their
/// UTF-8.
public struct Constraint: RawRepresentable, ExpressibleByStringLiteral, Hashable, Sendable {
    /// The text of the name.
    public let rawValue: String

    /// A constraint by its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A constraint by its name, as a literal.
    public init(stringLiteral text: String) { rawValue = text }

    /// Whether two names have the same bytes.
    public static func == (left: Constraint, right: Constraint) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// The opposite of `==`. The standard library's operator for raw-representable types would compare characters.
    public static func != (left: Constraint, right: Constraint) -> Bool { !(left == right) }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// The network is available.
    public static let network: Constraint = "network"
    /// A person or a program calls ``QueuedOperation/retry()``. The stored name is `person`.
    public static let manual: Constraint = "person"
}
