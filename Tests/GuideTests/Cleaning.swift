import Synchronization

/// What is to be removed when the tests are over.
enum Cleaning {
    static let folder = Mutex("")
}
