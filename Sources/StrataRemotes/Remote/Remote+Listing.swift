extension Remote {
    /// All objects directly in a folder, from all parts of its listing.
    ///
    /// - Throws: as ``list(_:isRecursive:after:)``, and `CancellationError`.
    package func everything(in folder: RemoteKey) async throws -> [RemoteObject] {
        try await wholeListing(of: folder).objects
    }

    /// All objects directly in a folder, with the information whether the listing is complete.
    package func wholeListing(of folder: RemoteKey) async throws -> RemoteListing {
        var whole = RemoteListing(objects: [])
        repeat {
            try Task.checkCancellation()
            let part = try await list(folder, isRecursive: false, after: whole.next)
            whole.objects += part.objects
            whole.isComplete = whole.isComplete && part.isComplete
            whole.next = part.next
        } while whole.next != nil
        return whole
    }
}
