public import Strata

extension SharedWork {
    /// A reason why a commit fails in the middle of a transaction: another commit came first.
    public enum Failure: Int, CaseIterable, Sendable {
        /// Both commits set the balance of the same account.
        case conflict
        /// Each commit is valid alone, but both together exceed a quota.
        case invalid
        /// Both commits insert a receipt with the same name.
        case duplicate

        /// The participant whose commits fail for this reason.
        public var participant: Int { workerCount + rawValue }

        public var code: StrataError.Code {
            switch self {
            case .conflict: .conflict
            case .invalid: .validation
            case .duplicate: .notUnique
            }
        }
    }

    /// A participant's part in a group of commits.
    public enum Turn: Hashable, Sendable {
        case work(Int)
        /// A commit that fails because of a worker's commit, which comes first.
        case fail(Failure, dueTo: Int)
        /// A commit that failed in the previous group, and fails again.
        case failAgain(Failure)

        public var participant: Int {
            switch self {
            case .work(let worker): worker
            case .fail(let failure, _), .failAgain(let failure): failure.participant
            }
        }

        /// The code of the error with which the commit must fail; nil if it must succeed.
        public var expectedError: StrataError.Code? {
            switch self {
            case .work: nil
            case .fail(let failure, _), .failAgain(let failure): failure.code
            }
        }
    }

    /// Two groups of commits, each in the order in which the commits wait for the writer.
    ///
    /// In each group all workers commit, and other commits fail after them. The first commit of the second group fails
    /// too, so a transaction is rolled back.
    ///
    /// - Parameter seed: decides the order, and which worker's commit causes which failure.
    public static func groups(seed: UInt64) -> [[Turn]] {
        var dice = Dice(seed: seed)
        let first = group(failures: Failure.allCases, &dice)
        let second = group(failures: [.invalid, .duplicate], &dice)
        return [first, [.failAgain(.conflict)] + second]
    }

    private static func group(failures: [Failure], _ dice: inout Dice) -> [Turn] {
        var turns = (0..<workerCount).shuffled(using: &dice).map(Turn.work)
        for failure in failures {
            let worker = dice.number(0..<workerCount)
            let place = turns.firstIndex(of: .work(worker)) ?? 0
            turns.insert(.fail(failure, dueTo: worker), at: dice.number(place + 1..<turns.count + 1))
        }
        return turns
    }

    /// Makes the changes of a turn, and returns the name of the commit. The caller commits.
    public static func prepare(_ turn: Turn, in context: ObjectContext) throws -> String {
        switch turn {
        case .work(let worker):
            return receipt(try prepare(worker, in: context), of: worker)
        case .fail(let failure, let worker):
            context.rollback()
            try prepare(failure, dueTo: worker, in: context)
            return "\(failure)"
        case .failAgain(let failure):
            return "\(failure)"
        }
    }

    /// Makes changes whose commit fails if the worker commits before.
    private static func prepare(_ failure: Failure, dueTo worker: Int, in context: ObjectContext) throws {
        // None of these rows may reach the store.
        try Books(of: failure.participant, in: context).set(1)
        context.insert(Receipt(name: "\(failure)", participant: failure.participant, number: 1))
        context.author = "\(failure)"
        let books = try Books(of: worker, in: context)
        switch failure {
        case .conflict:
            books.left.balance = 1
        case .invalid:
            books.quota.allowed = books.quota.used
        case .duplicate:
            let name = receipt(books.quota.used + 1, of: worker)
            context.insert(Receipt(name: name, participant: failure.participant, number: 2))
        }
    }
}
