/// Something that keeps objects under keys: a folder, an S3 bucket, a WebDAV server.
///
/// ## What a remote promises
///
/// - **Requests are whole**: an object is either as before or as sent, never half of it, whenever a request breaks off.
/// - **Conditions are checked at the moment of writing** where ``RemoteCapabilities`` says so.
/// - **Errors are ``RemoteError``s**, with a code that says whether trying again makes sense. Cancellation is thrown as `CancellationError`.
/// - **Nothing is tried again** by the remote itself, but for what has certainly not been sent.
///
/// Isolation: any; requests run side by side.
public protocol Remote: Sendable {
    /// What it is and where, for logs and errors, without credentials: `s3://bucket/prefix`.
    var name: String { get }

    /// What it does. A remote that cannot know asks its server, once.
    func capabilities() async throws -> RemoteCapabilities

    // MARK: Reading

    /// What is known of an object; nil where there is none.
    func head(_ key: RemoteKey) async throws -> RemoteObject?

    /// The content of an object, or of a range of it, which ends at the object's end at the latest.
    ///
    /// - Parameter condition: ``RemoteCondition/matches(_:)`` for exactly this version; another one throws `conditionFailed`, also where the
    ///   server does not check.
    /// - Throws: `notFound`, `conditionFailed`, `rangeNotSatisfiable` where the range begins behind the end; one that begins at the end is
    ///   empty. A body that breaks off throws from the stream.
    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload

    /// What lies in a folder, without what lies below that unless `isRecursive`. Of remotes without folders that tells at once only those
    /// folders that were made.
    ///
    /// - Parameter next: where the part before this one has said it goes on; nil for the first.
    /// - Throws: `notFound` for a folder that is not there, of remotes that have folders; `unsupported` for `isRecursive` where
    ///   the remote does not say it can.
    func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing

    /// What has changed since a moment, for remotes that have a feed: each object as it is now.
    ///
    /// What was changed before the call is in the answer, or in one that follows it as long as there is more. An object may be told of more
    /// than once.
    ///
    /// - Parameter cursor: what the last call has given; nil for everything that is there.
    /// - Throws: `cursorGone` where the remote does not know the moment any more.
    func changes(since cursor: String?) async throws -> RemoteChanges

    // MARK: Writing

    /// Writes an object.
    ///
    /// - Returns: what the remote knows of it, its version among it.
    /// - Throws: `conditionFailed`, `parentMissing`, `occupied`.
    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject

    /// Makes a folder. Where it is there already nothing happens; remotes without folders may do nothing at all.
    ///
    /// - Returns: whether it was made.
    /// - Throws: `parentMissing`, `occupied`.
    @discardableResult
    func createFolder(_ key: RemoteKey) async throws -> Bool

    /// Deletes an object, or a folder that is empty.
    ///
    /// - Returns: whether it was there. Where nothing is there any more no condition fails: that is what a repeat finds.
    /// - Throws: `conditionFailed`, `notEmpty`, `occupied` where there is a file in place of the folder, or the other way round.
    @discardableResult
    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool

    /// Copies an object to a place where there is none, for remotes that can.
    ///
    /// - Parameter version: of which version the source must be, where that is known.
    /// - Throws: `notFound` for the source, `conditionFailed` where the target is taken or the source is of another version, `parentMissing`.
    func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject

    /// Moves an object, or a folder with everything in it, to a place where there is none, for remotes that can.
    ///
    /// - Throws: `notFound` for the source, `conditionFailed` or `occupied` where the target is taken, `parentMissing`.
    func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws

    // MARK: Writing in parts

    /// Begins an upload in parts, and gives the text by which it is known, also to another process.
    func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String

    /// Sends a part, beside others of the same upload. The same number may be sent again; the last one counts.
    ///
    /// - Parameter number: from 1.
    /// - Returns: what `completeUpload` has to be told of the part.
    func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String

    /// Makes an object of all parts.
    ///
    /// - Parameter parts: what `uploadPart` has given, in the order of the numbers.
    /// - Throws: `conditionFailed`, after which the upload is still there; `uploadGone`.
    func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject

    /// Forgets an upload and its parts. One that is not known is no error.
    func abortUpload(_ upload: String, at key: RemoteKey) async throws
}

extension Remote {
    /// No feed.
    public func changes(since cursor: String?) async throws -> RemoteChanges {
        throw RemoteError(.unsupported, "\(name) has no feed of changes.")
    }

    /// No copies.
    public func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        throw RemoteError(.unsupported, "\(name) does not copy.", key: source)
    }

    /// No moves.
    public func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        throw RemoteError(.unsupported, "\(name) does not move.", key: source)
    }

    /// No uploads in parts.
    public func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        throw RemoteError(.unsupported, "\(name) takes no uploads in parts.", key: key)
    }

    /// No uploads in parts.
    public func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String
    {
        throw RemoteError(.unsupported, "\(name) takes no uploads in parts.", key: key)
    }

    /// No uploads in parts.
    public func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        throw RemoteError(.unsupported, "\(name) takes no uploads in parts.", key: key)
    }

    /// No uploads in parts.
    public func abortUpload(_ upload: String, at key: RemoteKey) async throws {}
}
