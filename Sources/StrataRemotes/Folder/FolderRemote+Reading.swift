import Foundation
import Strata

extension FolderRemote {
    /// The metadata of a file or folder; nil for anything else.
    public func head(_ key: RemoteKey) async throws -> RemoteObject? {
        try await run(key) { try $0.object(key) }
    }

    /// The content of a file.
    ///
    /// If another file replaces it meanwhile, the stream still returns the content of its version. If a program changes
    /// the file in place meanwhile, the stream ends with `damagedContent`.
    public func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws
        -> RemoteDownload
    {
        if condition == .isAbsent {
            throw RemoteError(.unsupported, "A read cannot require that '\(key)' is absent.", key: key)
        }
        let name = name
        let (file, status) = try await run(key) { tree in
            let (file, status) = try tree.file(key)
            try condition.check(status.object(key), key: key, remote: name)
            return (file, status)
        }
        let start = range?.lowerBound ?? 0
        guard (0...status.size).contains(start) else {
            throw RemoteError(.rangeNotSatisfiable, "The file has \(status.size) bytes.", key: key)
        }
        let wanted = start..<max(start, min(range?.upperBound ?? status.size, status.size))
        let reader = FileReader(file, status, wanted, key: key, remote: self)
        return RemoteDownload(
            object: RemoteObject(key: key, eTag: status.eTag, size: status.size, modifiedAt: status.modifiedAt),
            range: wanted,
            chunks: AsyncThrowingStream(unfolding: { try await reader.next() })
        )
    }

    /// The content of a folder, in one part.
    public func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        try await run(folder) { [name] tree in
            var objects: [RemoteObject] = []
            do {
                try Self.walk(try tree.folder(folder), folder, isRecursive: isRecursive) { objects.append($0) }
            } catch let error as SystemError where FolderTree.saysMissing(error) {
                throw RemoteError(
                    .notFound,
                    "The folder '\(folder)' does not exist in \(name).",
                    key: folder,
                    underlying: error
                )
            }
            return RemoteListing(objects: objects)
        }
    }

    /// Visits the entries of a folder.
    ///
    /// Each folder is opened from its parent, so that no folder can become a symbolic link meanwhile. The number of
    /// open folders is the depth of the tree.
    private static func walk(
        _ folder: Descriptor,
        _ key: RemoteKey,
        isRecursive: Bool,
        _ visit: (RemoteObject) -> Void
    ) throws {
        for name in try folder.names() where !name.hasSameBytes(as: workName) {
            guard let child = key.appending(found: name), let object = try folder.status(name)?.object(child) else {
                continue
            }
            visit(object)
            guard isRecursive, object.isFolder else { continue }
            let inner: Descriptor
            do {
                inner = try folder.folder(name)
            } catch let error as SystemError where FolderTree.saysMissing(error) {
                // The folder has disappeared since its status was read.
                continue
            }
            try walk(inner, child, isRecursive: true, visit)
        }
    }
}

/// Reads a range of a file chunk by chunk.
private actor FileReader {
    private static let chunkSize: Int64 = 256 * 1024

    private let file: Descriptor
    private let status: FileStatus
    private var range: Range<Int64>
    private let key: RemoteKey
    private let remote: FolderRemote

    init(_ file: Descriptor, _ status: FileStatus, _ range: Range<Int64>, key: RemoteKey, remote: FolderRemote) {
        (self.file, self.status, self.range, self.key, self.remote) = (file, status, range, key, remote)
    }

    func next() async throws -> Data? {
        guard !range.isEmpty else { return nil }
        let (file, status, start) = (file, status, range.lowerBound)
        let count = Int(min(range.upperBound - start, Self.chunkSize))
        let isLast = count == range.count
        let data = try await remote.run(key) { [key] _ in
            let data = try file.read(at: start, count: count)
            guard data.count == count, try !isLast || file.status().eTag == status.eTag else {
                throw RemoteError(.damagedContent, "The file was changed while it was read.", key: key)
            }
            return data
        }
        range = start + Int64(data.count)..<range.upperBound
        return data
    }
}
