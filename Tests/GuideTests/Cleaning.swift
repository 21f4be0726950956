import Synchronization

/// The folder to remove when the tests are over.
enum Cleaning {
    static let folder = Mutex("")
}
