#if canImport(Testing)
    public import Foundation
    public import Strata

    extension StackTrait {
        /// The place of a test's store.
        public enum Place: Sendable {
            /// A temporary store, in memory if the system has a folder in memory.
            case inMemory
            /// A file in a separate folder, which is deleted after the test. A test can open the file again.
            case file
        }
    }

    /// A file for a store in a separate temporary folder.
    struct TestFile: Sendable {
        private let folder: URL

        /// Creates the folder.
        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "strata-test-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        var url: URL { folder.appending(path: "test.sqlite") }
        var location: StoreLocation { .sqlite(url) }

        /// Deletes the folder.
        func remove() throws { try FileManager.default.removeItem(at: folder) }
    }

    extension ContextStack {
        /// The file of the running test's store, for tests that open it again after they have closed the stack.
        ///
        /// The folder of the file belongs to the test, and is deleted after it.
        ///
        /// - Throws: `StrataError` with `invalidState` outside of a test with the trait `.stack(models: …, in: .file)`.
        public static var testFile: URL {
            get throws {
                guard let file = StackTrait.opened?.file else {
                    throw StrataError(
                        .invalidState,
                        "No test with a file runs in this task. Add the trait .stack(models: …, in: .file) to the test or "
                            + "its suite."
                    )
                }
                return file.url
            }
        }
    }
#endif
