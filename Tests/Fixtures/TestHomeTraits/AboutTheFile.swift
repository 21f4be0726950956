#if canImport(Testing)
    import Foundation
    public import Testing

    extension Trait where Self == ConditionTrait {
        /// Marks a suite or test that is about the SQLite file itself, or about a store without a home. It does not run
        /// if `STRATA_TEST_HOME` gives homes to the stores of tests.
        ///
        /// - Parameter reason: what the suite does with the file, in a few words.
        public static func aboutTheFile(_ reason: Comment) -> Self {
            .enabled(if: ProcessInfo.processInfo.environment["STRATA_TEST_HOME"] == nil, reason)
        }
    }
#endif
