#if canImport(Testing)
    public import Testing

    /// A trait for Swift Testing that finds relationships which a test reads in a loop, one object at a time.
    ///
    /// Such a loop runs one query for each object (N+1 queries). The trait records an issue for each block and
    /// relationship above the limit, with the query that prefetches the relationship. The block that commits the
    /// fixture does not count.
    ///
    /// On a suite, the trait applies to each test in the suite. The limit of a test replaces the limit of its suite.
    public struct RelationshipLoopTrait: TestTrait, SuiteTrait {
        let limit: Int

        /// True: a suite passes the trait on to its tests.
        public var isRecursive: Bool { true }

        /// Checks that the test has a stack.
        ///
        /// - Throws: `StrataError` with `invalidState` if the test and its suites lack the trait `.stack(models:)`. The
        ///   test then does not run.
        public func prepare(for test: Test) async throws {
            try StackTrait.require(for: test, by: ".noRelationshipLoops")
        }

        /// Records an issue for each warning about a loop.
        func check(_ loops: [String], of test: Test) {
            for loop in loops { Issue.record(Comment(rawValue: loop), sourceLocation: test.sourceLocation) }
        }
    }

    extension Trait where Self == RelationshipLoopTrait {
        /// Records an issue if a block of the test's stack reads the same relationship with more than ten queries, one
        /// object at a time.
        ///
        /// The test or its suite also needs the trait `.stack(models:)`, before or after this trait.
        public static var noRelationshipLoops: Self { noRelationshipLoops(limit: 10) }

        /// The same with another number of queries.
        public static func noRelationshipLoops(limit: Int) -> Self { RelationshipLoopTrait(limit: limit) }
    }
#endif
