import Foundation
import Strata

extension FolderRemote {
    /// The metadata of a file or folder; nil for anything else.
    public func head(_ key: RemoteKey) async throws -> RemoteObject? {
        try await run(key) { try $0.object(key) }
    }

    /// The content of a file.
    ///
    /// The request reads the first 256 KiB. If another file replaces the file meanwhile, the stream still returns the
    /// content of its version. If a program changes the file in place while it is read, the request or the stream
    /// throws `damagedContent`.
    public func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws
        -> RemoteDownload
    {
        if condition == .isAbsent {
            throw RemoteError(.unsupported, "A read cannot require that '\(key)' is absent.", key: key)
        }
        let (content, first) = try await run(key) { [name] tree in
            let (file, status) = try tree.file(key)
            try condition.check(status.object(key), key: key, remote: name)
            let start = range?.lowerBound ?? 0
            guard (0...status.size).contains(start) else {
                throw RemoteError(.rangeNotSatisfiable, "The file has \(status.size) bytes.", key: key)
            }
            let wanted = start..<max(start, min(range?.upperBound ?? status.size, status.size))
            let content = FileContent(file: file, status: status, range: wanted, key: key)
            return (content, try content.firstBlock())
        }
        let status = content.status
        let reader = FileReader(content, first: first, remote: self)
        return RemoteDownload(
            object: RemoteObject(key: key, eTag: status.eTag, size: status.size, modifiedAt: status.modifiedAt),
            range: content.range,
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

/// The bytes of an open file that are left to read.
private struct FileContent: Sendable {
    let file: Descriptor
    let status: FileStatus
    var range: Range<Int64>
    let key: RemoteKey

    /// Reads the first block of the range. Called on a separate thread.
    ///
    /// - Throws: `damagedContent` if the file has become shorter, or if this is the last block and the file has another
    ///   version.
    func firstBlock() throws -> Data {
        guard !range.isEmpty else { return Data() }
        let count = min(range.count, FolderRemote.blockSize)
        let data = try file.read(at: range.lowerBound, count: count)
        let isLast = count == range.count
        guard data.count == count, try !isLast || file.status().eTag == status.eTag else {
            throw RemoteError(.damagedContent, "The file was changed while it was read.", key: key)
        }
        return data
    }
}

/// Reads a range of a file block by block.
private actor FileReader {
    private var rest: FileContent
    /// The first block of ``rest``, if it has been read already.
    private var first: Data?
    private let remote: FolderRemote

    init(_ content: FileContent, first: Data, remote: FolderRemote) {
        self.first = first
        (rest, self.remote) = (content, remote)
    }

    func next() async throws -> Data? {
        guard !rest.range.isEmpty else { return nil }
        let data: Data
        if let first {
            data = first
            self.first = nil
        } else {
            data = try await remote.perform(rest.key) { [rest] in try rest.firstBlock() }
        }
        rest.range = rest.range.lowerBound + Int64(data.count)..<rest.range.upperBound
        return data
    }
}
