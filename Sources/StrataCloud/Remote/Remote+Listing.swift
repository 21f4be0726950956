extension Remote {
    /// Everything that lies directly in a folder, of all parts of its listing.
    ///
    /// - Throws: as ``list(_:isRecursive:after:)``, and `CancellationError`.
    func everything(in folder: RemoteKey) async throws -> [RemoteObject] {
        var objects: [RemoteObject] = []
        var next: String?
        repeat {
            try Task.checkCancellation()
            let listing = try await list(folder, isRecursive: false, after: next)
            objects += listing.objects
            next = listing.next
        } while next != nil
        return objects
    }
}
