#if canImport(Testing)
    import Strata
    public import Testing

    /// A trait for Swift Testing that gives each test a separate ``VirtualClock``.
    ///
    /// On a suite, the trait applies to all tests in the suite and in its inner suites. Each case of a parameterized
    /// test has a separate clock.
    public struct VirtualClockTrait: TestTrait, SuiteTrait, TestScoping {
        /// The clock of the running test.
        @TaskLocal fileprivate static var clock: VirtualClock?

        /// True: a suite passes the trait on to its tests.
        public var isRecursive: Bool { true }

        /// Runs the test with a new clock.
        ///
        /// - Throws: errors of the test.
        public func provideScope(
            for test: Test,
            testCase: Test.Case?,
            performing function: @Sendable () async throws -> Void
        ) async throws {
            try await Self.$clock.withValue(VirtualClock()) { try await function() }
        }
    }

    extension Trait where Self == VirtualClockTrait {
        /// Gives each test a separate clock, which the test reads from ``VirtualClock/test``.
        public static var virtualClock: Self { VirtualClockTrait() }
    }

    extension VirtualClock {
        /// The clock that the trait `.virtualClock` has made for the running test.
        ///
        /// The clock belongs to the test's task and its child tasks. A detached task does not see it.
        ///
        /// - Throws: `StrataError` with `invalidState` outside of a test with this trait.
        public static var test: VirtualClock {
            get throws {
                guard let clock = VirtualClockTrait.clock else {
                    throw StrataError(
                        .invalidState,
                        "No test with a clock runs in this task. Add the trait .virtualClock to the test or its suite, and "
                            + "pass the clock to detached tasks."
                    )
                }
                return clock
            }
        }
    }
#endif
