public import Foundation

extension DiskCache {
    /// The file of some sections of a node, if it is there.
    ///
    /// It counts as used, and is held until it is released.
    ///
    /// - Parameter eTag: of which version it must be; any where it is nil.
    /// - Throws: ``CloudError`` with `cacheUnavailable`, `cacheDamaged` or `cacheClosed`.
    public func file(_ key: CacheKey, eTag: ETag? = nil) async throws -> DownloadedFile? {
        let now = clock.now
        let owner = owner
        let found = try await transaction { index -> CacheIndex.Entry? in
            guard let entry = try index.entry(key), eTag == nil || entry.eTag == eTag else { return nil }
            // Somebody may have deleted the file without asking.
            guard entry.expires.map({ $0 > now }) ?? true, index.folder.size(of: entry.name) == entry.size else {
                try index.remove(entry.id)
                return nil
            }
            try index.touch(entry.id)
            try index.retain(entry.id, by: owner)
            return entry
        }
        return found.map { held($0.id, $0.name, $0.eTag, key, $0.size) }
    }

    /// Takes a finished download into the cache, in one step: whoever looks finds all of it or nothing.
    ///
    /// It takes the place of another version of the same sections. Then what is used least is evicted, if there is no room.
    ///
    /// - Parameters:
    ///   - source: is moved into the cache, from ``temporaryPlace()`` at best; from another file system it is copied.
    ///   - expires: when it is found no more; never where it is nil.
    /// - Returns: the file in the cache, held until it is released.
    /// - Throws: ``CloudError`` with `fileUnreadable`, `cacheUnavailable`, `cacheDamaged` or `cacheClosed`; the cache is as before then, and `source` where it was.
    public func adopt(
        _ source: URL,
        as key: CacheKey,
        eTag: ETag?,
        retention: CacheRetention = .evictable,
        expires: Date? = nil
    ) async throws -> DownloadedFile {
        let owner = owner
        let limit = limit
        let now = clock.now
        let name = UUID().uuidString
        let body: @Sendable (inout CacheIndex) throws -> (Int64, Int64) = { index in
            guard let size = CacheFolder.size(source) else {
                throw CloudError(.fileUnreadable, "There is no file at '\(source.path)'.")
            }
            // What was cut short by a power failure is known by its size, and downloaded again. What was to stay is made sure of.
            if retention == .persistent { try CacheFolder.synchronize(source) }
            let id = try index.insert(key, eTag, name: name, size: size, retention: retention, expires: expires)
            try index.retain(id, by: owner)
            try index.removeAll(where: "expires <= ?", [now.timeIntervalSinceReferenceDate])
            try index.makeRoom(limit, owner: owner)
            try index.folder.adopt(source, as: name, through: owner)
            return (id, size)
        }
        do {
            let (id, size) = try await transaction(body)
            // Still there where it had to be copied.
            unlink(source.path)
            return held(id, name, eTag, key, size)
        } catch {
            // Where it was moved and the index has not taken it, the download is not lost.
            rename(folder.file(name).path, source.path)
            throw error
        }
    }

    private func held(_ id: Int64, _ name: String, _ eTag: ETag?, _ key: CacheKey, _ size: Int64) -> DownloadedFile {
        // The cache stays as long as something of it is held: without it the file would be nobody's.
        DownloadedFile(file: folder.file(name), eTag: eTag, sections: key.sections, size: size, isTemporary: false) {
            self.transactionLater { [owner = self.owner, limit = self.limit] index in
                try index.release(id, by: owner)
                try index.makeRoom(limit, owner: owner)
            }
        }
    }

    // MARK: Removing and keeping

    /// Makes a file persistent, or evictable.
    ///
    /// - Returns: whether it is there.
    /// - Throws: as ``file(_:eTag:)``.
    @discardableResult
    public func setRetention(_ retention: CacheRetention, of key: CacheKey) async throws -> Bool {
        let owner = owner
        let limit = limit
        return try await transaction { index in
            guard let entry = try index.entry(key) else { return false }
            if retention == .persistent { try CacheFolder.synchronize(index.folder.file(entry.name)) }
            try index.setPersistent(retention == .persistent, entry.id)
            try index.makeRoom(limit, owner: owner)
            return true
        }
    }

    /// Removes a file. Whoever holds it keeps it until it is released.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func remove(_ key: CacheKey) async throws {
        try await transaction { index in
            if let entry = try index.entry(key) { try index.remove(entry.id) }
        }
    }

    /// Removes all files, persistent ones as well: of an account, or of all where it is nil.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func removeAll(account: String? = nil) async throws {
        try await transaction { index in
            if let account {
                try index.removeAll(where: "account = ?", [account])
            } else {
                try index.removeAll(where: "TRUE")
            }
        }
    }

    /// Removes what has expired. That is done anyway when the cache is opened and when a file comes into it.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func removeExpired() async throws {
        let now = clock.now
        try await transaction { try $0.removeAll(where: "expires <= ?", [now.timeIntervalSinceReferenceDate]) }
    }

    /// What is in the cache, without temporary files and those that are only held.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func usage() async throws -> CacheUsage { try await transaction { try $0.usage() } }
}

extension CacheIndex {
    /// Evicts what does not fit. Where not enough can go, it is asked whether all who hold something are still there.
    mutating func makeRoom(_ limit: Int64, owner: String) throws {
        guard try evict(to: limit) > 0, try isAnythingHeld(byOthersThan: owner) else { return }
        try forgetTheDead(but: owner)
        _ = try evict(to: limit)
    }
}
