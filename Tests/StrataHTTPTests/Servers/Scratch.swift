import Foundation
import Synchronization

/// Folders of the tests. They lie in one folder, which is removed when the tests have ended.
enum Scratch {
    private static let root: URL = {
        let root = FileManager.default.temporaryDirectory.appending(path: "strata-remotes-\(UUID().uuidString)")
        path.withLock { $0 = root.path }
        atexit { path.withLock { try? FileManager.default.removeItem(atPath: $0) } }
        return root
    }()

    private static let path = Mutex("")

    static func folder(_ name: String) throws -> URL {
        let folder = root.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
