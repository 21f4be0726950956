public import Foundation

extension DiskCache {
    /// The file of some sections of a node, if the cache has it.
    ///
    /// The file counts as used, and is held until it is released.
    ///
    /// - Parameters:
    ///   - key: the node and its sections.
    ///   - eTag: the version that the file must have; nil for any version.
    /// - Throws: ``CloudError`` with `cacheUnavailable`, `cacheDamaged` or `cacheClosed`.
    public func file(_ key: CacheKey, eTag: ETag? = nil) async throws -> DownloadedFile? {
        let now = clock.now
        let owner = owner
        let found = try await transaction { index -> CacheIndex.Entry? in
            guard let entry = try index.entry(key), eTag == nil || entry.eTag == eTag else { return nil }
            // Another program may have deleted the file.
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

    /// Moves a finished download into the cache, in one step: readers find either the whole file or nothing.
    ///
    /// The file replaces another version of the same sections. If space is missing, the least recently used files are
    /// then evicted.
    ///
    /// - Parameters:
    ///   - source: the file to move into the cache, ideally from ``temporaryPlace()``. A file on another file system is
    ///     copied.
    ///   - key: the node and the sections that the file contains.
    ///   - eTag: the version of the content; nil if it is unknown.
    ///   - retention: whether the cache may evict the file.
    ///   - expires: when lookups stop finding the file; nil for never.
    /// - Returns: the file in the cache, held until it is released.
    /// - Throws: ``CloudError`` with `fileUnreadable`, `cacheUnavailable`, `cacheDamaged` or `cacheClosed`. Then the
    ///   cache is unchanged, and `source` is at its old path.
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
                throw CloudError(.fileUnreadable, "The file '\(source.path)' does not exist.")
            }
            // A file that a power failure has truncated has the wrong size, and is downloaded again. A persistent file
            // must survive, so it is flushed to the disk.
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
            // A copied file still exists at its old path.
            unlink(source.path)
            return held(id, name, eTag, key, size)
        } catch {
            // If the file was moved but the index transaction failed, the file moves back, so the download is not lost.
            rename(folder.file(name).path, source.path)
            throw error
        }
    }

    private func held(_ id: Int64, _ name: String, _ eTag: ETag?, _ key: CacheKey, _ size: Int64) -> DownloadedFile {
        // The closure keeps the cache alive while a file is held, because the file needs an owner.
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
    /// - Returns: whether the cache has the file.
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

    /// Removes a file. A ``DownloadedFile`` that holds the file keeps it until it is released.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func remove(_ key: CacheKey) async throws {
        try await transaction { index in
            if let entry = try index.entry(key) { try index.remove(entry.id) }
        }
    }

    /// Removes all files, including persistent ones.
    ///
    /// - Parameter account: the account whose files are removed; nil for all accounts.
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

    /// Removes expired files. Opening the cache and adding a file do this as well.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func removeExpired() async throws {
        let now = clock.now
        try await transaction { try $0.removeAll(where: "expires <= ?", [now.timeIntervalSinceReferenceDate]) }
    }

    /// The usage of the cache, without temporary files and without removed files that are still held.
    ///
    /// - Throws: as ``file(_:eTag:)``.
    public func usage() async throws -> CacheUsage { try await transaction { try $0.usage() } }
}

extension CacheIndex {
    /// Evicts files until the rest fits.
    ///
    /// If too many files are held, it first discards the holds of caches whose processes have ended.
    mutating func makeRoom(_ limit: Int64, owner: String) throws {
        guard try evict(to: limit) > 0, try isAnythingHeld(byOthersThan: owner) else { return }
        try forgetTheDead(but: owner)
        _ = try evict(to: limit)
    }
}
