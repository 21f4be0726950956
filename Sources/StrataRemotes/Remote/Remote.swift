/// A store of objects under keys: a folder, an S3 bucket, a WebDAV server.
///
/// ## Guarantees of a remote
///
/// - **Requests are atomic**: if a request breaks off at any time, the object is either as before or as sent, never
///   partly written.
/// - **Conditions are checked at the moment of writing** if ``RemoteCapabilities`` says so.
/// - **Errors are ``RemoteError``s**, with a code that says whether a retry makes sense. Cancellation is thrown as
///   `CancellationError`.
/// - **The remote itself does not retry**, except for requests that have certainly not been sent.
///
/// Isolation: any. Requests run concurrently.
public protocol Remote: Sendable {
    /// The kind and location of the remote, for logs and errors, without credentials: `s3://bucket/prefix`.
    var name: String { get }

    /// The capabilities of the remote. A remote that cannot know them asks its server, once.
    func capabilities() async throws -> RemoteCapabilities

    // MARK: Reading

    /// The metadata of an object; nil if the object does not exist.
    func head(_ key: RemoteKey) async throws -> RemoteObject?

    /// The content of an object, or of a range of it. A range that extends beyond the object ends at the object's end.
    ///
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - range: the range of bytes to read; nil for the whole object.
    ///   - condition: ``RemoteCondition/matches(_:)`` for exactly this version. Another version throws
    ///     `conditionFailed`, even if the server does not check conditions.
    /// - Throws: `notFound`, `conditionFailed`, `rangeNotSatisfiable` if the range begins after the end; a range that
    ///   begins at the end is empty. If the body breaks off, the stream throws.
    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload

    /// The objects directly in a folder, or all objects below it if `isRecursive` is true.
    ///
    /// On remotes without folders, a recursive listing contains only those folders that were created explicitly.
    ///
    /// - Parameters:
    ///   - folder: the key of the folder.
    ///   - isRecursive: whether the listing includes the content of folders in the folder.
    ///   - next: the position that the previous part of the listing has returned; nil for the first part.
    /// - Throws: `notFound` for a folder that does not exist, on remotes that have folders; `unsupported` for
    ///   `isRecursive` if the remote does not declare this capability.
    func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing

    // MARK: Writing

    /// Writes an object.
    ///
    /// - Returns: the metadata that the remote has of the object, including its version.
    /// - Throws: `conditionFailed`, `parentMissing`, `occupied`.
    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject

    /// Creates a folder. If the folder exists already, nothing happens. Remotes without folders may do nothing at all.
    ///
    /// - Returns: whether the folder was created.
    /// - Throws: `parentMissing`, `occupied`.
    @discardableResult
    func createFolder(_ key: RemoteKey) async throws -> Bool

    /// Deletes an object, or a folder that is empty.
    ///
    /// - Returns: whether it existed. If it is gone already, no condition fails, because a repeated delete finds that
    ///   state.
    /// - Throws: `conditionFailed`, `notEmpty`, `occupied` if there is a file in place of the folder, or a folder in
    ///   place of the file.
    @discardableResult
    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool

    /// Copies an object to a free key, for remotes that support copies.
    ///
    /// - Parameters:
    ///   - source: the key of the object to copy.
    ///   - target: the key of the copy.
    ///   - version: the version that the source must have, if it is known.
    /// - Throws: `notFound` for the source, `conditionFailed` if the target is taken or the source has another version,
    ///   `parentMissing`.
    func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject

    /// Moves an object, or a folder with everything in it, to a free key, for remotes that support moves.
    ///
    /// - Throws: `notFound` for the source, `conditionFailed` or `occupied` if the target is taken, `parentMissing`.
    func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws

    // MARK: Writing in parts

    /// Begins an upload in parts, and returns its identifier, which other processes may use as well.
    func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String

    /// Uploads a part, concurrently with other parts of the same upload.
    ///
    /// The same number may be uploaded again; the last one counts.
    ///
    /// - Parameters:
    ///   - body: the bytes of the part.
    ///   - number: the number of the part, from 1.
    ///   - upload: the identifier that `beginUpload` has returned.
    ///   - key: the key of the object.
    /// - Returns: the text that `completeUpload` needs for this part.
    func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String

    /// Creates an object from all uploaded parts.
    ///
    /// - Parameters:
    ///   - upload: the identifier that `beginUpload` has returned.
    ///   - parts: the texts that `uploadPart` has returned, in the order of the part numbers.
    ///   - key: the key of the object.
    ///   - condition: the condition that the key must meet.
    /// - Throws: `conditionFailed`, after which the upload still exists; `uploadGone`.
    func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject

    /// Discards an upload and its parts. An unknown upload is not an error.
    func abortUpload(_ upload: String, at key: RemoteKey) async throws
}

extension Remote {
    /// Throws `unsupported`: by default a remote does not copy.
    public func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        throw RemoteError(.unsupported, "\(name) does not support copying.", key: source)
    }

    /// Throws `unsupported`: by default a remote does not move.
    public func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        throw RemoteError(.unsupported, "\(name) does not support moving.", key: source)
    }

    /// Throws `unsupported`: by default a remote does not support uploads in parts.
    public func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        throw RemoteError(.unsupported, "\(name) does not support uploads in parts.", key: key)
    }

    /// Throws `unsupported`: by default a remote does not support uploads in parts.
    public func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String
    {
        throw RemoteError(.unsupported, "\(name) does not support uploads in parts.", key: key)
    }

    /// Throws `unsupported`: by default a remote does not support uploads in parts.
    public func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        throw RemoteError(.unsupported, "\(name) does not support uploads in parts.", key: key)
    }

    /// Does nothing: by default a remote does not support uploads in parts.
    public func abortUpload(_ upload: String, at key: RemoteKey) async throws {}
}
