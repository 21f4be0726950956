public import Foundation

/// A folder that is deleted with the last reference to this object.
public final class ScratchFolder: Sendable {
    public let url: URL

    public init(_ base: URL = FileManager.default.temporaryDirectory) throws {
        url = base.appendingPathComponent("strata-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}
