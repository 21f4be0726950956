#if canImport(Testing)
    import Logging
    public import Strata
    public import Testing

    /// A trait for Swift Testing that opens a separate stack for each test, and closes it after the test.
    ///
    /// ```swift
    /// @Test(.stack(models: [Note.self])) func isEmpty() async throws {
    ///     let count = try await ContextStack.test.background { try $0.count(Note.all) }
    ///     #expect(count == 0)
    /// }
    /// ```
    ///
    /// On a suite, the trait applies to all tests in the suite and in its inner suites. Each case of a parameterized
    /// test has a separate stack. If a test and its suite have this trait, the test works with its own stack.
    public struct StackTrait: TestTrait, SuiteTrait, TestScoping {
        /// The stack of a test and, if its store is a file, that file.
        struct Opened: Sendable {
            let stack: ContextStack
            let file: TestFile?
        }

        /// The stack of the running test.
        @TaskLocal static var opened: Opened?

        let models: [any Model.Type]
        let place: Place
        let setUp: StackSetUp
        let mergePolicy: MergePolicy
        let fixture: (@Sendable (SavingContext) throws -> Void)?

        /// True: a suite passes the trait on to its tests.
        public var isRecursive: Bool { true }

        /// Opens the stack, runs the test with it, and closes the stack.
        ///
        /// An error of closing, or of deleting the store's file, is recorded as an issue of the test.
        ///
        /// - Throws: errors of opening and of the fixture, after which the test does not run; errors of the test.
        public func provideScope(
            for test: Test,
            testCase: Test.Case?,
            performing function: @Sendable () async throws -> Void
        ) async throws {
            // The traits include those of the enclosing suites, which come first.
            let limit = test.traits.compactMap { $0 as? StatementLimitTrait }.last
            let loops = test.traits.compactMap { $0 as? RelationshipLoopTrait }.last
            let log = limit == nil && loops == nil ? nil : StatementLog()
            let file: TestFile? = try place == .file ? TestFile() : nil
            let stack: ContextStack
            do {
                stack = try await open(
                    file?.location ?? .inMemory,
                    log,
                    Diagnostics(
                        statements: limit == nil ? .off : .text,
                        statementLevel: .trace,
                        relationshipLoopLimit: loops?.limit
                    )
                )
            } catch {
                try? file?.remove()
                throw error
            }
            log?.clear()
            let result: Result<Void, any Error>
            do {
                try await Self.$opened.withValue(Opened(stack: stack, file: file)) { try await function() }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            if let limit, let log { limit.check(log.statements, of: test) }
            do {
                try await stack.close()
            } catch {
                Issue.record(error, "The stack of the test could not be closed.", sourceLocation: test.sourceLocation)
            }
            // A turn of the main actor may end only when the stack is closed.
            if let loops, let log { loops.check(log.loops, of: test) }
            // Also deleted if the stack could not be closed.
            do {
                try file?.remove()
            } catch {
                Issue.record(
                    error,
                    "The file of the test's store could not be deleted.",
                    sourceLocation: test.sourceLocation
                )
            }
            try result.get()
        }

        /// Checks that a test has a stack. The tests of a suite are checked one by one.
        ///
        /// - Parameters:
        ///   - test: the test or suite.
        ///   - trait: the trait that needs the stack, for the message.
        /// - Throws: `StrataError` with `invalidState`.
        static func require(for test: Test, by trait: String) throws {
            guard test.isSuite || test.traits.contains(where: { $0 is StackTrait }) else {
                throw StrataError(
                    .invalidState,
                    "The trait \(trait) needs the stack of a test. Add the trait .stack(models: …) to the test or its suite."
                )
            }
        }

        /// Opens the stack and commits the fixture.
        private func open(
            _ location: StoreLocation,
            _ log: StatementLog?,
            _ diagnostics: Diagnostics
        ) async throws -> ContextStack {
            let stack = try await ContextStack.open(
                location,
                models: models,
                stack: setUp,
                mergePolicy: mergePolicy,
                logger: log?.logger ?? Logger(label: "strata"),
                diagnostics: diagnostics
            )
            guard let fixture else { return stack }
            do {
                try await stack.background { context in
                    try fixture(context)
                    try context.commit()
                }
            } catch {
                try? await stack.close()
                throw error
            }
            return stack
        }
    }

    extension Trait where Self == StackTrait {
        /// Opens a separate stack for each test, which reads it from `ContextStack.test`.
        ///
        /// - Parameters:
        ///   - models: all models, including the destinations of relationships.
        ///   - place: the place of the store. The path of a file is in `ContextStack.testFile`.
        ///   - stack: the contexts that the stack begins with.
        ///   - mergePolicy: the initial merge policy of the contexts.
        ///   - fixture: inserts the objects that each test begins with. They are committed before the test. A stack
        ///     that begins as `.empty` cannot have a fixture. Write the closure in an extension of `Trait`: in the
        ///     arguments of `@Test` and `@Suite`, the compiler may not see the initializers that `@Model` generates.
        public static func stack(
            models: [any Model.Type],
            in place: StackTrait.Place = .inMemory,
            stack: StackSetUp = .standard,
            mergePolicy: MergePolicy = .error,
            fixture: (@Sendable (SavingContext) throws -> Void)? = nil
        ) -> Self {
            StackTrait(models: models, place: place, setUp: stack, mergePolicy: mergePolicy, fixture: fixture)
        }
    }

    extension ContextStack {
        /// The stack that the trait `.stack(models:)` has opened for the running test.
        ///
        /// The stack belongs to the test's task and its child tasks. A detached task does not see it.
        ///
        /// - Throws: `StrataError` with `invalidState` outside of a test with this trait.
        public static var test: ContextStack {
            get throws {
                guard let opened = StackTrait.opened else {
                    throw StrataError(
                        .invalidState,
                        "No test with a stack runs in this task. Add the trait .stack(models: …) to the test or its suite, "
                            + "and pass the stack to detached tasks."
                    )
                }
                return opened.stack
            }
        }
    }
#endif
