public import Strata

/// What a handler says of an attempt.
public struct Outcome: Sendable {
    enum Kind: Sendable {
        case done
        case doneCommitting(@Sendable (ObjectContext) throws -> Void)
        case retry(after: Duration)
        case postpone(for: Duration, reason: String? = nil)
        case wait(Constraint)
        case fail(String)
        case skip
    }

    let kind: Kind

    /// The operation is done, and those that depend on it may start.
    public static let done = Outcome(kind: .done)

    /// The operation is done, and these changes with it: both are committed in one transaction, or none.
    ///
    /// The block is given a context of its own over the committed state, which is committed when the block returns; it neither saves nor
    /// commits by itself, and runs no batch (`misuse`). Blocks of one stack run one after the other. Where others have changed a table that the
    /// block has read before it is committed, it is run again on the newest state, in a context of its own: what it reads and writes is one
    /// step, as if nobody else were there. So it may be called several times, and does nothing but change objects.
    ///
    /// Where the block or the commit throws, the attempt has failed. A store that is busy, or full, is no failure: the block is called again a second
    /// later, at most sixty times where it is not just busy; the timeout does not count meanwhile. Where another process has taken over the operation, nothing is
    /// committed. Where others have changed what it reads a hundred times before it was through, the attempt has failed with `conflict`.
    public static func done(_ changes: @escaping @Sendable (ObjectContext) throws -> Void) -> Outcome {
        Outcome(kind: .doneCommitting(changes))
    }

    /// To be tried again after a pause. The attempt counts.
    public static func retry(after pause: Duration) -> Outcome { Outcome(kind: .retry(after: pause)) }

    /// To be tried again after a pause, since somebody has asked for it: a server that is busy, say. The attempt does not count.
    public static func postpone(for pause: Duration) -> Outcome { Outcome(kind: .postpone(for: pause)) }

    /// The same, with a reason that is kept with the operation's failures.
    package static func postpone(for pause: Duration, because reason: String) -> Outcome {
        Outcome(kind: .postpone(for: pause, reason: HandlerText.kept(reason)))
    }

    /// To be tried again when a constraint is satisfied, or a person says so. The attempt does not count.
    ///
    /// A name of more than 4,096 bytes fails the attempt.
    public static func wait(_ constraint: Constraint) -> Outcome { Outcome(kind: .wait(constraint)) }

    /// It has failed for good.
    ///
    /// - Parameter reason: why. Of a longer text 4,096 bytes are kept, as of what a handler throws.
    public static func fail(_ reason: String) -> Outcome { Outcome(kind: .fail(HandlerText.kept(reason))) }

    /// It is not wanted any more; those that depend on it run all the same.
    public static let skip = Outcome(kind: .skip)
}

/// Something outside of the program that operations wait for, by its name. Names are compared by the bytes of their UTF-8.
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

    /// That the network is there.
    public static let network: Constraint = "network"
    /// That somebody says ``QueuedOperation/retry()``.
    public static let person: Constraint = "person"
}
