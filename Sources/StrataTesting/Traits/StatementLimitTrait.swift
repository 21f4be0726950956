#if canImport(Testing)
    public import Testing

    /// A trait for Swift Testing that limits the SQL statements of a test's stack.
    ///
    /// The limit counts statements that read or write rows of models, from the start of the test to its end. It does
    /// not count the statements that open the stack and commit the fixture, the control of transactions, and Strata's
    /// own bookkeeping. A commit also runs statements for its checks, and these count.
    ///
    /// On a suite, the limit applies to each test in the suite. The limit of a test replaces the limit of its suite.
    public struct StatementLimitTrait: TestTrait, SuiteTrait {
        /// The number of statements that an issue lists at most.
        static let listedCount = 50

        let count: Int

        /// True: a suite passes the trait on to its tests.
        public var isRecursive: Bool { true }

        /// Checks that the test has a stack.
        ///
        /// - Throws: `StrataError` with `invalidState` if the test and its suites lack the trait `.stack(models:)`. The
        ///   test then does not run.
        public func prepare(for test: Test) async throws {
            try StackTrait.require(for: test, by: ".statementLimit")
        }

        /// Records an issue if a test has run more statements than its limit.
        func check(_ statements: [String], of test: Test) {
            guard statements.count > count else { return }
            var lines = ["The test has run \(statements.count) SQL statements. Its limit is \(count)."]
            lines += statements.prefix(Self.listedCount).enumerated().map { "\($0.offset + 1). \($0.element)" }
            if statements.count > Self.listedCount {
                lines.append("… and \(statements.count - Self.listedCount) more")
            }
            Issue.record(Comment(rawValue: lines.joined(separator: "\n")), sourceLocation: test.sourceLocation)
        }
    }

    extension Trait where Self == StatementLimitTrait {
        /// Records an issue, with the statements, if the test's stack runs more than `count` SQL statements.
        ///
        /// The test or its suite also needs the trait `.stack(models:)`, before or after this trait.
        public static func statementLimit(_ count: Int) -> Self { StatementLimitTrait(count: count) }
    }
#endif
